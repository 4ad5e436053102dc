import { assert } from '../../kernel/assert.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import { keyOf } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { IdRange } from '../../platform/database/draw-ids.ts'
import type { LineIdentifiers } from '../ledger/post-in-bulk.ts'
import { chargeRow, type NewInvoice, taxRow } from './issue.ts'
import { CHARGE_COLUMNS, type ChargeRow, TAX_COLUMNS, type TaxRow } from './issue-queries.ts'
import {
  drawKeptIds,
  insertOwnCharges,
  insertOwnTaxes,
  keepSharedLines,
  type LinesTemplate,
  type OfShape,
  type OwnLine,
  type SharedLines,
} from './template-line-queries.ts'

/**
 * Lines and taxes that invoices share are kept once, with a template that never changes, and each invoice refers to it (decision 34). What is about to change of
 * an invoice is written out as rows before.
 */

/** Template of an invoice, and the identifiers of its first line and tax; null where its lines and taxes are rows of its own. */
export interface TemplatedInvoice {
  shapeId: Id | null
  firstChargeId: Id | null
  firstTaxId: Id | null
}

/** Lines and taxes of a template, as they are sent, and the identifier under which they are kept. */
export interface TemplateLines extends LinesTemplate {
  invoice: NewInvoice
  /** So many invoices of a chunk have to share them before they are kept. */
  least: number
  /** Numbers of its lines and taxes. */
  charges: number
  taxes: number
}

/** Returns the lines and taxes of a template, not kept yet. */
export const templateLinesOf = (invoice: NewInvoice): TemplateLines => ({
  invoice,
  least: leastOf(invoice),
  shared: null,
  charges: invoice.lines.length,
  taxes: invoice.amounts.taxes.length,
  id: null,
})

/** Invoices of which the lines are to be kept, in their order. */
interface ToKeep {
  shapes: readonly TemplateLines[]
  /** Of each invoice the place of its template, counted from 0. */
  shapeOf: readonly number[]
  invoiceIds: readonly InvoiceId[]
  subscriptionIds: readonly Id[]
}

/**
 * Keeps lines and taxes of invoices with their templates. Returns in the given order what each invoice refers to, and which identifiers its lines and taxes have
 * been given.
 */
export async function keepTemplateLines(
  tx: Transaction,
  toKeep: ToKeep,
): Promise<{ kept: TemplatedInvoice[]; lines: LineIdentifiers }> {
  const { shapes, shapeOf, invoiceIds, subscriptionIds } = toKeep
  const shapeIds = await keepShapes(tx, shapes, shapeOf)
  const own = new OwnLines(shapes)
  const counts = { charges: shapes.map(({ charges }) => charges), taxes: shapes.map(({ taxes }) => taxes) }
  const total = (of: readonly number[]) => shapeOf.reduce((sum, shape) => sum + (of[shape] as number), 0)
  const drawn = await drawKeptIds(tx, { charges: total(counts.charges), taxes: total(counts.taxes) })
  const [charges, taxes] = [new Identifiers(drawn.charges), new Identifiers(drawn.taxes)]
  const lines: LineIdentifiers = { counts, firstChargeIds: [], firstTaxIds: [] }
  const kept = shapeOf.map((shape, index): TemplatedInvoice => {
    const ofCharges = charges.take(counts.charges[shape] as number)
    const ofTaxes = taxes.take(counts.taxes[shape] as number)
    lines.firstChargeIds.push(firstOf(ofCharges))
    lines.firstTaxIds.push(firstOf(ofTaxes))
    const shapeId = shapeIds[shape] as Id | null
    if (shapeId !== null && !Array.isArray(ofCharges) && !Array.isArray(ofTaxes))
      return { shapeId, firstChargeId: ofCharges, firstTaxId: ofTaxes }
    // Nobody shares its lines, or another writer drew an identifier between two of them.
    const whose = { invoiceId: invoiceIds[index] as InvoiceId, subscriptionId: subscriptionIds[index] as Id }
    own.add(
      shape,
      whose,
      idsOf(ofCharges, counts.charges[shape] as number),
      idsOf(ofTaxes, counts.taxes[shape] as number),
    )
    return NOT_KEPT
  })
  await own.insert(tx)
  return { kept, lines }
}

const firstOf = (ids: Id | readonly Id[] | null): Id | null =>
  Array.isArray(ids) ? (ids[0] as Id) : (ids as Id | null)

/** Kinds of lines of packages, which always are kept with a template: a run remembers it, and chunks and days share it. */
const OF_PACKAGES: readonly string[] = ['setup', 'trial', 'package', 'package_extension']

/** Kinds of lines of components, which are kept where enough invoices of a chunk share them: each may have seats and usage of its own. */
const OF_COMPONENTS: readonly string[] = ['component', 'component_extension', 'rise', 'metered']

/**
 * Least number of invoices of a chunk that a template with lines of components is kept for. Measured: keeping one takes about the processor that
 * the rows of two invoices take, and each verification hashes every template again.
 */
export const LEAST_OF_COMPONENTS = 4

/** Returns how many invoices of a chunk have to share the lines of one before these are kept; no number is enough where others than the rules wrote them. */
function leastOf({ lines }: NewInvoice): number {
  const areAll = (kinds: readonly string[]) => lines.every((line) => 'kind' in line && kinds.includes(line.kind))
  if (areAll(OF_PACKAGES)) return 1
  return areAll([...OF_PACKAGES, ...OF_COMPONENTS]) ? LEAST_OF_COMPONENTS : Infinity
}

