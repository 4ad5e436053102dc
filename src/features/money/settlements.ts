import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import {
  afterLock,
  type Posting,
  postingsOfEnd,
  postingsOfSettlement,
  type SettlementBasis,
  type TaxAmount,
} from '../../engine/money/postings.ts'
import { type InvoicePart, settledByRaise, settledWithin } from '../../engine/money/raising.ts'
import { settleAmount, type Settling } from '../../engine/money/settle.ts'
import { assert } from '../../kernel/assert.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { amountText } from '../../kernel/currencies.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import {
  drawSettlementIds,
  type InvoiceToSettle,
  listToSettle,
  sendSettlementDays,
  sendSettlementDeletes,
  sendSettlementEnds,
  sendSettlements,
} from './settlement-queries.ts'
import type {
  Corrected,
  MoneyContext,
  NegativeAdjustment,
  NegativeRecord,
  SettledTax,
  Settlement,
  WantedState,
} from './types.ts'

/** Settlements of callers' credit notes: what a request makes of them and takes away, in the transaction of the request. */

/** Entries that the settlements of a note stood for, and stand for now. */
export interface SettledPostings {
  before: Posting[]
  after: Posting[]
}

const NONE: SettledPostings = { before: [], after: [] }

/** Returns whether a request can change what a note settles: of a closed note it is fixed, and a bad debt settles nothing. */
const isOpen = ({ kind, closedAt }: NegativeAdjustment): boolean => kind === 'credit_note' && closedAt === null

/** Returns whether settlements have entries of their own: a note of the service posts its taxes itself. */
const postsSettlements = ({ kind, invoiceId }: NegativeAdjustment): boolean =>
  kind === 'credit_note' && invoiceId === null

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
  const settled = before === null ? [] : before.settlements
  const allocated = partsOf(allocations)
  if (settled.length === 0 && allocated.length === 0) return NONE
  const isOtherCurrency = before !== null && before.currency !== after.currency
  const { gone, again } = isOtherCurrency ? { gone: settled, again: null } : settledWithin(settled, after.amountMinor)
  const kept = settled.filter((one) => !gone.includes(one))
  sendSettlementDeletes(tx, gone, context.moment.now)
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
  const dayOf = (invoice: InvoiceToSettle) => allocationDay(after.dated, invoice.dated, context.account.lockDate)
  const fresh = await writeParts(tx, context, after, made, invoices, { basis: 'amount', dayOf })
  const moved = before !== null && before.dated !== after.dated ? movedTo(context, after, kept, invoices) : kept
  if (moved !== kept) sendSettlementDays(tx, moved)
  return { before: postingsOf(settled), after: postingsOf([...moved, ...fresh]) }
}

/** Settles a new note whole for one invoice, and writes it. Throws a conflict that names both amounts where the invoice cannot be credited by as much. */
export async function settleWhole(
  tx: Transaction,
  context: MoneyContext,
  note: NegativeAdjustment,
  invoiceId: InvoiceId,
): Promise<SettledPostings> {
  const invoices = await listToSettle(tx, tx.account, [invoiceId])
  const { amountMinor } = note
  checkCreditable(invoiceOf(invoices, invoiceId), note, 'Amount')
  const dayOf = (invoice: InvoiceToSettle) => allocationDay(note.dated, invoice.dated, context.account.lockDate)
  const parts = [{ invoiceId, amountMinor }]
  const settled = await writeParts(tx, context, note, parts, invoices, { basis: 'amount', dayOf })
  return { before: [], after: postingsOf(settled) }
}

/** Throws a conflict that names both amounts where more is to be credited of an invoice than can be. */
export function checkCreditable(
  { invoiceId, leftMinor: left }: InvoiceToSettle,
  { amountMinor, currency }: { amountMinor: bigint; currency: string },
  field: string,
): void {
  const leftMinor = left > 0n ? left : 0n
  if (amountMinor > 0n && amountMinor <= leftMinor) return
  const message =
    leftMinor === 0n
      ? `Of invoice ${invoiceId} ${amountText(leftMinor, currency)} can be credited: nothing of it is left.`
      : `Of invoice ${invoiceId} ${amountText(leftMinor, currency)} can be credited; the credit note is of ${amountText(amountMinor, currency)}.`
  throw conflict('too_little_creditable', message, field)
}

/** Returns the entries that the settlements of a negative adjustment stand for. */
export const postingsOfSettlements = (negative: NegativeAdjustment & Corrected): Posting[] =>
  postsSettlements(negative) ? postingsOf(negative.settlements) : []

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

export function invoiceOf(invoices: readonly InvoiceToSettle[], id: Id): InvoiceToSettle {
  const invoice = invoices.find(({ invoiceId }) => invoiceId === id)
  assert(invoice, `invoice ${id} exists`)
  return invoice
}

/** Ends settlements as an event of today, or of the day after a lock: they stay as history, and their entries are reversed on that day. Returns these entries. */
export function endSettlements(
  tx: Transaction,
  { account, moment }: MoneyContext,
  settlements: readonly Settlement[],
): Posting[] {
  const day = afterLock(moment.today, account.lockDate)
  sendSettlementEnds(tx, settlements, day, moment.now)
  return postingsOfEnd(postingsOf(settlements), day)
}

/** Makes a settled tax of what is taken back of a tax of an invoice. */
export const settledTax = (
  tax: TaxAmount,
  { settledMinor, category }: InvoiceToSettle['taxes'][number],
  dated: IsoDate,
): SettledTax => ({ ...tax, settledBeforeMinor: settledMinor, category, dated })

interface PartsSettled {
  basis: SettlementBasis
  dayOf: (invoice: InvoiceToSettle) => IsoDate
  settle?: (invoice: InvoiceToSettle, amountMinor: bigint) => Pick<Settling, 'taxes'>
}

/** Settles gross amounts one after the other, each after what the one before it settled of its invoice, and writes them. */
export async function writeParts(
  tx: Transaction,
  { moment }: MoneyContext,
  note: NegativeAdjustment,
  parts: readonly InvoicePart[],
  invoices: readonly InvoiceToSettle[],
  how: PartsSettled,
): Promise<Settlement[]> {
  const made = makeParts(note, parts, invoices, await drawSettlementIds(tx, parts.length), how)
  sendSettlements(tx, made, moment.now)
  return made
}

/** Makes settlements of gross amounts under identifiers that were drawn ahead. */
export function makeParts(
  note: NegativeAdjustment,
  parts: readonly InvoicePart[],
  invoices: readonly InvoiceToSettle[],
  ids: readonly Id[],
  { basis, dayOf, settle = settleAmount }: PartsSettled,
): Settlement[] {
  const state = new Map(invoices.map((invoice) => [invoice.invoiceId as Id, invoice]))
  return parts.map(({ invoiceId, amountMinor }, place): Settlement => {
    const invoice = state.get(invoiceId) as InvoiceToSettle
    const { taxes } = settle(invoice, amountMinor)
    const dated = dayOf(invoice)
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
      invoiceNumber: invoice.number,
      basis,
      amountMinor,
      settledBeforeMinor: invoice.settledMinor,
      isOld: false,
      oldAllocationId: null,
      dated,
      endedOn: null,
      taxes: taxes.map((tax, at) => settledTax(tax, invoice.taxes[at]!, dated)),
    }
  })
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
