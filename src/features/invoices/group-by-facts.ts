import { randomBytes } from 'node:crypto'
import { recomputeCharge } from '../../engine/explain.ts'
import { isPackageKind } from '../../engine/subscription/coverage.ts'
import { amountText, digitsOf } from '../../kernel/currencies.ts'
import { multiply } from '../../kernel/decimal.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import { roundToMinor } from '../../kernel/money.ts'
import type { Report } from '../../platform/checks/difference.ts'
import type { Span } from '../../platform/checks/pages-queries.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type AlikeInvoices, type CheckedInvoice, listAlikeInvoices, listMisshapen } from './group-by-facts-queries.ts'
import type { Charge } from './queries.ts'
import { factsOf } from './wire.ts'

/**
 * Invoices that are alike are looked at once: what can be wrong with lines, taxes and total follows from what they have in common. Where the one that is looked at
 * is not as it should be, all of its span are looked at, so that each is reported.
 */

/** So many kinds of invoices, and so many shapes, are remembered; a verification goes through invoices in their order, which are like the newest. */
const REMEMBERED_MAX = 100_000

/** How the invoices of a span are looked at one by one. */
export interface OneByOne {
  some(ids: readonly InvoiceId[], report: Report): Promise<void>
  all(span: Span, report: Report): Promise<void>
}

/** Reads spans of invoices as groups that are alike, and looks at one of each that is not known to be as it should be. */
export class AlikeInvoicesReader {
  readonly #seed = randomBytes(8).readBigInt64BE()
  readonly #known = new Set<string>()

  /** Looks at the invoices of a span; returns how many there are. `probe` looks as if nothing had been looked at before. */
  async look(
    tx: Transaction,
    span: Span,
    probe: OneByOne['some'],
    oneByOne: OneByOne,
    report: Report,
  ): Promise<number> {
    if (this.#known.size >= REMEMBERED_MAX) this.#known.clear()
    const groups = await listAlikeInvoices(tx, tx.account, span, this.#seed)
    const unknown = groups.filter((group) => group.oddIds === null && !this.#known.has(keyOf(group)))
    let isAsItShouldBe = true
    await probe(
      unknown.map(({ firstId }) => firstId),
      () => (isAsItShouldBe = false),
    )
    if (isAsItShouldBe) {
      for (const group of unknown) this.#known.add(keyOf(group))
      await oneByOne.some(groups.flatMap(oddOf), report)
    } else await oneByOne.all(span, report)
    return groups.reduce((sum, { count }) => sum + count, 0)
  }
}

const oddOf = ({ oddIds }: AlikeInvoices): InvoiceId[] => oddIds?.split(',').map(BigInt) ?? []

const keyOf = ({ shapeId, content, currency, totalMinor }: AlikeInvoices): string =>
  `${shapeId} ${content} ${currency} ${totalMinor}`

/** Reports invoices that refer to a shape that is missing, or have rows beside it. */
export async function checkReferences(tx: Transaction, page: readonly CheckedInvoice[], report: Report): Promise<void> {
  const ids = page.flatMap(({ id, shapeId }) => (shapeId === null ? [] : [id]))
  if (ids.length === 0) return
  for (const { id, customerId, shapeId, isMissing, hasRows } of await listMisshapen(tx, tx.account, ids)) {
    const about = { customerId, recordType: 'invoice', recordId: id } as const
    if (isMissing)
      report({
        ...about,
        what: 'shape',
        stored: String(shapeId),
        expected: 'one that is there, with taxes if it has any',
      })
    if (hasRows)
      report({
        ...about,
        what: 'lines',
        stored: 'rows of their own beside those of its shape',
        expected: 'one or the other',
      })
  }
}

/** Shapes whose lines have been computed again, with the total that they come to: they are the same for each invoice that has them. */
export class ComputedShapes {
  readonly #totals = new Map<string, bigint>()
  readonly #most: number

  constructor(most = REMEMBERED_MAX) {
    this.#most = most
  }

  /** Returns the total of an invoice's shape, in minor units; undefined where its lines are still to be looked at. */
  totalOf(invoice: Pick<CheckedInvoice, 'shapeId' | 'currency'>): bigint | undefined {
    return invoice.shapeId === null ? undefined : this.#totals.get(shapeKey(invoice.shapeId, invoice.currency))
  }

  /** Keeps the total of an invoice's shape. */
  keep({ shapeId, currency }: Pick<CheckedInvoice, 'shapeId' | 'currency'>, totalMinor: bigint): void {
    if (shapeId === null) return
    this.#totals.set(shapeKey(shapeId, currency), totalMinor)
  }

  /** Returns those of some invoices whose lines are to be read: with shapes, one of each that is not known. */
  toRead<Invoice extends CheckedInvoice>(invoices: readonly Invoice[]): Invoice[] {
    // Not while a page is looked at, which counts on what was known when it began.
    if (this.#totals.size >= this.#most) this.#totals.clear()
    const seen = new Set<string>()
    return invoices.filter((invoice) => {
      if (invoice.shapeId === null) return true
      const key = shapeKey(invoice.shapeId, invoice.currency)
      if (seen.has(key) || this.#totals.has(key)) return false
      seen.add(key)
      return true
    })
  }
}

const shapeKey = (shapeId: Id, currency: string): string => `${shapeId} ${currency}`

export interface ChargeContext {
  customerId: Id
  currency: string
  report: Report
}

/** Checks the amount from the facts, and the price of the line times its quantity: both must be what is stored. */
export function checkCharge(charge: Charge, { customerId, currency, report }: ChargeContext): void {
  const { id, netMinor, from, until } = charge
  const about = { customerId, recordType: 'charge', recordId: id } as const
  if (from !== null && until !== null && from >= until) {
    report({ ...about, what: 'days', stored: `${from} until ${until}`, expected: 'at least one day' })
    return
  }
  const should = recomputeCharge(factsOf(charge, currency))
  const line = roundToMinor(multiply(charge.unitPrice, charge.quantity), digitsOf(currency))
  const amount = (what: string, storedMinor: bigint, expectedMinor: bigint) =>
    report({ ...about, what, stored: amountText(storedMinor, currency), expected: amountText(expectedMinor, currency) })
  if (should !== netMinor) amount('amount', netMinor, should)
  else if (line !== netMinor) amount('unit price × quantity', line, netMinor)
  if (isPackageKind(charge.kind) && charge.brackets !== null)
    report({ ...about, what: 'brackets', stored: 'some', expected: 'none, for a package has a price' })
}
