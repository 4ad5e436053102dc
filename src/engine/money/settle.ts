import { divideHalfAway } from '../../kernel/decimal.ts'
import { rateOf, sumMinor } from '../../kernel/money.ts'
import type { PostedTax, TaxAmount } from './postings.ts'

/**
 * Settlements: what credit notes correct of an invoice, once and for good. Each takes a gross amount of it, and of each tax a share that is
 * cumulative over everything settled before, so that an invoice credited whole gives back exactly its taxes, in however many pieces.
 */

/** Tax of an invoice with what of it was settled before, in minor units. */
export interface SettlingTax extends TaxAmount {
  settledMinor: bigint
}

/** Invoice with the facts from which the next settlement follows. */
export interface SettlingInvoice {
  totalMinor: bigint
  /** Gross settled for it by all notes before, in minor units. */
  settledMinor: bigint
  /** Its frozen taxes in their order. */
  taxes: readonly SettlingTax[]
}

/** Settlement by value, in minor units: net and taxes come to the gross. */
export interface Settling {
  grossMinor: bigint
  netMinor: bigint
  /** Shares, one for each tax of the invoice, in its order, those of 0 too. */
  taxes: TaxAmount[]
}

/** Returns the net settled before for an invoice, in minor units: the gross less all its taxes. */
export const netSettled = ({ settledMinor, taxes }: SettlingInvoice): bigint =>
  settledMinor - sumMinor(taxes, 'settledMinor')

/** Returns the settlement of a gross amount. Rule: of each tax round((C + g) × tax ÷ Total) less what was settled of it before, within the bounds. */
export function settleAmount(invoice: SettlingInvoice, grossMinor: bigint): Settling {
  const creditedMinor = invoice.settledMinor + grossMinor
  const wanted = invoice.taxes.map(({ amountMinor, settledMinor }) =>
    invoice.totalMinor <= 0n ? 0n : divideHalfAway(creditedMinor * amountMinor, invoice.totalMinor) - settledMinor,
  )
  const raised = raise(invoice, atMostLeft(invoice, wanted), grossMinor)
  return settlingOf(invoice, grossMinor, cut(raised, grossMinor))
}

/** Returns the settlement of lines of a net amount. Rule: of each tax round((N + n) × rate) less what was settled of it before, within the bounds. */
export function settleLines(invoice: SettlingInvoice, netMinor: bigint): Settling {
  const linesMinor = netSettled(invoice) + netMinor
  return settleNet(
    invoice,
    netMinor,
    invoice.taxes.map(({ rate, settledMinor }) => rateOf(linesMinor, rate) - settledMinor),
  )
}

/** Returns the settlement of lines that the service gives back. Rule: of each tax round(n × rate), within the bounds. */
export const settleGivenBack = (invoice: SettlingInvoice, netMinor: bigint): Settling =>
  settleNet(
    invoice,
    netMinor,
    invoice.taxes.map(({ rate }) => rateOf(netMinor, rate)),
  )

// A tax raised by lines raises the gross with it, so tax left over gross left cannot be mended by a part: lines of more net than is left take all of the
// tax, and their gross is then over what is left, which callers refuse or cut.
function settleNet(invoice: SettlingInvoice, netMinor: bigint, wanted: readonly bigint[]): Settling {
  const left = invoice.taxes.map(leftOf)
  const netLeftMinor = invoice.totalMinor - invoice.settledMinor - sum(left)
  const taxes = netMinor > netLeftMinor ? left : atMostLeft(invoice, wanted)
  return settlingOf(invoice, netMinor + sum(taxes), taxes)
}

const leftOf = ({ amountMinor, settledMinor }: SettlingTax): bigint => most(amountMinor - settledMinor, 0n)

const atMostLeft = ({ taxes }: SettlingInvoice, wanted: readonly bigint[]): bigint[] =>
  taxes.map((tax, place) => least(most(wanted[place]!, 0n), leftOf(tax)))

/** Raises taxes, the first setting's first, until the tax left in all is not more than the gross left. */
function raise({ totalMinor, settledMinor, taxes }: SettlingInvoice, taken: readonly bigint[], grossMinor: bigint) {
  const taxLeft = taxes.reduce((left, tax) => left + leftOf(tax), 0n) - sum(taken)
  let short = taxLeft - most(totalMinor - settledMinor - grossMinor, 0n)
  return taken.map((amountMinor, place) => {
    const more = least(most(short, 0n), leftOf(taxes[place]!) - amountMinor)
    short -= more
    return amountMinor + more
  })
}

/** Cuts taxes, the last first, to the gross amount. */
function cut(taken: readonly bigint[], grossMinor: bigint): bigint[] {
  let over = sum(taken) - grossMinor
  return taken
    .toReversed()
    .map((amountMinor) => {
      const less = least(most(over, 0n), amountMinor)
      over -= less
      return amountMinor - less
    })
    .toReversed()
}

const settlingOf = ({ taxes }: SettlingInvoice, grossMinor: bigint, taken: readonly bigint[]): Settling => ({
  grossMinor,
  netMinor: grossMinor - sum(taken),
  taxes: taxes.map((tax, place) => ({ ...postedTax(tax), amountMinor: taken[place]! })),
})

const postedTax = ({ name, rate, taxNumber }: PostedTax): PostedTax => ({ name, rate, taxNumber })
const sum = (some: readonly bigint[]): bigint => some.reduce((all, one) => all + one, 0n)
const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const most = (a: bigint, b: bigint): bigint => (a > b ? a : b)
