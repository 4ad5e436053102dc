import type { Instant } from '../../kernel/calendar.ts'
import type { InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { drawIds, idsOfStretches } from '../../platform/database/drawn.ts'
import { shapeRelation } from '../../platform/database/bulk.ts'
import type { ArrayParameter } from '../../platform/database/columns.ts'
import { fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { StampedRecords } from '../../platform/database/stamped.ts'
import { CHARGE_COLUMNS, type ChargeRow, INVOICE_COLUMNS, type InvoiceRow } from './issue-queries.ts'
import type { OfShape } from './kept-line-queries.ts'

/** The writing side of issuing by shapes: what invoices of a shape share travels once, and each takes it by the position of its shape. */

/** Invoices as columns: identifiers as bigint[], positions as integer[]. */
export interface StampedInvoices extends StampedRecords {
  subscriptionIds: ArrayParameter
  /** Shapes that keep the lines and taxes of each, with its first identifiers; null where these are rows. */
  kept: { shapeIds: ArrayParameter; firstChargeIds: ArrayParameter; firstTaxIds: ArrayParameter }
  /** Details of collection of each; null where no invoice of them is collected. */
  collected: { gatewayIds: ArrayParameter; methodIds: ArrayParameter; nextTryDates: ArrayParameter } | null
}

const { id: _id, customerId: _customer, subscriptionId: _subscription, ...OF_INVOICES } = INVOICE_COLUMNS
const { gatewayId: _gateway, paymentMethodId: _method, nextTryDate: _next, ...SHARED_BY_INVOICES } = OF_INVOICES

const { invoiceId: _charged, subscriptionId: _billed, ...SHARED_BY_CHARGES } = CHARGE_COLUMNS

/** Draws identifiers ahead, in rising order. */
export async function drawManyInvoiceIds(tx: Transaction, count: number): Promise<InvoiceId[]> {
  const [drawn = []] = await drawIds(tx, [{ sequence: 'invoices_invoice_id_seq', count }])
  return idsOfStretches(drawn)
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
    insert into charge_rows (account_id, subscription_id, ${names})
    select ${tx.account}, r.subscription, ${values}
      from unnest(${subscriptionIds}::bigint[], ${positions}::integer[]) with ordinality as r(subscription, shape, place)
      join ${source} on s.shape = r.shape
     order by r.place, s.line`)
}

/** Writes invoices with consecutive numbers in the order of the records. Nothing depends on where their rows lie, so they are not sorted. */
export function insertShapeInvoices(
  tx: Transaction,
  { ids, customerIds, subscriptionIds, positions, kept, collected }: StampedInvoices,
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
    insert into invoices (account_id, invoice_id, customer_id, subscription_id, number, last_updated, issued_at, account_version, shape_id,
      first_charge_id, first_tax_id, ${names} ${own.names})
    select ${tx.account}, r.id, r.customer, r.subscription, ${firstNumber}::bigint + r.place - 1, ${at}::timestamptz, ${at}::timestamptz,
           ${accountVersion}::integer, r.kept, r.first_charge, r.first_tax, ${values} ${own.values}
      from unnest(${ids}::bigint[], ${customerIds}::bigint[], ${subscriptionIds}::bigint[], ${positions}::integer[], ${kept.shapeIds}::bigint[],
        ${kept.firstChargeIds}::bigint[], ${kept.firstTaxIds}::bigint[] ${own.arrays}) with ordinality
        as r(id, customer, subscription, shape, kept, first_charge, first_tax ${own.alias}, place) join ${source} on s.shape = r.shape`)
}
