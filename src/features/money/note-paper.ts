import type { TaxAmount } from '../../engine/money/postings.ts'
import type { CreditLine } from '../../engine/subscription/credits.ts'
import { type Decimal, decimalText } from '../../kernel/decimal.ts'
import type { AccountId, InvoiceId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { listCreditLines } from './credit-note-queries.ts'
import { isReasonOfService, reasonOfNote } from './note-reason.ts'
import { listToSettle } from './settlement-queries.ts'
import type { Corrected, NegativeRecord, Settlement } from './types.ts'
import { explainSettlement, type SettlementExplanation } from '../../engine/money/explain-settlement.ts'
import { assert } from '../../kernel/assert.ts'
import { amountText, digitsOf } from '../../kernel/currencies.ts'
import { listCreditNoteTaxes } from './adjustment-queries.ts'
import { listInvoiceNumbers } from './open-queries.ts'

/** Statements of a credit note, on paper and in answers: its lines, the taxes that it takes back, its reason in the language of its reader. */

/** Reads the lines of a note; one of a caller has none. */
export const linesOfNote = async (
  db: Queryable,
  account: AccountId,
  note: Pick<NegativeRecord, 'id' | 'lines'>,
): Promise<CreditLine[]> => (note.lines.length === 0 ? [] : listCreditLines(db, account, note.id))

/** Returns why a note was made, null where nobody wrote it: text of the service is written anew, in the language of the paper. */
export function paperReason(
  { reason, memo, subscriptionId }: Pick<NegativeRecord, 'reason' | 'memo' | 'subscriptionId'>,
  lines: readonly CreditLine[],
  locale: string,
): string | null {
  if (reason !== null || memo === null || subscriptionId === null) return reason ?? memo
  return isReasonOfService(memo, subscriptionId) ? reasonOfNote(locale, subscriptionId, lines) : memo
}

/** Tax that a note takes back of an invoice, and the net amount that it was charged on. */
export interface TaxOfNote extends TaxAmount {
  invoiceId: InvoiceId
  invoiceNumber: bigint | null
  baseMinor: bigint
  category: TaxCategory | null
}

/** Adds up the taxes of settlements: one sum for each tax of each invoice, in the order of the settlements. */
export function takenTaxes(settlements: readonly Settlement[]): TaxOfNote[] {
  const sums = new Map<string, TaxOfNote>()
  for (const { invoiceId, invoiceNumber, amountMinor: grossMinor, taxes } of settlements) {
    const invoice = { invoiceId, invoiceNumber }
    const baseMinor = grossMinor - sumMinor(taxes)
    const places = new Map<string, number>()
    for (const { name, rate, taxNumber, category, amountMinor } of taxes) {
      const label = JSON.stringify([name, decimalText(rate), taxNumber])
      // An invoice may have two taxes that are alike.
      const place = (places.get(label) ?? 0) + 1
      places.set(label, place)
      const key = `${invoiceId} ${place} ${label}`
      const sum = sums.get(key) ?? { ...invoice, name, rate, taxNumber, category, baseMinor: 0n, amountMinor: 0n }
      sums.set(key, {
        ...sum,
        baseMinor: sum.baseMinor + baseMinor,
        amountMinor: sum.amountMinor + amountMinor,
      })
    }
  }
  return [...sums.values()]
}

/** Returns what of a note corrects no invoice, in minor units. */
export const unsettledMinor = ({ amountMinor, settlements }: { amountMinor: bigint } & Corrected): bigint =>
  amountMinor - sumMinor(settlements)

/** Explains what a credit note gives back, and why: of one that the service made by its lines, of a caller's by what it settled. */

interface ExplainedTax {
  name: string
  rate: Decimal
  amountMinor: bigint
  invoiceId: InvoiceId
  invoiceNumber: bigint | null
}

export interface ExplainedNote {
  note: NegativeRecord
  netMinor: bigint
  taxes: ExplainedTax[]
  lines: CreditLine[]
  settlements: ExplainedSettlement[]
  sentence: string
}

/** Settlement of an invoice, in minor units. */
interface ExplainedSettlement extends SettlementExplanation {
  invoiceId: InvoiceId
  invoiceNumber: bigint | null
  grossMinor: bigint
  creditedBeforeMinor: bigint | null
}

const NOT_SETTLED = 'it corrects no invoice with taxes'
const TAKEN_BACK = 'the taxes of the invoices that it corrects have been taken back already'
const MEANS = 'the service applied it when an invoice was made, as a means of payment'

/** Explains the amounts of a note: its net amount and its taxes come to its amount, and each settlement follows from what was settled before. */
export async function explainNote(db: Queryable, account: AccountId, note: NegativeRecord): Promise<ExplainedNote> {
  const [amounts, settlements] = await Promise.all([
    explainAmounts(db, account, note),
    explainSettlements(db, account, note),
  ])
  return { ...amounts, settlements }
}

async function explainSettlements(
  db: Queryable,
  account: AccountId,
  { settlements, currency }: NegativeRecord,
): Promise<ExplainedSettlement[]> {
  const invoices = await listToSettle(db, account, [...new Set(settlements.map(({ invoiceId }) => invoiceId))])
  const digits = digitsOf(currency)
  return settlements.map(({ invoiceId, invoiceNumber, basis, amountMinor, settledBeforeMinor, taxes }) => {
    const invoice = invoices.find((one) => one.invoiceId === invoiceId)
    assert(invoice, `invoice ${invoiceId} exists`)
    const facts = {
      basis,
      grossMinor: amountMinor,
      creditedBeforeMinor: settledBeforeMinor,
      totalMinor: invoice.totalMinor,
      taxes: taxes.map((tax, place) => ({ ...tax, wholeMinor: invoice.taxes[place]?.amountMinor ?? 0n })),
    }
    const explained = explainSettlement(facts, { digits, currency, label: `invoice ${invoiceId}` })
    return { ...explained, invoiceId, invoiceNumber, grossMinor: amountMinor, creditedBeforeMinor: settledBeforeMinor }
  })
}

type ExplainedAmounts = Omit<ExplainedNote, 'settlements'>

async function explainAmounts(db: Queryable, account: AccountId, note: NegativeRecord): Promise<ExplainedAmounts> {
  if (note.invoiceId === null) {
    const { taxes, whyNone } = taxesOfCaller(note)
    const lines = await linesOfNote(db, account, note)
    return explained(note, taxes, lines, whyNone)
  }
  const { invoiceId } = note
  const [shares, lines, [credited]] = await Promise.all([
    listCreditNoteTaxes(db, account, [note.id]),
    listCreditLines(db, account, note.id),
    listInvoiceNumbers(db, account, [invoiceId]),
  ])
  const taxes = shares.map((tax) => ({ ...tax, invoiceId, invoiceNumber: credited?.number ?? null }))
  return explained(note, taxes, lines)
}

/** Rule: what a caller's note takes back of taxes is what it settled, wherever its money is allocated now. */
function taxesOfCaller({ settlements, allocations }: NegativeRecord): { taxes: ExplainedTax[]; whyNone: string } {
  const isMeans = allocations.some(({ isServiceMade, owedKind }) => isServiceMade && owedKind === 'invoice')
  if (settlements.length === 0) return { taxes: [], whyNone: isMeans ? MEANS : NOT_SETTLED }
  const taken = settlements.flatMap(({ invoiceId, invoiceNumber, taxes }) =>
    taxes.filter(({ amountMinor }) => amountMinor > 0n).map((tax) => ({ ...tax, invoiceId, invoiceNumber })),
  )
  return { taxes: added(taken), whyNone: settlements.some(({ taxes }) => taxes.length > 0) ? TAKEN_BACK : NOT_SETTLED }
}

/** Adds up the shares of several settlements, one sum for each tax of an invoice. */
function added(shares: readonly ExplainedTax[]): ExplainedTax[] {
  const sums = new Map<string, ExplainedTax>()
  for (const { name, rate, amountMinor, invoiceId, invoiceNumber } of shares) {
    const key = `${invoiceId} ${name} ${decimalText(rate)}`
    const sumOfTax = (sums.get(key)?.amountMinor ?? 0n) + amountMinor
    sums.set(key, { name, rate, invoiceId, invoiceNumber, amountMinor: sumOfTax })
  }
  return [...sums.values()]
}

function explained(
  note: NegativeRecord,
  taxes: ExplainedTax[],
  lines: CreditLine[],
  whyNone = NOT_SETTLED,
): ExplainedAmounts {
  const taxMinor = sumMinor(taxes)
  const text = (amountMinor: bigint) => amountText(amountMinor, note.currency)
  const netMinor = note.amountMinor - taxMinor
  const label = `Credit note ${note.ref} of ${text(note.amountMinor)}`
  const sentence =
    note.invoiceId !== null
      ? `${label} gives back ${text(netMinor)} of invoice ${note.invoiceId} and ${text(taxMinor)} of its taxes.`
      : taxes.length > 0
        ? `${label} takes back ${text(taxMinor)} of the taxes of the invoices that it corrects; ${text(netMinor)} is net.`
        : `${label} takes back no tax: ${whyNone}.`
  return { note, netMinor, taxes, lines, sentence }
}
