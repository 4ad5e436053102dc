import type { OwedRef } from '../../engine/money/allocating.ts'
import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import { postingsOfNegative } from '../../engine/money/postings.ts'
import type { GivenBack, InvoicedCharge } from '../../engine/subscription/coverage.ts'
import {
  type Correction,
  type OpenInvoice,
  type PlannedCreditNote,
  placeCredits,
  planCreditNotes,
} from '../../engine/subscription/credits.ts'
import { writingOf } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import { localeOfAccount } from '../../platform/locale/format.ts'
import { takeCreditNumber } from '../accounts/queries.ts'
import { insertEvents } from '../events/queries.ts'
import { addCredited } from '../invoices/state-queries.ts'
import { getSender } from '../outbox/queries.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { insertNegative, type NewNegative } from './adjustment-queries.ts'
import { applyNotes } from './apply-unallocated.ts'
import { listOpenRefunds } from './cover-queries.ts'
import { coverRefunds } from './cover-refunds.ts'
import { insertCreditLines, insertCreditTaxes } from './credit-note-queries.ts'
import { withRoom } from './release-pending-lines.ts'
import { reasonOfNote } from './note-reason.ts'
import { listOpen } from './open-queries.ts'
import { roomFor } from './pending-lines-room.ts'
import { drawSettlementIds, type InvoiceToSettle, listToSettle, sendSettlements } from './settlement-queries.ts'
import { settledTax } from './settlements.ts'
import { creditNoteShape } from './shapes.ts'
import { type MoneyChange, writeMoney } from './write.ts'
import type { OwedDocument, Settlement } from './types.ts'

/** Credit notes that a change of a subscription makes, placed where their money belongs, in the transaction of the change. */

export interface CreditCause {
  customerId: CustomerId
  subscriptionId: Id
  currency: string
  givenBack: readonly GivenBack[]
  /** Usage that was corrected downward. */
  corrections?: readonly Correction[]
  /** Invoices made by the same operation: after the credited one they are paid first. */
  made: readonly InvoiceId[]
  isAutoApply: boolean
}

export interface MadeCreditNote {
  id: Id
  number: string
  memo: string
  planned: PlannedCreditNote
  appliedMinor: bigint
}

/**
 * Makes the notes of one operation, one for each invoice credited, and returns them in the order of these invoices. What of a correction no
 * charge can take is dropped.
 */
export async function makeCreditNotes(
  tx: Transaction,
  context: IssueContext,
  cause: CreditCause,
): Promise<MadeCreditNote[]> {
  const { givenBack, corrections = [] } = cause
  const charges = [...givenBack.map(({ charge }) => charge), ...corrections.flatMap((correction) => correction.charges)]
  const creditable = await listToSettle(tx, tx.account, creditedInvoices(charges))
  const notes = planCreditNotes(givenBack, creditable, digitsOf(cause.currency), corrections)
  await markCredited(tx, cause, notes)
  await markCorrected(tx, cause, notes)
  return writeNotes(tx, context, cause, notes, creditable)
}

async function writeNotes(
  tx: Transaction,
  context: IssueContext,
  cause: CreditCause,
  notes: readonly PlannedCreditNote[],
  creditable: readonly InvoiceToSettle[],
): Promise<MadeCreditNote[]> {
  if (notes.length === 0) return []
  const [open, { locale, country }, refunds] = await Promise.all([
    listOpenInvoices(tx, cause),
    getSender(tx, tx.account, cause.customerId),
    listOpenRefunds(tx, cause.customerId),
  ])
  const isRefunded = refunds.length > 0
  const spoken = { ...cause, locale: localeOfAccount(locale, country) }
  const all = open.map(({ id, dated, openMinor }): OpenInvoice => ({ invoiceId: id, invoiceDate: dated, openMinor }))
  const isMade = (invoice: OpenInvoice) => cause.made.includes(invoice.invoiceId)
  const { placements, unallocatedMinor } = placeCredits(
    notes,
    all.filter((invoice) => !isMade(invoice)),
    all.filter(isMade),
    cause.isAutoApply && !isRefunded,
  )
  const made: MadeCreditNote[] = []
  for (const [index, planned] of notes.entries())
    made.push(await writeNote(tx, context, spoken, planned, planned.totalMinor - (unallocatedMinor[index] as bigint)))
  const { customerId, currency } = cause
  const settlements = await settleMade(tx, context, cause, made, creditable)
  const toInvoice = ({ id }: OwedRef) => sumMinor(placements.filter(({ invoiceId }) => invoiceId === id))
  const room = roomFor(open, () => 0n, toInvoice)
  const change: MoneyChange = {
    customerId,
    currency,
    after: made.flatMap(({ id, planned }) => postingsOf(id, planned, context)),
    allocations: {
      before: [],
      after: placements.map(({ note, invoiceId, amountMinor }) => {
        const invoice = open.find(({ id }) => id === invoiceId)!
        return {
          id: null,
          customerId,
          givenKind: 'negative_adjustment',
          givenId: made[note]!.id,
          owedKind: 'invoice',
          owedId: invoiceId,
          invoiceNumber: invoice.order,
          amountMinor,
          dated: allocationDay(context.moment.today, invoice.dated, context.account.lockDate),
          isServiceMade: true,
          endedOn: null,
          counts: 'negative',
        }
      }),
    },
  }
  const allocations = await withRoom(tx, context, room, () => writeMoney(tx, context, change))
  await recordNoteEvents(tx, context, cause, { made, allocations, settlements })
  if (isRefunded) await placeBehindRefunds(tx, context, cause, { made, open })
  return made
}

