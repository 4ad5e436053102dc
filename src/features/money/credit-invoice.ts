import { inOrder, planAutoApply, type WantedAllocation } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { type Posting, postingsOfNegative } from '../../engine/money/postings.ts'
import { settleAmount, settleLines } from '../../engine/money/settle.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { conflict } from '../../kernel/fault.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { minorText, sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import { checkNotLocked } from '../accounts/rules.ts'
import { addCredited } from '../invoices/state-queries.ts'
import { drawCreditIds, insertNegative } from './adjustment-queries.ts'
import { planAllocations, type PlannedAllocations } from './allocate.ts'
import { applyNotes } from './apply-unallocated.ts'
import { listOpenRefunds } from './cover-queries.ts'
import { coverRefunds } from './cover-refunds.ts'
import { insertCreditLines } from './credit-note-queries.ts'
import { freeNumber } from './credit-notes.ts'
import { freePayments } from './free-payments.ts'
import { withRoom } from './release-pending-lines.ts'
import { givenOfNegative, recordNegativeEvent, refusalsOfNumber, reloadedNegative } from './negative-adjustments.ts'
import { listOpen, listOwed } from './open-queries.ts'
import { addPositive } from './positive-adjustments.ts'
import type { NegativeAdjustment, NegativeRecord, OwedDocument } from './types.ts'
import { type InvoiceToSettle, listToSettle, sendSettlements } from './settlement-queries.ts'
import { checkCreditable, makeParts, postingsOf } from './settlements.ts'
import { writeMoney } from './write.ts'

/** Credits an invoice, paid or not, by a closed note: by lines, by an amount or whole (§22). Everything happens in one transaction. */

/** Line of the invoice that is credited, net, in minor units. */
export interface LineToCredit {
  chargeId: Id
  name: string
  netMinor: bigint
  /** Credited of its charge before, and what is left of it. */
  creditedBeforeMinor: bigint
  leftMinor: bigint
}

export interface InvoiceCredit {
  invoice: { id: InvoiceId; customerId: CustomerId; currency: string }
  dated: IsoDate
  /** Null: the next number of the account's sequence. */
  number: string | null
  reason: string
  memo: string | null
  /** Gross amount in minor units, lines, or all that can be credited. */
  what: { amountMinor: bigint } | { lines: readonly LineToCredit[] } | 'whole'
  /** True: money that the invoice does not take goes on to other open ones. */
  isAuto: boolean
  /** Payments of the invoice give way. */
  isFreePayments: boolean
  /** Refund of the money that is left; null: it waits. */
  refund: { dated: IsoDate; ref: string; memo: string | null } | null
}

export type MadeCredit = NegativeRecord & { refundAdjustmentId: Id | null }

/** Facts of an invoice that a credit of it needs, read after its customer was locked. */
export interface CreditFacts {
  invoices: InvoiceToSettle[]
  owed: readonly OwedDocument[]
  /** Identifiers drawn ahead, so that all that a credit causes can be written without waiting. */
  ids: Awaited<ReturnType<typeof drawCreditIds>>
}

/** Reads what crediting an invoice needs, in one exchange. */
export async function readCreditFacts(tx: Transaction, invoiceId: InvoiceId): Promise<CreditFacts> {
  const [invoices, owed, ids] = await Promise.all([
    listToSettle(tx, tx.account, [invoiceId]),
    listOwed(tx, tx.account, [{ kind: 'invoice', id: invoiceId }]),
    drawCreditIds(tx),
  ])
  return { invoices, owed, ids }
}

/**
 * Credits an issued invoice of a locked customer. Throws conflicts: locked books, a number in use, more than a line or the invoice has left, a pending
 * payment that would have to give way, a refund of nothing.
 */
export async function creditInvoice(
  tx: Transaction,
  context: RequestContext,
  credit: InvoiceCredit,
  facts: CreditFacts,
): Promise<MadeCredit> {
  const { lockDate } = context.account
  checkNotLocked(lockDate, [credit.dated], 'the credit note')
  if (credit.refund) checkNotLocked(lockDate, [credit.refund.dated], 'the refund', 'Refund.Date')
  const { invoices, ids } = facts
  const [invoice] = invoices
  assert(invoice, `invoice ${credit.invoice.id} exists`)
  const { amountMinor, field } = amountOf(invoice, credit)
  checkCreditable(invoice, { amountMinor, currency: credit.invoice.currency }, field)
  const unplaced = noteOf(context, credit, { id: ids.note, amountMinor, ref: credit.number ?? (await freeNumber(tx)) })
  const isBehind = credit.isAuto && (await listOpenRefunds(tx, unplaced.customerId)).length > 0
  const plan = await planPlaces(tx, context, isBehind ? { ...credit, isAuto: false } : credit, unplaced, facts.owed)
  const note = { ...unplaced, appliedMinor: sumMinor(plan.allocations) }
  // Not waited for one by one: a statement that fails lets those after it fail, and its own refusal is what is answered.
  const inserted = refuseOn(insertNegative(tx, note, note.createdAt, note), refusalsOfNumber(note))
  const lines = linesOf(credit)
  const counted = writeLines(tx, note, lines)
  const parts = [{ invoiceId: invoice.invoiceId, amountMinor }]
  const settled = makeParts(note, parts, invoices, [ids.settlement], {
    basis: lines.length > 0 ? 'lines' : 'amount',
    dayOf: () => note.dated,
    ...(lines.length > 0 ? { settle: (one) => settleLines(one, sumMinor(lines, 'netMinor')) } : {}),
  })
  sendSettlements(tx, settled, context.moment.now)
  const placed = writePlaces(tx, context, note, plan, { settled: postingsOf(settled), ids: [ids.allocation] })
  for (const done of await Promise.allSettled([inserted, counted, placed]))
    if (done.status === 'rejected') throw done.reason
  const allocations = await placed
  const refundAdjustmentId = await refundRest(tx, context, credit, note, amountMinor - note.appliedMinor)
  const isCovered = await coverRefunds(tx, context, note.customerId, credit.isFreePayments ? note.dated : null)
  if (isBehind) await placeOnOthers(tx, context, credit, note)
  const record =
    refundAdjustmentId === null && !isCovered && !isBehind
      ? { ...note, allocations, settlements: settled, lines }
      : await reloadedNegative(tx, note)
  await recordNegativeEvent(tx, context, 'created', record)
  return { ...record, refundAdjustmentId }
}

/** Places on other open invoices what is left of a note. Rule: refunds of a gateway's console that it has to cover come before them. */
async function placeOnOthers(
  tx: Transaction,
  context: RequestContext,
  { invoice: { id, customerId, currency } }: InvoiceCredit,
  note: NegativeAdjustment,
): Promise<void> {
  const others = inOrder(await listOpen(tx, customerId, currency), 'invoices_only').filter((one) => one.id !== id)
  await applyNotes(
    tx,
    context,
    [note.id],
    others.map((one) => ({ id: one.id, customerId, currency })),
  )
}

const linesOf = ({ what }: InvoiceCredit): readonly LineToCredit[] =>
  typeof what === 'object' && 'lines' in what ? what.lines : []

/** Returns the gross amount of a credit, in minor units, and the field that named it. Throws a conflict for a line that has less left. */
function amountOf(
  invoice: InvoiceToSettle,
  credit: InvoiceCredit,
): { amountMinor: bigint; field: 'Amount' | 'Lines' | 'isWhole' } {
  const { what } = credit
  if (what === 'whole') return { amountMinor: invoice.leftMinor, field: 'isWhole' }
  if ('amountMinor' in what) return { amountMinor: settleAmount(invoice, what.amountMinor).grossMinor, field: 'Amount' }
  what.lines.forEach(({ chargeId, netMinor, leftMinor }, place) => {
    if (netMinor <= leftMinor) return
    const digits = digitsOf(credit.invoice.currency)
    const left = minorText(leftMinor > 0n ? leftMinor : 0n, digits)
    throw conflict(
      'too_little_creditable',
      `Of line ${chargeId} ${left} net can be credited; ${minorText(netMinor, digits)} was sent.`,
      `Lines[${place}].AmountEx`,
    )
  })
  return { amountMinor: settleLines(invoice, sumMinor(what.lines, 'netMinor')).grossMinor, field: 'Lines' }
}

/** Makes the row of a note, of which nothing is placed yet. */
const noteOf = (
  { moment: { now } }: RequestContext,
  { invoice, dated, reason, memo }: InvoiceCredit,
  made: { id: Id; amountMinor: bigint; ref: string },
): NegativeAdjustment => ({
  ...made,
  customerId: invoice.customerId,
  kind: 'credit_note',
  dated,
  currency: invoice.currency,
  memo,
  reason,
  invoiceId: null,
  subscriptionId: null,
  closedAt: now,
  appliedMinor: 0n,
  createdAt: now,
  sentAt: null,
  reliefDate: null,
})

/** Writes the lines of a note, and counts them as credited of their charges. */
async function writeLines(
  tx: Transaction,
  { id, customerId, currency }: NegativeAdjustment,
  lines: readonly LineToCredit[],
): Promise<void> {
  if (lines.length === 0) return
  const digits = digitsOf(currency)
  const rows = lines.map(({ chargeId, name, netMinor, creditedBeforeMinor, leftMinor }, place) => ({
    line: place + 1,
    chargeId,
    name,
    from: null,
    until: null,
    wholeFrom: null,
    wholeUntil: null,
    price: minorText(netMinor, digits),
    creditedBeforeMinor,
    mostMinor: leftMinor,
    netMinor,
  }))
  await Promise.all([
    insertCreditLines(tx, tx.account, id, rows),
    addCredited(tx, customerId, {
      chargeIds: column(lines, 'chargeId'),
      days: arrayLiteral(lines.map(() => null)),
      amountsMinor: column(lines, 'netMinor'),
    }),
  ])
}

/** Plans the allocations of a note: to its invoice as far as that is open, payments giving way where that is wished, and then to other open invoices. */
async function planPlaces(
  tx: Transaction,
  context: RequestContext,
  { invoice, isAuto, isFreePayments }: InvoiceCredit,
  note: NegativeAdjustment,
  found: readonly OwedDocument[],
): Promise<PlannedAllocations> {
  const target = { kind: 'invoice' as const, id: invoice.id }
  let owed = found
  const missing = note.amountMinor - openOf(owed)
  if (isFreePayments && missing > 0n) {
    const reason = `Its place was taken by credit note ${note.ref}.`
    await freePayments(tx, context, { ...invoice, invoiceId: invoice.id, amountMinor: missing, on: note.dated, reason })
    owed = await listOwed(tx, tx.account, [target])
  }
  const openMinor = openOf(owed)
  const toInvoice = openMinor < note.amountMinor ? openMinor : note.amountMinor
  const list: WantedAllocation[] = toInvoice > 0n ? [{ id: null, target, amountMinor: toInvoice }] : []
  if (isAuto && toInvoice < note.amountMinor) {
    const others = (await listOpen(tx, invoice.customerId, invoice.currency)).filter(({ id }) => id !== invoice.id)
    const { added } = planAutoApply(note.amountMinor - toInvoice, [], others, 'invoices_only')
    list.push(...added.map((one) => ({ ...one, id: null })))
  }
  return planAllocations(tx, context, givenOfNegative(note), [], { list, owed })
}

/** Writes the allocations of a note, and the entries of all of it. Returns the allocations. */
const writePlaces = (
  tx: Transaction,
  context: RequestContext,
  note: NegativeAdjustment,
  plan: PlannedAllocations,
  { settled, ids }: { settled: Posting[]; ids: readonly Id[] },
): Promise<AllocationState[]> =>
  withRoom(tx, context, plan.room, () =>
    writeMoney(tx, context, {
      customerId: note.customerId,
      currency: note.currency,
      after: postingsOfNegative({ ...note, taxes: [], recovered: [] }),
      settled: { before: [], after: settled },
      allocations: { before: [], after: plan.allocations, ids },
      isGivenWritten: true,
    }),
  )

const openOf = ([document]: readonly OwedDocument[]): bigint => document?.openMinor ?? 0n

/** Makes the refund of what is left of a note; null where none is wished. Throws a conflict where nothing is left. */
async function refundRest(
  tx: Transaction,
  context: RequestContext,
  { refund, invoice }: InvoiceCredit,
  note: NegativeAdjustment,
  leftMinor: bigint,
): Promise<Id | null> {
  if (refund === null) return null
  if (leftMinor <= 0n)
    throw conflict(
      'nothing_to_refund',
      `Invoice ${invoice.id} takes all of the credit note; nothing is left to be refunded.`,
      'Refund',
    )
  const { dated, ref, memo } = refund
  const { customerId, currency } = note
  const wanted = {
    customerId,
    kind: 'refund' as const,
    dated,
    dueDate: dated,
    amountMinor: leftMinor,
    currency,
    ref,
    memo,
  }
  return (await addPositive(tx, context, wanted, { given: { kind: 'negative_adjustment', id: note.id } })).id
}
