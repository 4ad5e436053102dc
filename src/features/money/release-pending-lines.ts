import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { afterLock, postingsOfPayment } from '../../engine/money/postings.ts'
import { later } from '../../kernel/calendar.ts'
import { type Account, type Moment, writingOf } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type GivenWay, onGivenWay } from '../dunning/given-way.ts'
import { insertEvents } from '../events/queries.ts'
import { sendChangedWords } from '../finding/words.ts'
import { listAllocationsOfGiven } from './allocation-queries.ts'
import { lockGivingWay, sendPaymentDelete, sendPaymentUpdate } from './payment-queries.ts'
import type { PaymentRecord } from './records.ts'
import type { Room } from './pending-lines-room.ts'
import { postedPayment } from './rules.ts'
import { paymentShape } from './shapes.ts'
import { writeEdit, writeMoney } from './write.ts'

/**
 * Lines that give way: payments of the service in batches that are open or failed. What they are allocated to an invoice counts as open wherever
 * money is allocated; what takes their place lowers or deletes them in its own transaction. Everywhere else they are pending as any other.
 */

interface Context {
  account: Account
  moment: Moment
  actor: string
}

/**
 * Writes allocations after the lines that stand in their way have made room, and then plans the dunning of their invoices anew. The customer is
 * locked. `exceptId` is the payment whose allocations are written, where it gives way itself: it makes no room for itself.
 */
export async function withRoom<Written>(
  tx: Transaction,
  context: Context,
  room: readonly Room[],
  write: () => Promise<Written>,
  exceptId?: Id,
): Promise<Written> {
  if (room.length === 0) return write()
  tx.alone()
  const changes = await makeRoom(tx, context, room, exceptId)
  const written = await write()
  await onGivenWay(tx, context, changes)
  return written
}

/** Takes all that give way off an invoice, because it is cancelled. The customer is locked. */
export async function leaveInvoice(tx: Transaction, context: Context, invoiceId: InvoiceId): Promise<void> {
  const lines = await lockedLines(tx, [invoiceId])
  const amountMinor = sumMinor(lines.flatMap((line) => line.allocations.filter(isTo(invoiceId))))
  if (amountMinor === 0n) return
  await onGivenWay(tx, context, await lowerLines(tx, context, lines, [{ invoiceId, amountMinor }]))
}

const isTo =
  (invoiceId: InvoiceId) =>
  ({ owedKind, owedId }: AllocationState): boolean =>
    owedKind === 'invoice' && owedId === invoiceId

async function lockedLines(tx: Transaction, invoiceIds: readonly InvoiceId[]): Promise<PaymentRecord[]> {
  const rows = await lockGivingWay(tx, invoiceIds)
  const ids = rows.map(({ id }) => id)
  const allocations = ids.length === 0 ? [] : await listAllocationsOfGiven(tx, tx.account, 'payment', ids)
  return rows.map((row) => ({ ...row, allocations: allocations.filter(({ givenId }) => givenId === row.id) }))
}

async function makeRoom(
  tx: Transaction,
  context: Context,
  room: readonly Room[],
  exceptId: Id | undefined,
): Promise<GivenWay[]> {
  const lines = await lockedLines(
    tx,
    room.map(({ invoiceId }) => invoiceId),
  )
  const others = lines.filter(({ id }) => id !== exceptId)
  return lowerLines(tx, context, others, room)
}

/** Part of an allocation that gives way. */
interface Cut {
  allocation: AllocationState
  cutMinor: bigint
}

