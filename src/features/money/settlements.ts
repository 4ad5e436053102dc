import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import { type Posting, postingsOfSettlement } from '../../engine/money/postings.ts'
import { type InvoicePart, settledByRaise, settledWithin } from '../../engine/money/raising.ts'
import { settleAmount } from '../../engine/money/settle.ts'
import { assert } from '../../kernel/assert.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { NegativeAdjustment } from './adjustment-queries.ts'
import type { NegativeRecord } from './records.ts'
import {
  drawSettlementIds,
  type InvoiceToSettle,
  listSettlementsOfNotes,
  listToSettle,
  sendSettlementDays,
  sendSettlementDeletes,
  sendSettlements,
  type Settlement,
} from './settlement-queries.ts'
import type { MoneyContext, WantedState } from './write.ts'

/** Settlements of callers' credit notes: what a request makes of them and takes away, in the transaction of the request. */

/** Entries that the settlements of a note stood for, and stand for now. */
export interface SettledPostings {
  before: Posting[]
  after: Posting[]
}

const NONE: SettledPostings = { before: [], after: [] }

/** Returns whether a request can settle: a note that the service made is fixed, and a bad debt settles nothing. */
const isOpen = ({ kind, invoiceId }: NegativeAdjustment): boolean => kind === 'credit_note' && invoiceId === null

/**
 * Settles what a caller's request makes of a note, and writes it. Rules: a lower amount takes settlements away, another currency all; then what
 * the request raises is settled, as far as each invoice can be credited. `before` is null for a new note.
 */
export async function settleNote(
  tx: Transaction,
  context: MoneyContext,
  before: NegativeRecord | null,
  after: NegativeAdjustment,
  allocations: readonly WantedState[],
): Promise<SettledPostings> {
  if (!isOpen(after)) return NONE
  const settled = before === null ? [] : await listSettlementsOfNotes(tx, tx.account, [after.id])
  const allocated = partsOf(allocations)
  if (settled.length === 0 && allocated.length === 0) return NONE
  const isOtherCurrency = before !== null && before.currency !== after.currency
  const { gone, again } = isOtherCurrency ? { gone: settled, again: null } : settledWithin(settled, after.amountMinor)
  const kept = settled.filter((one) => !gone.includes(one))
  sendSettlementDeletes(tx, gone)
  const invoices = await listToSettle(tx, tx.account, [
    ...new Set([...settled.map(({ invoiceId }) => invoiceId), ...allocated.map(({ invoiceId }) => invoiceId)]),
  ])
  const made = again === null ? [] : [again]
  const partsBefore = before === null ? [] : partsOf(before.allocations)
  made.push(
    ...settledByRaise({
      before: partsBefore,
      after: allocated,
      settled: [...kept, ...made],
      creditableOf: (id) => invoiceOf(invoices, id).leftMinor - (again?.invoiceId === id ? again.amountMinor : 0n),
    }),
  )
  const fresh = await writeParts(tx, context, after, made, invoices)
  const moved = before !== null && before.dated !== after.dated ? movedTo(context, after, kept, invoices) : kept
  if (moved !== kept) sendSettlementDays(tx, moved)
  return { before: postingsOf(settled), after: postingsOf([...moved, ...fresh]) }
}

/** Returns the entries of a note's settlements: one of the service posts its taxes itself. */
export const postingsOfSettlements = async (tx: Transaction, negative: NegativeAdjustment): Promise<Posting[]> =>
  isOpen(negative) ? postingsOf(await listSettlementsOfNotes(tx, tx.account, [negative.id])) : []

export const postingsOf = (settlements: readonly Settlement[]): Posting[] => settlements.flatMap(postingsOfSettlement)

/** Lists what callers allocated to invoices, in the order made: new allocations come after all there are. */
function partsOf(allocations: readonly (AllocationState | WantedState)[]): (InvoicePart & { id: Id })[] {
  const callers = allocations.filter(
    ({ isServiceMade, owedKind, endedOn }) => !isServiceMade && owedKind === 'invoice' && endedOn === null,
  )
  const newest = callers.reduce((last, { id }) => (id !== null && id > last ? id : last), 0n as Id)
  return callers.map(({ id, owedId, amountMinor }, place) => ({
    id: id ?? ((newest + BigInt(place) + 1n) as Id),
    invoiceId: owedId,
    amountMinor,
  }))
}

function invoiceOf(invoices: readonly InvoiceToSettle[], id: Id): InvoiceToSettle {
  const invoice = invoices.find(({ invoiceId }) => invoiceId === id)
  assert(invoice, `invoice ${id} exists`)
  return invoice
}

/** Settles gross amounts one after the other, each after what the one before it settled of its invoice. */
async function writeParts(
  tx: Transaction,
  { account }: MoneyContext,
  note: NegativeAdjustment,
  parts: readonly InvoicePart[],
  invoices: readonly InvoiceToSettle[],
): Promise<Settlement[]> {
  const ids = await drawSettlementIds(tx, parts.length)
  const state = new Map(invoices.map((invoice) => [invoice.invoiceId as Id, invoice]))
  const made = parts.map(({ invoiceId, amountMinor }, place): Settlement => {
    const invoice = state.get(invoiceId) as InvoiceToSettle
    const { taxes } = settleAmount(invoice, amountMinor)
    const dated = allocationDay(note.dated, invoice.dated, account.lockDate)
    state.set(invoiceId, {
      ...invoice,
      settledMinor: invoice.settledMinor + amountMinor,
      taxes: invoice.taxes.map((tax, at) => ({ ...tax, settledMinor: tax.settledMinor + taxes[at]!.amountMinor })),
    })
    return {
      id: ids[place] as Id,
      customerId: note.customerId,
      noteId: note.id,
      invoiceId: invoice.invoiceId,
      basis: 'amount',
      amountMinor,
      settledBeforeMinor: invoice.settledMinor,
      isOld: false,
      oldAllocationId: null,
      dated,
      taxes: taxes.map((tax, at) => ({ ...tax, settledBeforeMinor: invoice.taxes[at]!.settledMinor, dated })),
    }
  })
  sendSettlements(tx, made)
  return made
}

/** Moves settlements with their note to another day. */
const movedTo = (
  { account }: MoneyContext,
  note: NegativeAdjustment,
  kept: readonly Settlement[],
  invoices: readonly InvoiceToSettle[],
): Settlement[] =>
  kept.map((one) => {
    const dated = allocationDay(note.dated, invoiceOf(invoices, one.invoiceId).dated, account.lockDate)
    return { ...one, dated, taxes: one.taxes.map((tax) => ({ ...tax, dated })) }
  })
