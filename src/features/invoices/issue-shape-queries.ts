import type { Instant } from '../../kernel/calendar.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import { firstRow, type Transaction } from '../../platform/database/database.ts'
import { shapeRelation } from '../../platform/database/bulk.ts'
import type { ArrayParameter } from '../../platform/database/columns.ts'
import { fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { StampedRecords } from '../../platform/database/stamped.ts'
import {
  CHARGE_COLUMNS,
  type ChargeRow,
  INVOICE_COLUMNS,
  type InvoiceRow,
  TAX_COLUMNS,
  type TaxRow,
} from './issue-queries.ts'

/** The writing side of issuing by shapes: what invoices of a shape share travels once, and each takes it by the position of its shape. */

/** Invoices as columns: identifiers as bigint[], positions as integer[]. */
export interface StampedInvoices extends StampedRecords {
  subscriptionIds: ArrayParameter
  /** Details of collection of each; null where no invoice of them is collected. */
  collected: { gatewayIds: ArrayParameter; methodIds: ArrayParameter; nextTryDates: ArrayParameter } | null
}

/** Row of a shape, or of a line of it; what is an invoice's own is not read of it. */
export type OfShape<Row> = Row & { shape: number }

const { id: _id, customerId: _customer, subscriptionId: _subscription, ...OF_INVOICES } = INVOICE_COLUMNS
const { gatewayId: _gateway, paymentMethodId: _method, nextTryDate: _next, ...SHARED_BY_INVOICES } = OF_INVOICES
const { invoiceId: _charged, subscriptionId: _billed, ...SHARED_BY_CHARGES } = CHARGE_COLUMNS
const { invoiceId: _taxed, ...SHARED_BY_TAXES } = TAX_COLUMNS

/** Draws identifiers ahead, in rising order. */
export async function drawManyInvoiceIds(tx: Transaction, count: number): Promise<InvoiceId[]> {
  const { ids } = (await firstRow<{ ids: string }>(
    tx,
    sql`select string_agg(id::text, ',' order by id) as "ids"
          from (select nextval('invoices_invoice_id_seq') as id from generate_series(1, ${count})) as drawn`,
  )) as { ids: string }
  return ids.split(',').map(BigInt)
}

export function insertShapeCharges(
  tx: Transaction,
  { ids, subscriptionIds, positions }: StampedInvoices,
  lines: readonly OfShape<ChargeRow>[],
) {
  const { names, values, source } = shapeRelation(lines, SHARED_BY_CHARGES)
  return tx.rows(sql`
    insert into charges (account_id, invoice_id, subscription_id, ${names})
    select ${tx.account}, r.id, r.subscription, ${values}
      from unnest(${ids}::bigint[], ${subscriptionIds}::bigint[], ${positions}::integer[]) with ordinality as r(id, subscription, shape, place)
      join ${source} on s.shape = r.shape
     order by r.place, s.line`)
}

/** Writes charges that stand on no invoice: they belong to the subscription alone. */
export async function insertShapeZeroCharges(
  tx: Transaction,
  { subscriptionIds, positions }: StampedInvoices,
  charges: readonly OfShape<ChargeRow>[],
): Promise<void> {
  if (charges.length === 0) return
  const { names, values, source } = shapeRelation(charges, SHARED_BY_CHARGES)
  await tx.rows(sql`
    insert into charges (account_id, subscription_id, ${names})
    select ${tx.account}, r.subscription, ${values}
      from unnest(${subscriptionIds}::bigint[], ${positions}::integer[]) with ordinality as r(subscription, shape, place)
      join ${source} on s.shape = r.shape
     order by r.place, s.line`)
}

export function insertShapeTaxes(
  tx: Transaction,
  { ids, positions }: StampedInvoices,
  taxes: readonly OfShape<TaxRow>[],
) {
  const { names, values, source } = shapeRelation(taxes, SHARED_BY_TAXES)
  return tx.rows(sql`
    insert into invoice_taxes (account_id, invoice_id, ${names})
    select ${tx.account}, r.id, ${values}
      from unnest(${ids}::bigint[], ${positions}::integer[]) with ordinality as r(id, shape, place) join ${source} on s.shape = r.shape
     order by r.place, s.line`)
}

/** Writes invoices with consecutive numbers in the order of the records. */
export function insertShapeInvoices(
  tx: Transaction,
  { ids, customerIds, subscriptionIds, positions, collected }: StampedInvoices,
  shapes: readonly OfShape<InvoiceRow>[],
  { firstNumber, at, accountVersion }: { firstNumber: bigint; at: Instant; accountVersion: number },
) {
  const { names, values, source } = shapeRelation(shapes, SHARED_BY_INVOICES)
  const own =
    collected == null
      ? { names: NOTHING, values: NOTHING, arrays: NOTHING, alias: NOTHING }
      : {
          names: fragment`, gateway_id, payment_method_id, next_try_date`,
          values: fragment`, r.gateway, r.method, r.next_try`,
          arrays: fragment`, ${collected.gatewayIds}::bigint[], ${collected.methodIds}::bigint[], ${collected.nextTryDates}::date[]`,
          alias: fragment`, gateway, method, next_try`,
        }
  return tx.rows(sql`
    insert into invoices (account_id, invoice_id, customer_id, subscription_id, number, last_updated, issued_at, account_version, ${names} ${own.names})
    select ${tx.account}, r.id, r.customer, r.subscription, ${firstNumber}::bigint + r.place - 1, ${at}::timestamptz, ${at}::timestamptz,
           ${accountVersion}::integer, ${values} ${own.values}
      from unnest(${ids}::bigint[], ${customerIds}::bigint[], ${subscriptionIds}::bigint[], ${positions}::integer[] ${own.arrays}) with ordinality
        as r(id, customer, subscription, shape ${own.alias}, place) join ${source} on s.shape = r.shape
     order by r.place`)
}