/** Rule: what a gateway's console has refunded of an invoice takes what its notes leave, before other invoices do. */
async function placeBehindRefunds(
  tx: Transaction,
  context: IssueContext,
  { customerId, currency, made: invoicesMade, isAutoApply }: CreditCause,
  { made, open }: { made: readonly MadeCreditNote[]; open: readonly OwedDocument[] },
): Promise<void> {
  await coverRefunds(tx, context, customerId)
  if (!isAutoApply) return
  const isMade = ({ id }: OwedDocument) => invoicesMade.includes(id)
  const inTurn = [...open.filter(isMade), ...open.filter((one) => !isMade(one))]
  const paid = inTurn.map(({ id }) => ({ id, customerId, currency }))
  await applyNotes(
    tx,
    context,
    made.map(({ id }) => id),
    paid,
  )
}

/** Lists the open invoices that credits can be placed on, by day and identifier. */
const listOpenInvoices = async (tx: Transaction, { customerId, currency }: CreditCause): Promise<OwedDocument[]> =>
  (await listOpen(tx, customerId, currency))
    .filter(({ kind }) => kind === 'invoice')
    .toSorted((a, b) => (a.dated === b.dated ? Number(a.id - b.id) : a.dated < b.dated ? -1 : 1))

/** Writes the events of notes, with what each was allocated to and what it corrects. */
const recordNoteEvents = (
  tx: Transaction,
  context: IssueContext,
  cause: CreditCause,
  {
    made,
    allocations,
    settlements,
  }: {
    made: readonly MadeCreditNote[]
    allocations: readonly AllocationState[]
    settlements: readonly Settlement[]
  },
) =>
  insertEvents(
    tx,
    made.map((note) => ({
      type: 'credit_note.created' as const,
      recordId: note.id,
      customerId: cause.customerId,
      happenedAt: context.moment.now,
      actor: context.actor,
      reason: null,
      record: creditNoteShape.recorded.write(
        {
          ...rowOf(cause, note, context.moment),
          id: note.id,
          appliedMinor: note.appliedMinor,
          createdAt: context.moment.now,
          reliefDate: null,
          sentAt: null,
          allocations: allocations.filter(({ givenId }) => givenId === note.id),
          settlements: settlements.filter(({ noteId }) => noteId === note.id),
          lines: note.planned.lines,
        },
        writingOf(context),
      ),
    })),
  )

/** Builds the row of a note. */
const rowOf = (
  { customerId, subscriptionId, currency }: CreditCause,
  { number, memo, planned }: Omit<MadeCreditNote, 'id'>,
  { today, now }: IssueContext['moment'],
): NewNegative => ({
  customerId,
  kind: 'credit_note',
  invoiceId: planned.invoiceId,
  subscriptionId,
  ref: number,
  dated: today,
  currency,
  amountMinor: planned.totalMinor,
  memo,
  reason: null,
  closedAt: now,
})

/** Builds the postings of a note of the service: net against revenue, and each of the invoice's own taxes. */
const postingsOf = (id: Id, { totalMinor, taxes }: PlannedCreditNote, { moment }: IssueContext) =>
  postingsOfNegative({ id, kind: 'credit_note', dated: moment.today, amountMinor: totalMinor, taxes })

