import { randomBytes } from 'node:crypto'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type AlikeInvoices, listAlikeInvoices } from './group-by-facts-queries.ts'
import type { Report } from './difference.ts'
import type { Span } from './pages-queries.ts'

/**
 * Invoices that are alike are looked at once: what can be wrong with lines, taxes and total follows from what they have in common. Where the one that is looked at
 * is not as it should be, all of its span are looked at, so that each is reported.
 */

/** So many kinds of invoices are remembered; a verification goes through invoices in their order, which are like the newest. */
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
