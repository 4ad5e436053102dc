import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Check, Report } from './difference.ts'
import type { CheckedInvoice } from './invoices-queries.ts'
import { eachPage } from './pages.ts'
import {
  listChargeIdsTwice,
  listComputedShapes,
  listMisshapen,
  listShapePage,
  listTaxIdsTwice,
} from './shapes-queries.ts'

/** Shapes of invoices are what they were when they were kept, and each invoice that refers to one has it whole and alone. */

export const shapes: Check = {
  name: 'shapes of invoices',
  run: (tx, report, reading) =>
    eachPage(
      reading,
      (after, limit) => listShapePage(tx, tx.account, after, limit),
      async (page) => {
        const computed = await listComputedShapes(
          tx,
          tx.account,
          page.map(({ id }) => id),
        )
        const byId = new Map(computed.map((shape) => [shape.id, shape]))
        for (const { id, hash, charges, taxes } of page) {
          const should = byId.get(id)
          const about = { customerId: null, recordType: 'shape', recordId: id } as const
          if (should?.charges !== charges || should.taxes !== taxes)
            report({
              ...about,
              what: 'lines and taxes',
              stored: `${charges} and ${taxes}`,
              expected: `${should?.charges ?? 0} and ${should?.taxes ?? 0}, which are there`,
            })
          else if (should.hash !== hash)
            report({ ...about, what: 'hash', stored: hash, expected: `${should.hash}, which its lines and taxes make` })
        }
      },
    ),
}

/** No identifier of a line or a tax is given twice: those of an invoice with a shape are a stretch of its own. */
export const lineIdentifiers: Check = {
  name: 'identifiers of lines',
  isAtOnce: true,
  async run(tx, report, reading) {
    let found = 0
    for (const [what, list] of [
      ['charge', listChargeIdsTwice],
      ['tax', listTaxIdsTwice],
    ] as const) {
      reading.goOn()
      const twice = await list(tx, tx.account)
      found += twice.length
      for (const { invoiceId, last, next } of twice)
        report({
          customerId: null,
          recordType: 'invoice',
          recordId: invoiceId ?? 0n,
          what: `identifier of its last ${what}`,
          stored: String(last),
          expected: `less than ${next}, which is another ${what}`,
        })
    }
    return found
  },
}

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

/** So many shapes are remembered; a verification goes through invoices in their order, which shares the newest. */
const REMEMBERED_MAX = 100_000

/** Shapes whose lines have been computed again, with the total that they come to: they are the same for each invoice that has them. */
export class ComputedShapes {
  readonly #totals = new Map<string, bigint>()
  readonly #most: number

  constructor(most = REMEMBERED_MAX) {
    this.#most = most
  }

  /** Returns the total of an invoice's shape, in minor units; undefined where its lines are still to be looked at. */
  totalOf(invoice: Pick<CheckedInvoice, 'shapeId' | 'currency'>): bigint | undefined {
    return invoice.shapeId === null ? undefined : this.#totals.get(keyOf(invoice.shapeId, invoice.currency))
  }

  /** Keeps the total of an invoice's shape. */
  keep({ shapeId, currency }: Pick<CheckedInvoice, 'shapeId' | 'currency'>, totalMinor: bigint): void {
    if (shapeId === null) return
    this.#totals.set(keyOf(shapeId, currency), totalMinor)
  }

  /** Returns those of some invoices whose lines are to be read: with shapes, one of each that is not known. */
  toRead<Invoice extends CheckedInvoice>(invoices: readonly Invoice[]): Invoice[] {
    // Not while a page is looked at, which counts on what was known when it began.
    if (this.#totals.size >= this.#most) this.#totals.clear()
    const seen = new Set<string>()
    return invoices.filter((invoice) => {
      if (invoice.shapeId === null) return true
      const key = keyOf(invoice.shapeId, invoice.currency)
      if (seen.has(key) || this.#totals.has(key)) return false
      seen.add(key)
      return true
    })
  }
}

const keyOf = (shapeId: Id, currency: string): string => `${shapeId} ${currency}`