/** Writes what notes settle of the invoices for which they are made, one of each, and returns it. */
async function settleMade(
  tx: Transaction,
  { moment: { today, now } }: IssueContext,
  { customerId }: CreditCause,
  made: readonly MadeCreditNote[],
  creditable: readonly InvoiceToSettle[],
): Promise<Settlement[]> {
  const ids = await drawSettlementIds(tx, made.length)
  const settlements = made.map(({ id, planned }, place): Settlement => {
    const invoice = creditable.find(({ invoiceId }) => invoiceId === planned.invoiceId) as InvoiceToSettle
    return {
      id: ids[place] as Id,
      customerId,
      noteId: id,
      invoiceId: invoice.invoiceId,
      invoiceNumber: invoice.number,
      basis: planned.basis,
      amountMinor: planned.totalMinor,
      settledBeforeMinor: invoice.settledMinor,
      isOld: false,
      oldAllocationId: null,
      dated: today,
      endedOn: null,
      taxes: planned.taxes.map((tax, at) => settledTax(tax, invoice.taxes[at]!, today)),
    }
  })
  sendSettlements(tx, settlements, now)
  return settlements
}

const creditedInvoices = (charges: readonly InvoicedCharge[]): Id[] => [
  ...new Set(charges.map(({ invoiceId }) => invoiceId).filter((id) => id !== null)),
]

/** Marks what corrections take of charges. No day is given back: the cycle stays charged, for less. */
async function markCorrected(
  tx: Transaction,
  { customerId, givenBack }: CreditCause,
  notes: readonly PlannedCreditNote[],
): Promise<void> {
  const marked = new Set(givenBack.map(({ charge }) => charge.chargeId))
  const lines = notes.flatMap(({ lines: of }) => of).filter(({ chargeId }) => !marked.has(chargeId))
  if (lines.length === 0) return
  await addCredited(tx, customerId, {
    chargeIds: column(lines, 'chargeId'),
    days: arrayLiteral(lines.map(() => null)),
    amountsMinor: column(lines, 'netMinor'),
  })
}

// Days count as given back also where that came to 0.00, so that no later change gives them back again.
async function markCredited(
  tx: Transaction,
  { customerId, givenBack }: CreditCause,
  notes: readonly PlannedCreditNote[],
): Promise<void> {
  if (givenBack.length === 0) return
  const lines = new Map<Id, bigint>()
  for (const { chargeId, netMinor } of notes.flatMap(({ lines: of }) => of))
    lines.set(chargeId, (lines.get(chargeId) ?? 0n) + netMinor)
  const rows = givenBack.map(({ charge, from }) => ({
    chargeId: charge.chargeId,
    from,
    netMinor: lines.get(charge.chargeId) ?? 0n,
  }))
  await addCredited(tx, customerId, {
    chargeIds: column(rows, 'chargeId'),
    days: column(rows, 'from'),
    amountsMinor: column(rows, 'netMinor'),
  })
}

async function writeNote(
  tx: Transaction,
  context: IssueContext,
  cause: CreditCause & { locale: string },
  planned: PlannedCreditNote,
  appliedMinor: bigint,
): Promise<MadeCreditNote> {
  const number = await freeNumber(tx)
  const memo = reasonOfNote(cause.locale, cause.subscriptionId, planned.lines)
  const { moment } = context
  const note = { number, memo, planned, appliedMinor }
  const id = await insertNegative(tx, rowOf(cause, note, moment), moment.now)
  await insertCreditLines(
    tx,
    tx.account,
    id,
    planned.lines.map((line, index) => ({ ...line, line: index + 1, price: decimalText(line.price) })),
  )
  if (planned.taxes.length > 0) {
    await insertCreditTaxes(
      tx,
      tx.account,
      id,
      planned.taxes.map((tax, index) => ({ ...tax, line: index + 1, rate: decimalText(tax.rate) })),
    )
  }
  return { ...note, id }
}

/** Takes the next number of the account's own sequence, with CN- before it; numbers that callers gave to their notes are passed over. */
export async function freeNumber(tx: Transaction): Promise<string> {
  for (;;) {
    const { next, isTaken } = await takeCreditNumber(tx, tx.account)
    if (!isTaken) return `CN-${next}`
  }
}
