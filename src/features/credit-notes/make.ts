import type { GivenBack, InvoicedCharge } from '../../engine/coverage.ts'
import {
  type CreditableInvoice,
  creditCharges,
  type OpenInvoice,
  type PlannedCreditNote,
  placeCredits,
  planCreditNotes,
} from '../../engine/credits.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { minorToDecimal } from '../../kernel/money.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column } from '../../platform/database/sql.ts'
import { takeCreditNumber } from '../accounts/queries.ts'
import { addReceivable, addUnapplied } from '../customers/queries.ts'
import { insertEvents } from '../events/queries.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { addCredited, addNegative } from '../invoices/issue-queries.ts'
import {
  creditNumberExists,
  insertCreditAllocations,
  insertCreditLines,
  insertCreditNote,
  insertCreditTaxes,
  listCreditable,
  listCreditableTaxes,
  listOpenInvoices,
} from './queries.ts'

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

export interface MadeCreditNote {
  id: Id
  number: string
  memo: string
  planned: PlannedCreditNote
  appliedMinor: bigint
}

/** Makes the notes, in the order of the invoices they credit, and answers them. */
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
  cause: Omit<CreditCause, 'givenBack'>,
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

type Cause = Omit<CreditCause, 'givenBack'>

async function writeNotes(
  tx: Transaction,
  context: IssueContext,
  cause: Cause,
  notes: readonly PlannedCreditNote[],
): Promise<MadeCreditNote[]> {
  if (notes.length === 0) return []
  const all = await listOpenInvoices(tx, tx.account, cause.customerId, cause.currency)
  const isMade = (invoice: OpenInvoice) => cause.made.includes(invoice.invoiceId)
  const { placements } = placeCredits(
    notes,
    all.filter((invoice) => !isMade(invoice)),
    all.filter(isMade),
    cause.isAutoApply,
  )
  const made: MadeCreditNote[] = []
  for (const [index, planned] of notes.entries()) {
    const appliedMinor = placements
      .filter(({ note }) => note === index)
      .reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
    made.push(await writeNote(tx, context, cause, planned, appliedMinor))
  }
  const rows = placements.map(({ note, invoiceId, amountMinor }) => ({
    creditNoteId: made[note]!.id,
    invoiceId,
    appliedMinor: amountMinor,
  }))
  if (rows.length > 0) {
    await insertCreditAllocations(tx, tx.account, cause.customerId, rows, context.moment.now)
    await addNegative(
      tx,
      tx.account,
      { invoiceIds: column(rows, 'invoiceId'), amountsMinor: column(rows, 'appliedMinor') },
      context.moment.now,
    )
  }
  await moveBalance(tx, cause, made)
  return made
}

const creditedInvoices = (charges: readonly InvoicedCharge[]): Id[] => [
  ...new Set(charges.map(({ invoiceId }) => invoiceId).filter((id) => id !== null)),
]

async function creditableOf(tx: Transaction, ids: readonly Id[]): Promise<CreditableInvoice[]> {
  if (ids.length === 0) return []
  const taxes = await listCreditableTaxes(tx, tx.account, ids)
  return (await listCreditable(tx, tx.account, ids)).map((invoice) => ({
    ...invoice,
    taxes: taxes.filter(({ invoiceId }) => invoiceId === invoice.invoiceId),
  }))
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
  const id = await insertCreditNote(
    tx,
    tx.account,
    {
      customerId: cause.customerId,
      invoiceId: planned.invoiceId,
      subscriptionId: cause.subscriptionId,
      number,
      noteDate: moment.today,
      currency: cause.currency,
      netMinor: planned.netMinor,
      totalMinor: planned.totalMinor,
      appliedMinor,
      memo,
    },
    moment.now,
  )
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
  const amount = decimalText(minorToDecimal(planned.totalMinor, digitsOf(cause.currency)))
  const record = JSON.stringify({
    creditNoteID: Number(id),
    CreditNumber: number,
    customerID: Number(cause.customerId),
    invoiceID: Number(planned.invoiceId),
    CurrencyCode: cause.currency,
    Amount: Number(amount),
    Memo: memo,
  })
  await insertEvents(tx, [
    {
      type: 'credit_note.created',
      recordId: id,
      customerId: cause.customerId,
      happenedAt: moment.now,
      actor: context.actor,
      reason: null,
      record,
    },
  ])
  return { id, number, memo, planned, appliedMinor }
}

/** CN- and the next number of the account's own sequence; numbers that callers gave to notes of theirs are passed over. */
async function freeNumber(tx: Transaction): Promise<string> {
  for (;;) {
    const number = `CN-${await takeCreditNumber(tx, tx.account)}`
    if (!(await creditNumberExists(tx, tx.account, number.toLowerCase()))) return number
  }
}

/** Names the subscription and the days that are given back. */
function memoOf(cause: Cause, { lines }: PlannedCreditNote): string {
  const froms = lines.flatMap(({ from }) => (from === null ? [] : [from])).toSorted()
  const untils = lines.flatMap(({ until }) => (until === null ? [] : [until])).toSorted()
  const days = froms.length > 0 ? `, unused from ${froms[0]} until ${untils.at(-1)}` : ''
  return `Subscription ${cause.subscriptionId}${days}`
}

async function moveBalance(tx: Transaction, cause: Cause, made: readonly MadeCreditNote[]): Promise<void> {
  const total = made.reduce((sum, { planned }) => sum + planned.totalMinor, 0n)
  const applied = made.reduce((sum, { appliedMinor }) => sum + appliedMinor, 0n)
  if (applied > 0n) {
    await addReceivable(tx, tx.account, {
      customerIds: `{${cause.customerId}}`,
      currencies: `{${cause.currency}}`,
      amountsMinor: `{${-applied}}`,
    })
  }
  if (total > applied) await addUnapplied(tx, tx.account, cause.customerId, cause.currency, total - applied)
}
