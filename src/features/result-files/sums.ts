import type { Transaction } from '../../platform/database/database.ts'
import { recordChange } from '../events/record.ts'
import type { Reading } from './deps.ts'
import { closeSums } from './queries.ts'
import { resultLineKind } from './record.ts'

/** Closes sums of other files that wait for a person, because their parts have been worked on. `entryTexts` name their entries. */
export async function closeSumsOf(
  tx: Transaction,
  { deps, context, file }: Pick<Reading, 'deps' | 'context' | 'file'>,
  entryTexts: ReadonlySet<string>,
): Promise<void> {
  if (entryTexts.size === 0) return
  const hash = deps.envelope.keyedHash('result likeness')
  const keys = [...entryTexts].map((text) => hash(`${tx.account}\n${text}`))
  for (const row of await closeSums(tx, file.id, keys))
    await recordChange(tx, context, resultLineKind, { type: 'result_line.closed', row })
}
