import { type OwedRef, takeFree } from '../../engine/money/allocating.ts'
import { allocationDay, appliedDeltas } from '../../engine/money/allocation-effects.ts'
import { postingsOfAllocation } from '../../engine/money/postings.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { AfterIssue, IssueContext, Issued } from '../invoices/issue.ts'
import { post } from '../ledger/post.ts'
import { numberOf } from './allocate.ts'
import { drawAllocationIds, sendAllocations } from './allocation-queries.ts'
import { recordAllocations } from './allocation-event.ts'
import { type GivenDocument, listFree, listFreeNotesOf, listOwed } from './open-queries.ts'
import { withRoom } from './release-pending-lines.ts'
import { roomFor } from './pending-lines-room.ts'
import { writeDeltas } from './write.ts'
import type { OwedDocument, WantedState } from './types.ts'
import { startDunning } from '../dunning/start.ts'
import { mailIssued } from '../invoices/send.ts'

/** Invoice that unallocated money may pay. */
type PaidInvoice = Pick<Issued['invoices'][number], 'id' | 'customerId' | 'currency'>

/**
 * Pays invoices just made by the rules with unallocated money, for one customer as for thousands. Rule: payments, pending ones too, and
 * credit notes, never bad debt; only the invoices being made; not where the account has turned it off, and not those by hand.
 */
export const applyUnallocated: AfterIssue = async (tx, context, { invoices: made, unapplied, isManual }) => {
  if (isManual || unapplied.length === 0) return
  const rich = new Set(unapplied.map(({ customerId, currency }) => `${customerId} ${currency}`))
  await applyUnallocatedTo(
    tx,
    context,
    made.filter(({ customerId, currency }) => rich.has(`${customerId} ${currency}`)),
  )
}

/**
 * Pays invoices of locked customers with their unallocated money, those of one customer in the order given, as far as it reaches. Lines that give
 * way make room. Not where the account has turned it off. Returns false where there was nothing to apply.
 */
export async function applyUnallocatedTo(
  tx: Transaction,
  context: IssueContext,
  paid: readonly PaidInvoice[],
): Promise<boolean> {
  if (paid.length === 0 || !context.account.isAutoApply) return false
  const free = await listFree(tx, [...new Set(paid.map(({ customerId }) => customerId))])
  if (free.length === 0) return false
  await applyFree(tx, context, paid, free)
  return true
}

/**
 * Pays invoices of locked customers that lost money with what is unallocated of the credit notes settled for each. Rule: a note made when the
 * invoice was paid takes the place of the payment that failed or came back, from that day on, whatever the account does with other unallocated
 * money (§22).
 */
export async function applyNotesOf(tx: Transaction, context: IssueContext, lost: readonly LostMoney[]): Promise<void> {
  const asked = lost.flatMap(({ invoiceIds }) => invoiceIds)
  if (asked.length === 0) return
  const notes = await listFreeNotesOf(tx, asked)
  if (notes.length === 0) return
  for (const { customerId, currency, invoiceIds, on } of lost)
    for (const id of invoiceIds) {
      const settled = notes.filter(({ invoiceId }) => invoiceId === id).map(({ id: noteId }) => noteId)
      if (settled.length === 0) continue
      const free = (await listFree(tx, [customerId])).filter(
        (one) => one.kind === 'negative_adjustment' && settled.includes(one.id),
      )
      await applyFree(tx, context, [{ id, customerId, currency }], free, on)
    }
}

/** Pays invoices of a locked customer with what is unallocated of some credit notes, in the order given, as far as it reaches. */
export async function applyNotes(
  tx: Transaction,
  context: IssueContext,
  notes: readonly Id[],
  paid: readonly PaidInvoice[],
): Promise<void> {
  const free = await listFree(tx, [...new Set(paid.map(({ customerId }) => customerId))])
  const ofNotes = free.filter(({ kind, id }) => kind === 'negative_adjustment' && notes.includes(id))
  if (ofNotes.length > 0) await applyFree(tx, context, paid, ofNotes)
}

/** Invoices that a payment was allocated to, and the day on which it failed or came back. */
interface LostMoney {
  customerId: CustomerId
  currency: string
  invoiceIds: readonly InvoiceId[]
  on: IsoDate
}

async function applyFree(
  tx: Transaction,
  context: IssueContext,
  paid: readonly PaidInvoice[],
  free: readonly GivenDocument[],
  notBefore: IsoDate | null = null,
): Promise<void> {
  const owed = await listOwed(
    tx,
    tx.account,
    paid.map(({ id }) => ({ kind: 'invoice', id })),
  )
  const planned = statesOf(context, paid, free, new Map(owed.map((document) => [document.id, document])))
  const wanted = notBefore === null ? planned : planned.map((one) => ({ ...one, dated: later(one.dated, notBefore) }))
  const toInvoice = ({ id }: OwedRef) => sumMinor(wanted.filter(({ owedId }) => owedId === id))
  const room = roomFor(owed, () => 0n, toInvoice)
  await withRoom(tx, context, room, () => writeApplied(tx, context, wanted))
}

/** Allocation to be made, in the currency of its documents. */
export type AppliedState = WantedState & { currency: string }

function statesOf(
  { account }: IssueContext,
  paid: readonly PaidInvoice[],
  free: readonly GivenDocument[],
  owed: ReadonlyMap<Id, OwedDocument>,
): AppliedState[] {
  const groups = new Map<string, PaidInvoice[]>()
  for (const invoice of paid) {
    const key = `${invoice.customerId} ${invoice.currency}`
    groups.set(key, [...(groups.get(key) ?? []), invoice])
  }
  return [...groups.values()].flatMap((invoices) => {
    const { customerId, currency } = invoices[0] as PaidInvoice
    const money = free.filter((one) => one.customerId === customerId && one.currency === currency)
    const targets = invoices.map(({ id }) => ({
      kind: 'invoice' as const,
      id,
      openMinor: owed.get(id)?.openMinor ?? 0n,
    }))
    return takeFree(money, targets, 'credit_notes_of_a_day').map(({ givenKind, givenId, target, amountMinor }) => {
      const given = money.find(({ kind, id }) => kind === givenKind && id === givenId) as GivenDocument
      const document = owed.get(target.id) as OwedDocument
      return {
        id: null,
        currency,
        customerId,
        givenKind,
        givenId,
        owedKind: target.kind,
        owedId: target.id,
        invoiceNumber: numberOf(document),
        amountMinor,
        dated: allocationDay(given.dated, document.dated, account.lockDate),
        isServiceMade: true,
        endedOn: null,
        counts: given.counts,
      }
    })
  })
}

/** Writes allocations of the service, of many customers at once. */
export async function writeApplied(
  tx: Transaction,
  context: IssueContext,
  wanted: readonly AppliedState[],
): Promise<void> {
  if (wanted.length === 0) return
  const { now } = context.moment
  const ids = await drawAllocationIds(tx, wanted.length)
  const made = wanted.map((state, place) => ({ ...state, id: ids[place] as Id }))
  sendAllocations(tx, made, now)
  writeDeltas(tx, context, appliedDeltas([], made))
  await post(
    tx,
    made.map((state) => ({ ...state, postings: postingsOfAllocation(state) })),
    now,
  )
  await recordAllocations(tx, context, 'allocation.created', made)
}

/**
 * Steps after issuing, in their order: first what pays invoices, last the mail, which shows what is left to pay. Declared here because
 * money stands above invoices: features above it import the list, invoices by hand get it from app.ts.
 */
export const AFTER_ISSUE: readonly AfterIssue[] = [applyUnallocated, startDunning, mailIssued]
