import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { type Fragment, fragment, namesOf, sql } from '../../platform/database/sql.ts'
import { PLAIN_FIELD_NAMES, PLAIN_FIELDS, type PlainFields } from './fields.ts'
import { sendDeletedWords } from '../finding/word-queries.ts'
import type { InvoiceRow } from './types.ts'

/** Statements of drafts. */

/** State of a draft beside its invoice: which of its values the caller gave. */
export interface Draft {
  isInvoiceDateGiven: boolean
  isDueDateGiven: boolean
  hasOwnTaxes: boolean
}

export const replaceDraft = (tx: Transaction, id: InvoiceId, draft: Draft) =>
  tx.rows(sql`
    insert into invoice_drafts (account_id, invoice_id, is_invoice_date_given, is_due_date_given, has_own_taxes)
    values (${tx.account}, ${id}, ${draft.isInvoiceDateGiven}, ${draft.isDueDateGiven}, ${draft.hasOwnTaxes})
    on conflict (account_id, invoice_id) do update set is_invoice_date_given = excluded.is_invoice_date_given,
      is_due_date_given = excluded.is_due_date_given, has_own_taxes = excluded.has_own_taxes`)

export const getDraft = (db: Queryable, account: AccountId, id: InvoiceId) =>
  db.one<Draft>(sql`
    select is_invoice_date_given as "isInvoiceDateGiven", is_due_date_given as "isDueDateGiven", has_own_taxes as "hasOwnTaxes"
      from invoice_drafts where account_id = ${account} and invoice_id = ${id}`)

/** Returns `column = value` of plain fields, for the SET of an update. */
export const assigned = (names: readonly (keyof PlainFields)[], to: Partial<PlainFields>): Fragment =>
  names
    .map((name) => fragment`${namesOf(PLAIN_FIELDS[name].column)} = ${to[name] ?? null}`)
    .reduce((all, one) => fragment`${all}, ${one}`)

export type CollectedFields = Pick<
  InvoiceRow,
  'gatewayId' | 'paymentMethodId' | 'isMethodRequested' | 'isCollectionHold' | 'nextTryDate'
>

/** Returns `column = value` of the collection details that are no plain fields, for the SET of an update. */
export const collected = (to: CollectedFields): Fragment => fragment`
  gateway_id = ${to.gatewayId}, payment_method_id = ${to.paymentMethodId}, is_method_requested = ${to.isMethodRequested},
  is_collection_hold = ${to.isCollectionHold}, next_try_date = ${to.nextTryDate}`

/** Replaces the fields of a draft; its lines and taxes have statements of their own. */
export const updateDraft = (tx: Transaction, row: InvoiceRow, at: Instant, accountVersion: number) =>
  tx.rows(sql`
    update invoices set customer_id = ${row.customerId}, customer_version = ${row.customerVersion}, account_version = ${accountVersion},
      reference = ${row.reference}, currency = ${row.currency}, invoice_date = ${row.invoiceDate}, due_date = ${row.dueDate},
      supply_date = ${row.supplyDate ?? null}, ${assigned(PLAIN_FIELD_NAMES, row)}, ${collected(row)}, total_minor = ${row.totalMinor}, last_updated = ${at}
     where account_id = ${tx.account} and invoice_id = ${row.id} and issued_at is null`)

/** Makes a draft the invoice with a number: what was provisional is frozen. */
export const updateIssued = (
  tx: Transaction,
  to: Pick<
    InvoiceRow,
    | 'id'
    | 'invoiceDate'
    | 'dueDate'
    | 'totalMinor'
    | 'customerVersion'
    | 'customerCountryId'
    | 'customerStateId'
    | 'customerVatNumber'
  > &
    CollectedFields,
  { firstNumber, at, accountVersion }: { firstNumber: bigint; at: Instant; accountVersion: number },
) =>
  tx.rows(sql`
    update invoices set number = ${firstNumber}, issued_at = ${at}, last_updated = ${at}, invoice_date = ${to.invoiceDate},
      due_date = ${to.dueDate}, ${collected(to)}, total_minor = ${to.totalMinor}, account_version = ${accountVersion}, customer_version = ${to.customerVersion},
      customer_country_id = ${to.customerCountryId}, customer_state_id = ${to.customerStateId}, customer_vat_number = ${to.customerVatNumber}
     where account_id = ${tx.account} and invoice_id = ${to.id} and issued_at is null`)

/** Writes the amounts of the lines with tax, in the order of `grossMinor`; the lines themselves stay. */
export const updateGross = (tx: Transaction, id: InvoiceId, grossMinor: readonly bigint[]) =>
  tx.rows(sql`
    update charge_rows c set gross_minor = r.gross from unnest(${`{${grossMinor.join(',')}}`}::bigint[]) with ordinality as r(gross, place)
     where c.account_id = ${tx.account} and c.invoice_id = ${id} and c.display_order = r.place`)

export const deleteCharges = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`delete from charge_rows where account_id = ${tx.account} and invoice_id = ${id}`)

export const deleteInvoiceTaxes = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`delete from invoice_tax_rows where account_id = ${tx.account} and invoice_id = ${id}`)

export const deleteDraft = (tx: Transaction, id: InvoiceId) =>
  tx.rows(sql`delete from invoice_drafts where account_id = ${tx.account} and invoice_id = ${id}`)

async function deleteInvoice(tx: Transaction, id: InvoiceId): Promise<void> {
  const deleted = await tx.rows<{ id: InvoiceId }>(sql`
    delete from invoices where account_id = ${tx.account} and invoice_id = ${id} and issued_at is null returning invoice_id as "id"`)
  sendDeletedWords(tx, 'invoices', [id])
  sendUncount(
    tx,
    'invoices',
    deleted.map((row) => row.id),
  )
}

export const listDraftIds = (db: Queryable, account: AccountId, customerId: CustomerId): Promise<InvoiceId[]> =>
  db.values<InvoiceId>(
    sql`select invoice_id as "id" from invoices where account_id = ${account} and customer_id = ${customerId} and issued_at is null`,
  )

/** Periods of recurring invoices keep nothing behind once their customer goes; it never had an issued invoice. */
export async function deleteDraftWithLines(tx: Transaction, id: InvoiceId): Promise<void> {
  await deleteCharges(tx, id)
  await deleteInvoiceTaxes(tx, id)
  await deleteInvoice(tx, id)
}
