import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { shapeRelation } from '../../platform/database/bulk.ts'
import { bigints, positionsColumn } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { drawIds, type IdRange } from '../../platform/database/draw-ids.ts'
import { type Fragment, fragment, namesOf, ofQuery, sql } from '../../platform/database/sql.ts'
import { keepTemplates, type SentTemplates, type KeptOnce, type TemplateKind } from '../../platform/packed/keep.ts'
import { CHARGE_COLUMNS, type ChargeRow, TAX_COLUMNS, type TaxRow } from './issue-queries.ts'

/** Statements of lines and taxes that are kept once with a template, and of those that are written out as rows of an invoice. */

/** Row of a template, or of a line of it, whose place among the templates is counted from 1; what is an invoice's own is not read of it. */
export type OfShape<Row> = Row & { shape: number }

const {
  invoiceId: _charged,
  subscriptionId: _billed,
  recurringInvoiceId: _recurring,
  displayOrder: _order,
  ...KEPT_OF_CHARGES
} = CHARGE_COLUMNS
const { invoiceId: _taxed, ...KEPT_OF_TAXES } = TAX_COLUMNS

export const columnsOf = (columns: Readonly<Record<string, readonly [string, string]>>, of = ''): Fragment =>
  namesOf(
    Object.values(columns)
      .map(([name]) => `${of}${name}`)
      .join(', '),
  )
export const CHARGE_NAMES = columnsOf(KEPT_OF_CHARGES)
export const TAX_NAMES = columnsOf(KEPT_OF_TAXES)

/** All that a line or a tax of a template is, as one value: what the hash of the template is made of. */
const CHARGE_CONTENT = fragment`jsonb_agg(jsonb_build_array(${columnsOf(KEPT_OF_CHARGES, 'c.')}) order by c.line)`
const TAX_CONTENT = fragment`jsonb_agg(jsonb_build_array(${columnsOf(KEPT_OF_TAXES, 't.')}) order by t.line)`

/**
 * Returns a relation of templates, each with its hash and the numbers of its lines and taxes. `charges` and `taxes` have the columns of the tables, and
 * the name of what they are grouped by.
 */
export const hashedShapes = (charges: Fragment, taxes: Fragment, by: Fragment): Fragment => fragment`
  select l.${by}, l.count as charges, coalesce(x.count, 0)::smallint as taxes,
         sha256(convert_to(l.content::text || coalesce(x.content::text, ''), 'UTF8')) as hash
    from (select c.${by}, count(*)::smallint as count, ${CHARGE_CONTENT} as content from (${charges}) c group by c.${by}) l
    left join (select t.${by}, count(*)::smallint as count, ${TAX_CONTENT} as content from (${taxes}) t group by t.${by}) x on x.${by} = l.${by}`

/** Lines and taxes that invoices share, without what is an invoice's own. */
export interface SharedLines {
  charges: readonly ChargeRow[]
  taxes: readonly TaxRow[]
  /** A text of all that they are. */
  key: string
}

export interface LinesTemplate extends KeptOnce {
  /** Null until they are kept for the first time. */
  shared: SharedLines | null
}

/** Keeps lines and taxes under their hashes. Returns the identifier of each. */
export const keepSharedLines = (tx: Transaction, templates: readonly LinesTemplate[]) =>
  keepTemplates(tx, INVOICE_TEMPLATES, templates)

const INVOICE_TEMPLATES: TemplateKind<LinesTemplate> = {
  table: 'invoice_templates',
  id: 'template_id',
  columns: ['charges', 'taxes'],
  keyOf: ({ shared }) => shared!.key,
  send: sentLines,
}

function sentLines(account: AccountId, templates: readonly LinesTemplate[]): SentTemplates {
  const rowsOf = <Row>(of: (shared: SharedLines) => readonly Row[]): OfShape<Row>[] =>
    templates.flatMap(({ shared }, index) => of(shared!).map((row) => ({ ...row, shape: index + 1 })))
  const c = shapeRelation(
    rowsOf(({ charges }) => charges),
    KEPT_OF_CHARGES,
  )
  const t = shapeRelation(
    rowsOf(({ taxes }) => taxes),
    KEPT_OF_TAXES,
  )
  const placed = fragment`s.shape as template, row_number() over (partition by s.shape order by s.line)::smallint as line`
  return {
    hashed: fragment`
    charged as materialized (select ${placed}, ${c.values} from ${c.source}),
    taxed as materialized (select ${placed}, ${t.values} from ${t.source}),
    hashed as materialized (${hashedShapes(fragment`table charged`, fragment`table taxed`, fragment`template`)})`,
    contents: fragment`
    lines as (
      insert into invoice_template_charges (account_id, template_id, line, ${CHARGE_NAMES})
      select ${account}, n.id, c.line, ${columnsOf(KEPT_OF_CHARGES, 'c.')} from chosen n join charged c on c.template = n.template returning 1),
    taxes as (
      insert into invoice_template_taxes (account_id, template_id, line, ${TAX_NAMES})
      select ${account}, n.id, t.line, ${columnsOf(KEPT_OF_TAXES, 't.')} from chosen n join taxed t on t.template = n.template returning 1)`,
  }
}

