import type { IsoDate } from '../../kernel/calendar.ts'
import { earlier } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import { minorText, rateOf } from '../../kernel/money.ts'
import type { PlannedCharge } from './charges.ts'
import type { GivenBack, InvoicedCharge } from './coverage.ts'
import type { SettlingTax } from '../money/settle.ts'
import { type CreditableInvoice, planCreditNotes, type PlannedCreditNote, recomputeCredit } from './credits.ts'
import { recomputeCharge, wholePriceOf } from '../explain.ts'
import type { PlannedInvoice } from './renewal.ts'

interface KeptInvoice extends CreditableInvoice {
  taxes: SettlingTax[]
}

/** Book for tests of everything that a database keeps between plans: charges with their credits, and the amount left of each invoice. */
export interface Book {
  charges: InvoicedCharge[]
  planned: PlannedCharge[]
  invoices: KeptInvoice[]
  notes: PlannedCreditNote[]
}

export const emptyBook = (): Book => ({ charges: [], planned: [], invoices: [], notes: [] })

const factsOf = (charge: PlannedCharge, digits: number) => ({ ...charge, digits, currency: 'XXX' })

/** Keeps invoices. Fails when a charge does not follow from its facts, or was made before. */
export function keepInvoices(
  book: Book,
  invoices: readonly PlannedInvoice[],
  rates: readonly Decimal[],
  digits = 2,
): void {
  for (const { charges } of invoices) {
    const invoiceId = BigInt(book.invoices.length + 1)
    let net = 0n
    for (const charge of charges) {
      keepCharge(book, charge, charge.netMinor === 0n ? null : invoiceId, digits)
      net += charge.netMinor
    }
    const taxes = rates.map((rate, index) => ({
      name: `Tax ${index + 1}`,
      rate,
      taxNumber: null,
      amountMinor: rateOf(net, rate),
      settledMinor: 0n,
    }))
    const totalMinor = taxes.reduce((sum, { amountMinor }) => sum + amountMinor, net)
    book.invoices.push({ invoiceId, taxes, totalMinor, settledMinor: 0n, leftMinor: totalMinor })
  }
}

const keyOf = ({ kind, itemId, stretch, from, part, bracketIndex }: PlannedCharge): string =>
  [kind, itemId, stretch, from, part, bracketIndex].join('/')

function keepCharge(book: Book, charge: PlannedCharge, invoiceId: bigint | null, digits: number): void {
  if (recomputeCharge(factsOf(charge, digits)) !== charge.netMinor)
    throw new Error(`${keyOf(charge)} does not follow from its facts`)
  if (book.planned.some((known) => keyOf(known) === keyOf(charge)))
    throw new Error(`${keyOf(charge)} was charged before`)
  book.planned.push(charge)
  const { kind, itemId, name, stretch, part, from, until, wholeFrom, wholeUntil, netMinor } = charge
  book.charges.push({
    chargeId: BigInt(book.charges.length + 1),
    invoiceId,
    kind,
    itemId,
    name,
    stretch,
    part,
    from,
    until,
    wholeFrom,
    wholeUntil,
    price: wholePriceOf(charge),
    netMinor,
    creditedMinor: 0n,
    creditedFrom: null,
    isInvoiceCancelled: false,
  })
}

/** Keeps what is given back and answers the credit notes. Fails when a line does not follow from its facts. */
export function keepCredits(book: Book, givenBack: readonly GivenBack[], digits = 2): PlannedCreditNote[] {
  const notes = planCreditNotes(givenBack, book.invoices, digits)
  for (const { charge, from } of givenBack) {
    const kept = book.charges.find(({ chargeId }) => chargeId === charge.chargeId)!
    if (from !== null) kept.creditedFrom = kept.creditedFrom === null ? from : earlier(kept.creditedFrom, from)
  }
  for (const note of notes) {
    const invoice = book.invoices.find(({ invoiceId }) => invoiceId === note.invoiceId)!
    invoice.leftMinor -= note.totalMinor
    invoice.settledMinor += note.totalMinor
    note.taxes.forEach(({ amountMinor }, index) => (invoice.taxes[index]!.settledMinor += amountMinor))
    for (const line of note.lines) {
      if (recomputeCredit(line, digits) !== line.netMinor) throw new Error(`credit of ${line.chargeId} does not follow`)
      book.charges.find(({ chargeId }) => chargeId === line.chargeId)!.creditedMinor += line.netMinor
    }
  }
  book.notes.push(...notes)
  return notes
}

/** "6.00 + 31.00": the lines of credit notes, in order. */
export const creditsText = (notes: readonly PlannedCreditNote[], digits = 2): string =>
  notes.flatMap(({ lines }) => lines.map(({ netMinor }) => minorText(netMinor, digits))).join(' + ') || '-'

/** "2027-01-11..2027-02-01 10.50 + …": what invoices charge, each behind the day on which it is scheduled. */
export const invoiceRows = (invoices: readonly PlannedInvoice[], digits = 2): string[] =>
  invoices.map(
    ({ scheduledOn, charges }) =>
      `${scheduledOn}: ` +
      charges
        .map((charge) => `${charge.kind} ${daysText(charge.from, charge.until)}${minorText(charge.netMinor, digits)}`)
        .join(' + '),
  )

const daysText = (from: IsoDate | null, until: IsoDate | null): string =>
  from === null ? '' : `${from.slice(5)}..${until?.slice(5)} `