/** Lines and taxes of invoices that no template keeps: each travels once for all invoices that have it alike. */
class OwnLines {
  readonly #shapes: readonly TemplateLines[]
  readonly #charges: OwnLine[] = []
  readonly #taxes: OwnLine[] = []
  readonly #sent: { charges: OfShape<ChargeRow>[]; taxes: OfShape<TaxRow>[] } = { charges: [], taxes: [] }
  /** Places at which the lines and taxes of a template begin among those that are sent, counted from 0. */
  readonly #begin = new Map<number, { charges: number; taxes: number }>()

  constructor(shapes: readonly TemplateLines[]) {
    this.#shapes = shapes
  }

  /** Adds an invoice of a template under the identifiers of its lines and taxes. */
  add(
    shape: number,
    whose: { invoiceId: InvoiceId; subscriptionId: Id },
    chargeIds: readonly Id[],
    taxIds: readonly Id[],
  ): void {
    const begin = this.#begin.get(shape) ?? this.#send(shape)
    this.#charges.push(...chargeIds.map((id, line) => ({ ...whose, id, place: begin.charges + line + 1 })))
    this.#taxes.push(...taxIds.map((id, line) => ({ ...whose, id, place: begin.taxes + line + 1 })))
  }

  #send(shape: number): { charges: number; taxes: number } {
    const { invoice } = this.#shapes[shape] as TemplateLines
    const { charges, taxes } = this.#sent
    const begin = { charges: charges.length, taxes: taxes.length }
    for (const line of invoice.lines.keys()) charges.push({ ...chargeRow(invoice, line), shape: charges.length + 1 })
    for (const tax of invoice.amounts.taxes) taxes.push({ ...taxRow(tax, NOBODYS), shape: taxes.length + 1 })
    this.#begin.set(shape, begin)
    return begin
  }

  async insert(tx: Transaction): Promise<void> {
    if (this.#charges.length > 0) await insertOwnCharges(tx, this.#charges, this.#sent.charges)
    if (this.#taxes.length > 0) await insertOwnTaxes(tx, this.#taxes, this.#sent.taxes)
  }
}

const NOT_KEPT: TemplatedInvoice = { shapeId: null, firstChargeId: null, firstTaxId: null }

const idsOf = (ids: Id | readonly Id[] | null, count: number): readonly Id[] =>
  typeof ids === 'bigint' ? Array.from({ length: count }, (_, line) => ids + BigInt(line)) : (ids ?? [])

/** Identifiers in rising order, as they were drawn: mostly all in one range. */
class Identifiers {
  readonly #runs: readonly IdRange[]
  #run = 0
  #taken = 0

  constructor(runs: readonly IdRange[]) {
    this.#runs = runs
  }

  /** Takes the next ones: returns the first where they follow each other, all of them where another writer drew one in between, null for none. */
  take(count: number): Id | Id[] | null {
    if (count === 0) return null
    const run = this.#runs[this.#run]
    if (run && run.count - this.#taken >= count) {
      const first = run.first + BigInt(this.#taken)
      this.#taken += count
      return first
    }
    return Array.from({ length: count }, () => this.#next())
  }

  #next(): Id {
    while (this.#taken === this.#runs[this.#run]?.count) {
      this.#run += 1
      this.#taken = 0
    }
    const run = this.#runs[this.#run]
    assert(run, 'as many identifiers were drawn as are taken')
    return run.first + BigInt(this.#taken++)
  }
}

/**
 * Returns the identifiers of templates, in their order, null of those that too few invoices have; those that are not kept yet are. `shapeOf` has the place of its
 * template for each invoice.
 */
async function keepShapes(
  tx: Transaction,
  all: readonly TemplateLines[],
  shapeOf: readonly number[],
): Promise<(Id | null)[]> {
  const times = all.map(() => 0)
  for (const shape of shapeOf) times[shape] = (times[shape] as number) + 1
  const unknown = all.filter(({ least, id }, shape) => id === null && (times[shape] as number) >= least)
  for (const lines of unknown) lines.shared ??= sharedOf(lines.invoice)
  const found = await keepSharedLines(tx, unknown)
  return all.map((lines) => found.get(lines) ?? lines.id)
}

const OF_CHARGES = Object.keys(CHARGE_COLUMNS) as (keyof ChargeRow)[]
const OF_TAXES = Object.keys(TAX_COLUMNS) as (keyof TaxRow)[]

/** Returns the lines and taxes of a template without what is its invoice's own, and a text of all that they are. */
function sharedOf(invoice: NewInvoice): SharedLines {
  const charges = invoice.lines.map((_line, line) => sharedCharge(chargeRow(invoice, line)))
  const taxes = invoice.amounts.taxes.map((tax) => taxRow(tax, NOBODYS))
  const keys = [...charges.map((row) => keyOf(row, OF_CHARGES)), ...taxes.map((row) => keyOf(row, OF_TAXES))]
  return { charges, taxes, key: keys.join('') }
}

const NOBODYS: InvoiceId = 0n

/** Returns a line without what is its invoice's own. */
const sharedCharge = (row: ChargeRow): ChargeRow => ({
  ...row,
  invoiceId: NOBODYS,
  subscriptionId: null,
})