/** Lowers lines, the newest first, by the room that is needed on each invoice; one of which nothing is left is deleted. */
async function lowerLines(
  tx: Transaction,
  context: Context,
  lines: readonly PaymentRecord[],
  room: readonly Room[],
): Promise<GivenWay[]> {
  const cuts = room.flatMap((one) => cutsFor(lines, one))
  const changes: GivenWay[] = []
  for (const line of lines) {
    const own = cuts.filter(({ allocation }) => allocation.givenId === line.id)
    if (own.length === 0) continue
    const after = cutLine(line, own)
    if (after.amountMinor === 0n) await deleteLine(tx, context, line)
    else await lowerLine(tx, context, line, after)
    for (const { allocation, cutMinor } of own)
      changes.push({
        paymentId: line.id,
        invoiceId: allocation.owedId,
        loweredMinor: cutMinor,
        isDeleted: after.amountMinor === 0n,
      })
  }
  return changes
}

function cutsFor(lines: readonly PaymentRecord[], { invoiceId, amountMinor }: Room): Cut[] {
  let left = amountMinor
  const cuts: Cut[] = []
  for (const allocation of lines.flatMap((line) => line.allocations.filter(isTo(invoiceId)).toReversed())) {
    if (left === 0n) break
    const cutMinor = allocation.amountMinor < left ? allocation.amountMinor : left
    left -= cutMinor
    cuts.push({ allocation, cutMinor })
  }
  if (left > 0n)
    throw conflict(
      'line_built',
      `A debit of invoice ${invoiceId} was just made ready for its bank; what it collects cannot be allocated any more.`,
    )
  return cuts
}

function cutLine(line: PaymentRecord, cuts: readonly Cut[]): PaymentRecord {
  const cutOf = ({ id }: AllocationState) => cuts.find(({ allocation }) => allocation.id === id)?.cutMinor ?? 0n
  const allocations = line.allocations
    .map((allocation) => ({ ...allocation, amountMinor: allocation.amountMinor - cutOf(allocation) }))
    .filter(({ amountMinor }) => amountMinor > 0n)
  const lostMinor = cuts.reduce((sum, { cutMinor }) => sum + cutMinor, 0n)
  return {
    ...line,
    amountMinor: line.amountMinor - lostMinor,
    appliedMinor: line.appliedMinor - lostMinor,
    allocations,
  }
}

/** Returns a pending payment that moves, dated the day after a lock that its own day has come under. */
export const onOpenDay = <P extends Pick<PaymentRecord, 'dated'>>(
  payment: P,
  { account }: Pick<Context, 'account'>,
): P => ({
  ...payment,
  dated: afterLock(payment.dated, account.lockDate),
})

async function lowerLine(tx: Transaction, context: Context, before: PaymentRecord, lowered: PaymentRecord) {
  const moved = onOpenDay(lowered, context)
  const allocations = moved.allocations.map((a) => ({ ...a, dated: later(a.dated, moved.dated) }))
  const after = { ...moved, allocations }
  await writeEdit(tx, context, {
    before: { ...before, postings: postingsOfPayment(postedPayment(before)) },
    after: { ...after, postings: postingsOfPayment(postedPayment(after)) },
    writeRow: async () => sendPaymentUpdate(tx, after),
  })
  await recordLine(tx, context, 'payment.updated', after)
}

/** Deletes a pending payment that nobody works on: its entries are reversed and its allocations freed. */
async function deleteLine(tx: Transaction, context: Context, line: PaymentRecord): Promise<void> {
  await writeMoney(tx, context, {
    customerId: line.customerId,
    currency: line.currency,
    before: postingsOfPayment(postedPayment(line)),
    allocations: { before: line.allocations, after: [] },
  })
  sendPaymentDelete(tx, line.id)
  sendChangedWords(tx, 'payments', line.id, [line.ref], [null])
  await recordLine(tx, context, 'payment.deleted', line)
}

const recordLine = (
  tx: Transaction,
  context: Context,
  type: 'payment.updated' | 'payment.deleted',
  line: PaymentRecord,
) =>
  insertEvents(tx, [
    {
      type,
      recordId: line.id,
      customerId: line.customerId,
      happenedAt: context.moment.now,
      actor: context.actor,
      reason: 'Its place was taken.',
      record: paymentShape.recorded.write(line, writingOf(context)),
    },
  ])
