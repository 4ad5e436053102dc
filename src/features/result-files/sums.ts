import type { Transaction } from '../../platform/database/database.ts'
import type { ResultLine } from '../../platform/iso20022/result-lines.ts'
import { recordChange } from '../events/record.ts'
import { type EntryQuestion, lockAnswered } from './alike-queries.ts'
import type { Reading } from './deps.ts'
import { closeSums } from './queries.ts'
import { resultLineKind } from './record.ts'
import { lineHash } from './line-hash.ts'
import { entryKeyOf } from './references.ts'
import type { NamedByLine } from './rules.ts'

/** Sums of entries and their parts, which banks send in different files: each is worked on or answered once. */

/**
 * Finds the lines of a portion, by their places in it, whose entry a person has answered by a line of another file: its sum, or a part of it. Nobody
 * answers these sums until the portion is committed.
 */
export async function findAnswered(
  tx: Transaction,
  { deps, file }: Pick<Reading, 'deps' | 'file'>,
  lines: readonly ResultLine[],
  named: readonly NamedByLine[],
): Promise<ReadonlySet<number>> {
  const hash = lineHash(deps.envelope, tx.account)
  const asked: EntryQuestion[] = []
  for (const [index, line] of lines.entries()) {
    const { payment, batch } = named[index] as NamedByLine
    const text = line.kind === 'part' && (payment || batch) ? entryKeyOf(line, file.gatewayId) : null
    if (line.kind !== 'part' || text === null) continue
    asked.push({ place: BigInt(index), entryKey: hash(text), isSum: line.entry.isWhole })
  }
  if (asked.length === 0) return new Set()
  return new Set((await lockAnswered(tx, file.id, asked)).map(({ place }) => Number(place)))
}

/** Closes sums of other files that wait for a person, because their parts have been worked on. `entryTexts` name their entries. */
export async function closeSumsOf(
  tx: Transaction,
  { deps, context, file }: Pick<Reading, 'deps' | 'context' | 'file'>,
  entryTexts: ReadonlySet<string>,
): Promise<void> {
  if (entryTexts.size === 0) return
  const keys = [...entryTexts].map(lineHash(deps.envelope, tx.account))
  for (const row of await closeSums(tx, file.id, keys))
    await recordChange(tx, context, resultLineKind, { type: 'result_line.closed', row })
}
