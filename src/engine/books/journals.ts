import type { Decimal } from '../../kernel/decimal.ts'
import type { BookAccount } from './codes.ts'

/**
 * Journals of an accountant: the moves of one document on one day, netted. Sides with one code cancel out, revenue is shared among the codes of
 * its lines, and each tax stands with the revenue that it belongs to, because some programs take gross rows.
 */

/** Move of an amount over 0 from a credit to a debit account. */
export interface Move {
  debit: BookAccount
  credit: BookAccount
  amountMinor: bigint
  /** Of a move with a tax on one side; both null of any other. */
  taxName: string | null
  taxRate: Decimal | null
}

/** Line of what revenue is of, in a code of the chart. */
export interface RevenueLine {
  code: string
  netMinor: bigint
}

/** First tax of some revenue, which decides how programs that take gross rows compute it. */
export interface FirstTax {
  /** Key of DATEV of its rule. */
  key: string | null
  rate: Decimal
  /** Country and VAT number of a customer in another state of the EU, where the tax is of there. */
  euVatNumber: string | null
  isOfOtherState: boolean
}

/** Lines and taxes that some revenue is of. */
export interface RevenueSource {
  /** At least one. */
  lines: readonly RevenueLine[]
  /** Returns the code of a tax. */
  taxCodeOf(name: string, rate: Decimal): string
  /** The first tax that it has; null of what no rule taxed. */
  first: FirstTax | null
}

/** Codes of the accounts that moves are on. */
export interface JournalCodes<Moved extends Move> {
  /** Of any account but revenue and tax. */
  codeOf(account: BookAccount, move: Moved): string
  /** Returns what the revenue of a move is of: one object for all moves that are of the same. */
  sourceOf(move: Moved): RevenueSource
}

/** Amount of an account; debits are positive. */
export interface Leg {
  account: BookAccount
  code: string
  taxName: string | null
  amountMinor: bigint
}

/** Revenue on one code with the taxes on it; debits are positive. */
export interface RevenuePart {
  code: string
  netMinor: bigint
  taxes: readonly Leg[]
  first: RevenueSource['first']
}

export interface Journal {
  /** Accounts other than revenue and its taxes; none of 0. */
  legs: readonly Leg[]
  revenue: readonly RevenuePart[]
}

/** Revenue of one source while moves are added up. */
interface Revenue {
  netMinor: bigint
  taxes: Leg[]
}

const absolute = (amount: bigint): bigint => (amount < 0n ? -amount : amount)

/** Shares an amount in proportion to weights, by largest remainder; where the weights come to nothing the first takes all. */
export function shareOut(amountMinor: bigint, weights: readonly bigint[]): bigint[] {
  const whole = weights.reduce((sum, weight) => sum + weight, 0n)
  if (whole === 0n || weights.length === 1) return weights.map((_, place) => (place === 0 ? amountMinor : 0n))
  let missing = amountMinor
  const shares = weights.map((weight) => {
    const share = (amountMinor * weight) / whole
    missing -= share
    return share
  })
  const unit = missing < 0n ? -1n : 1n
  const remainderOf = (place: number): bigint => absolute((amountMinor * (weights[place] as bigint)) % whole)
  const order = weights.map((_, place) => place).toSorted((a, b) => Number(remainderOf(b) - remainderOf(a)) || a - b)
  for (let place = 0; missing !== 0n; place += 1, missing -= unit)
    shares[order[place % order.length] as number]! += unit
  return shares
}

/** Adds an amount to the leg of a code and tax; there are few of them. */
function addLeg(legs: Leg[], account: BookAccount, code: string, taxName: string | null, amountMinor: bigint): void {
  for (const leg of legs)
    if (leg.code === code && leg.taxName === taxName) {
      leg.amountMinor += amountMinor
      return
    }
  legs.push({ account, code, taxName, amountMinor })
}

const isMoved = ({ amountMinor }: Leg): boolean => amountMinor !== 0n

class Sum<Moved extends Move> {
  readonly legs: Leg[] = []
  readonly revenues = new Map<RevenueSource, Revenue>()
  readonly #codes: JournalCodes<Moved>

  constructor(codes: JournalCodes<Moved>) {
    this.#codes = codes
  }

  add(account: BookAccount, amountMinor: bigint, move: Moved): void {
    const { taxName, taxRate, debit, credit } = move
    if (account === 'revenue') this.#revenueOf(this.#codes.sourceOf(move)).netMinor += amountMinor
    else if (account === 'tax' && taxName !== null && taxRate !== null) {
      const source = this.#codes.sourceOf(move)
      // What is relieved of bad debt is no matter of revenue.
      const legs = debit === 'bad_debt' || credit === 'bad_debt' ? this.legs : this.#revenueOf(source).taxes
      addLeg(legs, account, source.taxCodeOf(taxName, taxRate), taxName, amountMinor)
    } else addLeg(this.legs, account, this.#codes.codeOf(account, move), null, amountMinor)
  }

  #revenueOf(source: RevenueSource): Revenue {
    let known = this.revenues.get(source)
    if (!known) this.revenues.set(source, (known = { netMinor: 0n, taxes: [] }))
    return known
  }
}

/** Shares the revenue of a source, and each of its taxes, among the codes of its lines. */
function partsOf({ lines, first }: RevenueSource, { netMinor, taxes }: Revenue): RevenuePart[] {
  const charged = taxes.filter(isMoved)
  if (netMinor === 0n && charged.length === 0) return []
  const [only] = lines
  if (only && lines.length === 1) return [{ code: only.code, netMinor, taxes: charged, first }]
  const weights = lines.map((line) => line.netMinor)
  const nets = shareOut(netMinor, weights)
  const shares = charged.map(({ amountMinor }) => shareOut(amountMinor, weights))
  return lines
    .map(({ code }, place) => ({
      code,
      netMinor: nets[place] as bigint,
      taxes: charged
        .map((tax, number) => ({ ...tax, amountMinor: shares[number]?.[place] as bigint }))
        .filter(({ amountMinor }) => amountMinor !== 0n),
      first,
    }))
    .filter((part) => part.netMinor !== 0n || part.taxes.length > 0)
}

/** Composes the journal of the moves of one document on one day. */
export function composeJournal<Moved extends Move>(moves: readonly Moved[], codes: JournalCodes<Moved>): Journal {
  const sum = new Sum(codes)
  for (const move of moves) {
    sum.add(move.debit, move.amountMinor, move)
    sum.add(move.credit, -move.amountMinor, move)
  }
  const revenue: RevenuePart[] = []
  for (const [source, moved] of sum.revenues) revenue.push(...partsOf(source, moved))
  return { legs: sum.legs.filter(isMoved), revenue }
}

/** Returns the rows of a journal, net of taxes, of which each has one code: they come to 0 together. */
export function netRowsOf({ legs, revenue }: Journal): readonly Leg[] {
  if (revenue.length === 0) return legs
  const rows: Leg[] = legs.map((leg) => ({ ...leg }))
  for (const { code, netMinor, taxes } of revenue) {
    addLeg(rows, 'revenue', code, null, netMinor)
    for (const tax of taxes) addLeg(rows, tax.account, tax.code, tax.taxName, tax.amountMinor)
  }
  return rows.filter(isMoved)
}
