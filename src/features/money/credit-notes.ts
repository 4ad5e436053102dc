import { allocationDay, type AllocationState } from '../../engine/money/allocation-effects.ts'
import { taxShares } from '../../engine/money/credit-tax.ts'
import { postingsOfNegative } from '../../engine/money/postings.ts'
import type { GivenBack, InvoicedCharge } from '../../engine/subscription/coverage.ts'
import {
  type CreditableInvoice,
  creditCharges,
  type OpenInvoice,
  type PlannedCreditNote,
  placeCredits,
  planCreditNotes,
} from '../../engine/subscription/credits.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import { writingOf } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText, equals } from '../../kernel/decimal.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import { takeCreditNumber } from '../accounts/queries.ts'
import { insertEvents } from '../events/queries.ts'
import { addCredited } from '../invoices/issue-queries.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { creditNumberExists, insertNegative, type NewNegative } from './adjustment-queries.ts'
import { listTaxesOfInvoices, listTaxTaking } from './allocation-queries.ts'
import { insertCreditLines, insertCreditTaxes, listCreditable } from './credit-note-queries.ts'
import { listOpen } from './open-queries.ts'
import { creditNoteShape } from './shapes.ts'
import { writeMoney } from './write.ts'

/** Credit notes that a change of a subscription makes, placed where their money belongs, in the transaction of the change. */

export interface CreditCause {
  customerId: CustomerId
  subscriptionId: Id
  currency: string
  givenBack: readonly GivenBack[]
  /** Invoices made by the same operation: after the credited one they are paid first. */
  made: readonly InvoiceId[]
  isAutoApply: boolean
}

/** The cycle of a component whose usage was corrected downward: half-open days. */
export interface CorrectedUsage {
  name: string
  from: IsoDate
  until: IsoDate
}

export interface MadeCreditNote {
  id: Id
  number: string
  memo: string
  planned: PlannedCreditNote
  appliedMinor: bigint
}

/** Makes the notes and returns them in the order of the invoices they credit. */
export async function makeCreditNotes(
  tx: Transaction,
  context: IssueContext,
  cause: CreditCause,
): Promise<MadeCreditNote[]> {
  const ids = creditedInvoices(cause.givenBack.map(({ charge }) => charge))
  const notes = planCreditNotes(cause.givenBack, await creditableOf(tx, ids), digitsOf(cause.currency))
  await markCredited(tx, cause.givenBack, notes)
  return writeNotes(tx, context, cause, notes)
}

/** Gives an amount back of charges, the newest first: what a correction of usage downward turns into. */
export async function makeCorrection(
  tx: Transaction,
  context: IssueContext,
  cause: Cause & { usage: CorrectedUsage },
  amountMinor: bigint,
  charges: readonly InvoicedCharge[],
): Promise<MadeCreditNote[]> {
  const notes = creditCharges(amountMinor, charges, await creditableOf(tx, creditedInvoices(charges)))
  const lines = notes.flatMap((note) => note.lines)
  // No day is given back: the cycle stays charged, for less.
  if (lines.length > 0)
    await addCredited(tx, tx.account, {
      chargeIds: column(lines, 'chargeId'),
      days: arrayLiteral(lines.map(() => null)),
      amountsMinor: column(lines, 'netMinor'),
    })
  return writeNotes(tx, context, cause, notes)
}

type Cause = Omit<CreditCause, 'givenBack'> & { usage?: CorrectedUsage }

async function writeNotes(
  tx: Transaction,
  context: IssueContext,
  cause: Cause,
  notes: readonly PlannedCreditNote[],
): Promise<MadeCreditNote[]> {
  if (notes.length === 0) return []
  const all = await listOpenInvoices(tx, cause)
  const isMade = (invoice: OpenInvoice) => cause.made.includes(invoice.invoiceId)
  const { placements, unallocatedMinor } = placeCredits(
    notes,
    all.filter((invoice) => !isMade(invoice)),
    all.filter(isMade),
    cause.isAutoApply,
  )
  const made: MadeCreditNote[] = []
  for (const [index, planned] of notes.entries())
    made.push(await writeNote(tx, context, cause, planned, planned.totalMinor - (unallocatedMinor[index] as bigint)))
  const { customerId, currency } = cause
  const numbers = await taxNumbersOf(tx, creditedIds(notes))
  const allocations = await writeMoney(tx, context, {
    customerId,
    currency,
    after: made.flatMap(({ id, planned }) => postingsOf(id, planned, context, numbers)),
    allocations: {
      before: [],
      after: placements.map(({ note, invoiceId, amountMinor }) => ({
        id: null,
        customerId,
        givenKind: 'negative_adjustment',
        givenId: made[note]!.id,
        owedKind: 'invoice',
        owedId: invoiceId,
        amountMinor,
        dated: allocationDay(
          context.moment.today,
          all.find((invoice) => invoice.invoiceId === invoiceId)!.invoiceDate,
          context.account.lockDate,
        ),
        isServiceMade: true,
        endedOn: null,
        counts: 'negative',
        takesTax: false,
      })),
    },
  })
  await recordNoteEvents(tx, context, cause, made, allocations)
  return made
}

/** Lists the open invoices that credits can be placed on, by day and identifier. */
const listOpenInvoices = async (tx: Transaction, { customerId, currency }: Cause): Promise<OpenInvoice[]> =>
  (await listOpen(tx, customerId, currency))
    .filter(({ kind }) => kind === 'invoice')
    .toSorted((a, b) => (a.dated === b.dated ? Number(a.id - b.id) : a.dated < b.dated ? -1 : 1))
    .map(({ id, dated, openMinor }) => ({ invoiceId: id, invoiceDate: dated, openMinor }))