/** Draws identifiers of charges and taxes. */
export async function drawKeptIds(
  tx: Transaction,
  { charges, taxes }: { charges: number; taxes: number },
): Promise<{ charges: IdRange[]; taxes: IdRange[] }> {
  const [ofCharges = [], ofTaxes = []] = await drawIds(tx, [
    { sequence: 'charge_rows_charge_id_seq', count: charges },
    { sequence: 'invoice_tax_rows_invoice_tax_id_seq', count: taxes },
  ])
  return { charges: ofCharges, taxes: ofTaxes }
}

/** Line or tax that is a row of an invoice from the first, under an identifier that was drawn for it. */
export interface OwnLine {
  id: Id
  invoiceId: InvoiceId
  subscriptionId: Id
  /** Its place among those that are sent, counted from 1. */
  place: number
}

const ownLines = (rows: readonly OwnLine[]): Fragment => fragment`
  unnest(${bigints(rows, 'id')}::bigint[], ${bigints(rows, 'invoiceId')}::bigint[], ${bigints(rows, 'subscriptionId')}::bigint[],
    ${positionsColumn(rows.map(({ place }) => place))}::integer[]) as r(id, invoice, subscription, place)`

const { invoiceId: _chargedOwn, subscriptionId: _billedOwn, ...OWN_OF_CHARGES } = CHARGE_COLUMNS

/** Writes lines of invoices as rows; those that many have alike travel once. The place of each of `lines` is its `shape`. */
export function insertOwnCharges(tx: Transaction, rows: readonly OwnLine[], lines: readonly OfShape<ChargeRow>[]) {
  const { names, values, source } = shapeRelation(lines, OWN_OF_CHARGES)
  return tx.rows(
    ofQuery(sql`
    insert into charge_rows (account_id, charge_id, invoice_id, subscription_id, ${names})
    select ${tx.account}, r.id, r.invoice, r.subscription, ${values} from ${ownLines(rows)} join ${source} on s.shape = r.place order by r.id`),
  )
}

/** Writes taxes of invoices as rows likewise. */
export function insertOwnTaxes(tx: Transaction, rows: readonly OwnLine[], taxes: readonly OfShape<TaxRow>[]) {
  const { names, values, source } = shapeRelation(taxes, KEPT_OF_TAXES)
  return tx.rows(
    ofQuery(sql`
    insert into invoice_tax_rows (account_id, invoice_tax_id, invoice_id, ${names})
    select ${tx.account}, r.id, r.invoice, ${values} from ${ownLines(rows)} join ${source} on s.shape = r.place order by r.id`),
  )
}

/**
 * Writes lines and taxes of a locked customer's invoices out as rows, without waiting, where they are kept with a template and charges among them are
 * about to change: under the same identifiers, so that nobody sees a difference. Done once more, it finds nothing.
 */
export const sendKeptAsRows = (tx: Transaction, customerId: CustomerId, chargeIds: string): void =>
  tx.send(sql`
    with kept as materialized (
      select i.invoice_id, i.subscription_id, i.template_id, i.first_charge_id, i.first_tax_id
        from invoices i join invoice_templates k on k.account_id = ${tx.account} and k.template_id = i.template_id
       where i.account_id = ${tx.account} and i.customer_id = ${customerId}
         and exists (select 1 from unnest(${chargeIds}::bigint[]) as d(id) where d.id >= i.first_charge_id and d.id < i.first_charge_id + k.charges)),
    lines as (
      insert into charge_rows (account_id, charge_id, invoice_id, subscription_id, display_order, ${CHARGE_NAMES})
      select ${tx.account}, k.first_charge_id + s.line - 1, k.invoice_id, k.subscription_id, s.line, ${columnsOf(KEPT_OF_CHARGES, 's.')}
        from kept k join invoice_template_charges s on s.account_id = ${tx.account} and s.template_id = k.template_id returning 1),
    taxes as (
      insert into invoice_tax_rows (account_id, invoice_tax_id, invoice_id, ${TAX_NAMES})
      select ${tx.account}, k.first_tax_id + s.line - 1, k.invoice_id, ${columnsOf(KEPT_OF_TAXES, 's.')}
        from kept k join invoice_template_taxes s on s.account_id = ${tx.account} and s.template_id = k.template_id returning 1)
    update invoices i set template_id = null, first_charge_id = null, first_tax_id = null
      from kept k where i.account_id = ${tx.account} and i.invoice_id = k.invoice_id`)
