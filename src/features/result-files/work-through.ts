import { setImmediate as turn } from 'node:timers/promises'
import { assert } from '../../kernel/assert.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { releaseLease } from '../../platform/database/lease.ts'
import { recordChange } from '../events/record.ts'
import { recordReturnRates } from '../gateways/actions.ts'
import { finishSecondReading } from './again-queries.ts'
import { applyLines } from './apply.ts'
import { fileBusy, type Reading } from './deps.ts'
import { findResultFile, finishResultFile, type ResultFile } from './queries.ts'
import { resultFileKind } from './record.ts'
import type { LineOfFile } from './nacha.ts'
import { isAboutBatch, paymentIdOf } from './references.ts'

/** Working through the lines of a file that was read before, in portions that each go on where the last one ended. */

/** Lines of a transaction, and those of them that name a payment: the locks that it takes are held for a fraction of a second. */
const PORTION = 500
const PAYMENTS_OF_PORTION = 50

/** Works through a file, from where it was left on, and finishes it. */
export async function workThrough(reading: Reading, lines: Iterable<readonly LineOfFile[]>): Promise<ResultFile> {
  const { deps, context, file, lease } = reading
  let done = file.linesDone
  for (const portion of portionsOfLines(lines, context.account.id, done)) {
    deps.about?.gone?.throwIfAborted()
    await applyLines(reading, portion)
    deps.about?.progress((done += portion.length))
    await turn()
  }
  deps.about?.gone?.throwIfAborted()
  return deps.db.transaction(context.account.id, async (tx) => {
    if (!(await releaseLease(tx, lease))) throw fileBusy()
    await (reading.isAgain ? finishSecondReading(tx, file.id) : finishResultFile(tx, file.id, context.moment.now))
    const done = await findResultFile(tx, tx.account, file.id)
    assert(done, `result file ${file.id} exists`)
    await recordChange(tx, context, resultFileKind, { type: 'result_file.read', row: done })
    // Counted once for the whole file, not for each portion.
    if (done.payments !== 0) await recordReturnRates(tx, context, file.gatewayId)
    return done
  })
}

/**
 * Yields the lines of a file in portions, without those that are done. A line about a whole batch, or that corrects an account, begins a portion and ends it, together with what
 * is over its entry: that is never parted from the last part of the entry.
 */
export function* portionsOfLines(
  read: Iterable<readonly LineOfFile[]>,
  account: AccountId,
  done: number,
): Generator<readonly LineOfFile[], void, undefined> {
  let portion: LineOfFile[] = []
  let payments = 0
  let isAlone = false
  let place = 0
  for (const lines of read)
    for (const line of lines) {
      place += 1
      if (place <= done) continue
      const isWhole = line.kind === 'change' || isAboutBatch(account, line)
      const isFull = isAlone || isWhole || portion.length >= PORTION || payments >= PAYMENTS_OF_PORTION
      if (portion.length > 0 && isFull && line.kind !== 'over') {
        yield portion
        portion = []
        payments = 0
      }
      if (line.kind !== 'over') isAlone = isWhole
      portion.push(line)
      if (line.kind !== 'over' && line.kind !== 'change' && paymentIdOf(account, line.references) !== null)
        payments += 1
    }
  if (portion.length > 0) yield portion
}