/** Writes the events of notes, with what each was allocated to. */
const recordNoteEvents = (
  tx: Transaction,
  context: IssueContext,
  cause: Cause,
  made: readonly MadeCreditNote[],
  allocations: readonly AllocationState[],
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
      record: creditNoteShape.write(
        {
          ...rowOf(cause, note, context.moment),
          id: note.id,
          appliedMinor: note.appliedMinor,
          createdAt: context.moment.now,
          allocations: allocations.filter(({ givenId }) => givenId === note.id),
        },
        writingOf(context),
      ),
    })),
  )

/** Builds the row of a note. */
const rowOf = (
  { customerId, subscriptionId, currency }: Cause,
  { number, memo, planned }: Omit<MadeCreditNote, 'id'>,
  { today }: IssueContext['moment'],
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
})

const creditedIds = (notes: readonly PlannedCreditNote[]): Id[] => notes.map(({ invoiceId }) => invoiceId)

type TaxNumbers = Awaited<ReturnType<typeof taxNumbersOf>>

const taxNumbersOf = (tx: Transaction, invoiceIds: readonly Id[]) => listTaxesOfInvoices(tx, tx.account, invoiceIds)

/** Builds the postings of a note of the service: net against revenue, and each of the invoice's own taxes. */
const postingsOf = (id: Id, planned: PlannedCreditNote, { moment }: IssueContext, numbers: TaxNumbers) =>
  postingsOfNegative({
    id,
    kind: 'credit_note',
    dated: moment.today,
    amountMinor: planned.totalMinor,
    taxes: planned.taxes.map(({ name, rate, amountMinor }) => ({
      name,
      rate,
      amountMinor,
      taxNumber:
        numbers.find((t) => t.invoiceId === planned.invoiceId && t.name === name && equals(t.rate, rate))?.taxNumber ??
        null,
    })),
  })

const creditedInvoices = (charges: readonly InvoicedCharge[]): Id[] => [
  ...new Set(charges.map(({ invoiceId }) => invoiceId).filter((id) => id !== null)),
]

/** Reads what invoices still allow to be credited, in all and of each tax, less the shares that callers' credit notes have taken. */
async function creditableOf(tx: Transaction, ids: readonly Id[]): Promise<CreditableInvoice[]> {
  if (ids.length === 0) return []
  const taxes = await listTaxesOfInvoices(tx, tx.account, ids)
  const allocations = await listTaxTaking(tx, tx.account, ids)
  return (await listCreditable(tx, tx.account, ids)).map((invoice) => {
    const own = taxes.filter(({ invoiceId }) => invoiceId === invoice.invoiceId)
    const crediting = allocations.filter(({ owedId }) => owedId === invoice.invoiceId)
    const totalMinor = own[0]?.totalMinor ?? 0n
    const shares = [...taxShares({ totalMinor, taxes: own }, crediting).values()].flat()
    return {
      ...invoice,
      taxes: own.map(({ name, rate, amountMinor, takenBackMinor }) => ({
        name,
        rate,
        leftMinor:
          amountMinor -
          takenBackMinor -
          sumMinor(shares.filter((share) => share.name === name && equals(share.rate, rate))),
      })),
    }
  })
}

// Days count as given back also where that came to 0.00, so that no later change gives them back again.
async function markCredited(
  tx: Transaction,
  givenBack: readonly GivenBack[],
  notes: readonly PlannedCreditNote[],
): Promise<void> {
  if (givenBack.length === 0) return
  const lines = new Map(notes.flatMap(({ lines: of }) => of).map((line) => [line.chargeId, line.netMinor]))
  const rows = givenBack.map(({ charge, from }) => ({
    chargeId: charge.chargeId,
    from,
    netMinor: lines.get(charge.chargeId) ?? 0n,
  }))
  await addCredited(tx, tx.account, {
    chargeIds: column(rows, 'chargeId'),
    days: column(rows, 'from'),
    amountsMinor: column(rows, 'netMinor'),
  })
}

async function writeNote(
  tx: Transaction,
  context: IssueContext,
  cause: Cause,
  planned: PlannedCreditNote,
  appliedMinor: bigint,
): Promise<MadeCreditNote> {
  const number = await freeNumber(tx)
  const memo = memoOf(cause, planned)
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
async function freeNumber(tx: Transaction): Promise<string> {
  for (;;) {
    const number = `CN-${await takeCreditNumber(tx, tx.account)}`
    if (!(await creditNumberExists(tx, number.toLowerCase()))) return number
  }
}

/** Names the subscription and the days that are given back, or the cycle whose usage was corrected: both days are covered. */
function memoOf({ subscriptionId, usage }: Cause, { lines }: PlannedCreditNote): string {
  if (usage)
    return `Subscription ${subscriptionId}, usage of ${usage.name} ${usage.from} to ${addDays(usage.until, -1)} corrected`
  const froms = lines.flatMap(({ from }) => (from === null ? [] : [from])).toSorted()
  const untils = lines.flatMap(({ until }) => (until === null ? [] : [until])).toSorted()
  const last = untils.at(-1)
  const days = froms[0] && last ? `, unused ${froms[0]} to ${addDays(last, -1)}` : ''
  return `Subscription ${subscriptionId}${days}`
}
