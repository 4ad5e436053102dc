import type { CollectionMethod } from '../collection-terms/types.ts'
import { notingChanged, onlyUpdated } from '../events/queries.ts'
import type { RecurringStatus } from '../../engine/recurring.ts'
import type { Instant, IsoDate, TermType } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { type DueDay, notFailed } from '../../platform/database/due.ts'
import { column, type Fragment, fragment, NOTHING, onlyWith, sql } from '../../platform/database/sql.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import type { ExemptCategory, TaxCategory, TaxReason } from '../../kernel/tax.ts'
import type { PaymentMethod } from '../customers/fields.ts'

/** A recurring invoice with the facts of its customer that billing it needs. Its lines and taxes are read beside it. */
export interface RecurringInvoice {
  id: Id
  customerId: CustomerId
  reference: string
  currency: string
  term: number
  termType: TermType
  startDate: IsoDate
  endDate: IsoDate | null
  anchor: IsoDate
  anchorDay: number
  leadDays: number
  nextFrom: IsoDate
  lastFrom: IsoDate | null
  lastInvoiceDate: IsoDate | null
  dueOn: IsoDate | null
  cancelledOn: IsoDate | null
  isEndRecorded: boolean
  hasOwnTaxes: boolean
  collectionMethod: CollectionMethod | null
  gatewayId: Id | null
  paymentMethodId: Id | null
  notes: string | null
  terms: string | null
  lastModified: Instant
  // Fields of its customer.
  customerVersion: number
  suspendedAt: Instant | null
  archivedAt: Instant | null
  pausedOn: IsoDate | null
  countryId: bigint | null
  countryStateId: bigint | null
  vatNumber: string | null
  isCompany: boolean
  isWaiveTaxes: boolean
  taxCategory: ExemptCategory | null
  taxReason: string | null
  paymentMethod: PaymentMethod
  paymentTermDays: number | null
}

export interface RecurringCharge {
  id: Id
  recurringInvoiceId: Id
  name: string | null
  description: string | null
  quantity: Decimal
  unitPrice: Decimal
}

export interface RecurringTax {
  id: Id
  recurringInvoiceId: Id
  name: string
  rate: Decimal
  category: TaxCategory | null
  reasonCode: string | null
  reason: TaxReason | null
}

const COLUMNS = fragment`
  r.recurring_invoice_id as "id", r.customer_id as "customerId", coalesce(r.reference, 'RI' || r.recurring_invoice_id) as "reference", r.currency,
  r.term, r.term_type as "termType", r.start_date as "startDate", r.end_date as "endDate", r.anchor, r.anchor_day as "anchorDay",
  r.lead_days as "leadDays", r.next_from as "nextFrom", r.last_from as "lastFrom", r.last_invoice_date as "lastInvoiceDate", r.due_on as "dueOn",
  r.cancelled_on as "cancelledOn", r.is_end_recorded as "isEndRecorded", r.has_own_taxes as "hasOwnTaxes",
  r.collection_method as "collectionMethod", r.gateway_id as "gatewayId", r.payment_method_id as "paymentMethodId", r.notes, r.terms,
  r.last_modified as "lastModified", c.version as "customerVersion", c.suspended_at as "suspendedAt", c.archived_at as "archivedAt", c.paused_on as "pausedOn",
  c.country_id as "countryId", c.country_state_id as "countryStateId", c.vat_number as "vatNumber", c.is_waive_taxes as "isWaiveTaxes",
  c.tax_category as "taxCategory", c.tax_reason as "taxReason", c.is_company as "isCompany",
  c.payment_method as "paymentMethod", c.payment_term_days as "paymentTermDays"`

const joinedCustomer = (account: AccountId): Fragment =>
  fragment`join customers c on c.account_id = ${account} and c.customer_id = r.customer_id`

export const findRecurring = (db: Queryable, account: AccountId, id: Id) =>
  db.first<RecurringInvoice>(sql`
    select ${COLUMNS} from recurring_invoices r ${joinedCustomer(account)} where r.account_id = ${account} and r.recurring_invoice_id = ${id}`)

export const findRecurringCustomer = (db: Queryable, account: AccountId, id: Id) =>
  db.first<{ customerId: CustomerId }>(sql`
    select customer_id as "customerId" from recurring_invoices where account_id = ${account} and recurring_invoice_id = ${id}`)

/** Conditions of a list; what is null or left out is none. */
export interface RecurringFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  customerId?: CustomerId | null
  reference?: string | null
  status?: RecurringStatus | null
}

const ENDED = (today: IsoDate) => fragment`coalesce(r.end_date <= ${today}, false)`

// The rule `recurringStatus` of the engine as conditions.
function statusCondition(status: RecurringStatus, today: IsoDate): Fragment {
  switch (status) {
    case 'Cancelled':
      return fragment`and r.cancelled_on is not null`
    case 'Expired':
      return fragment`and r.cancelled_on is null and ${ENDED(today)}`
    case 'Future':
      return fragment`and r.cancelled_on is null and not ${ENDED(today)} and r.start_date > ${today}`
    case 'Active':
      return fragment`and r.cancelled_on is null and not ${ENDED(today)} and r.start_date <= ${today}`
  }
}

/** Reference of the service's own: nothing is stored of it. */
const OWN_REFERENCE = /^RI([1-9]\d{0,15})$/

function referenceCondition(reference: string | null | undefined): Fragment {
  const [, own] = OWN_REFERENCE.exec(reference ?? '') ?? []
  return own === undefined
    ? onlyWith('r.reference', reference)
    : fragment`and r.recurring_invoice_id = ${own}::bigint and r.reference is null`
}

const conditions = (account: AccountId, { since, customerId, reference, status }: RecurringFilter, today: IsoDate) =>
  fragment`${onlyUpdated(account, 'recurring_invoice', 'r.recurring_invoice_id', since)} ${onlyWith('r.customer_id', customerId)} ${referenceCondition(reference)} ${status == null ? NOTHING : statusCondition(status, today)}`

export const listRecurring = (
  db: Queryable,
  account: AccountId,
  filter: RecurringFilter,
  start: PageStart,
  limit: number,
  today: IsoDate,
) =>
  db.rows<RecurringInvoice>(sql`
    select ${COLUMNS} from (
      select * from recurring_invoices r where r.account_id = ${account} ${onward(start, 'r.recurring_invoice_id')} ${conditions(account, filter, today)}
       order by r.recurring_invoice_id ${inPage(start, limit)}) r ${joinedCustomer(account)}
     order by r.recurring_invoice_id ${direction(start)}`)

export const countRecurring = (db: Queryable, account: AccountId, filter: RecurringFilter, today: IsoDate) =>
  db.count(sql`
    select count(*) as "n" from recurring_invoices r where r.account_id = ${account} ${conditions(account, filter, today)}`)

export const listRecurringCharges = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<RecurringCharge>(sql`
    select recurring_invoice_charge_id as "id", recurring_invoice_id as "recurringInvoiceId", name, description, quantity, unit_price as "unitPrice"
      from recurring_invoice_charges where account_id = ${account} and recurring_invoice_id = any(${`{${ids.join(',')}}`}::bigint[])
     order by recurring_invoice_id, display_order`)

export const listRecurringTaxes = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<RecurringTax>(sql`
    select recurring_invoice_tax_id as "id", recurring_invoice_id as "recurringInvoiceId", name, rate,
           coalesce(category, case when rate > 0 then 'S' end) as "category", reason_code as "reasonCode", reason
      from recurring_invoice_taxes where account_id = ${account} and recurring_invoice_id = any(${`{${ids.join(',')}}`}::bigint[])
     order by recurring_invoice_id, recurring_invoice_tax_id`)

/** Lists the recurring invoices of a customer that may still be billed. The caller has locked the customer. */
export const listOpenRecurring = (tx: Transaction, account: AccountId, customerId: CustomerId) =>
  tx.rows<RecurringInvoice>(sql`
    select ${COLUMNS} from recurring_invoices r ${joinedCustomer(account)}
     where r.account_id = ${account} and r.customer_id = ${customerId} and r.cancelled_on is null and not r.is_end_recorded
     order by r.recurring_invoice_id`)

/** Lists the recurring invoices of locked customers that are due on a day. They are read after the locks, so none can be stale. */
export const listDueRecurring = (db: Queryable, account: AccountId, customerIds: readonly CustomerId[], due: DueDay) =>
  db.rows<RecurringInvoice>(sql`
    select ${COLUMNS} from recurring_invoices r ${joinedCustomer(account)}
     where r.account_id = ${account} and r.due_on = ${due.day} and r.customer_id = any(${`{${customerIds.join(',')}}`}::bigint[])
       and ${notFailed(account, due.runId, 'recurring_invoice', 'r.recurring_invoice_id')}
     order by r.customer_id, r.recurring_invoice_id`)

/** Lists a page of the recurring invoices that are due up to a day, without locks, for a dry run. */
export const listRecurringForPlanning = (db: Queryable, account: AccountId, until: IsoDate, after: Id, limit: number) =>
  db.rows<RecurringInvoice>(sql`
    select ${COLUMNS} from recurring_invoices r ${joinedCustomer(account)}
     where r.account_id = ${account} and r.due_on <= ${until} and c.paused_on is null and r.recurring_invoice_id > ${after}
     order by r.recurring_invoice_id limit ${limit}`)

/** The fields of a recurring invoice that a request gives, and the state of its billing afterwards. */
export type RecurringFields = Pick<
  RecurringInvoice,
  | 'currency'
  | 'term'
  | 'termType'
  | 'startDate'
  | 'endDate'
  | 'anchor'
  | 'anchorDay'
  | 'leadDays'
  | 'nextFrom'
  | 'dueOn'
  | 'hasOwnTaxes'
  | 'collectionMethod'
  | 'gatewayId'
  | 'paymentMethodId'
  | 'notes'
  | 'terms'
> & { reference: string | null }

export const insertRecurring = (
  tx: Transaction,
  customerId: CustomerId,
  r: RecurringFields,
  at: Instant,
): Promise<Id> =>
  tx.value<Id>(sql`
    insert into recurring_invoices (account_id, customer_id, reference, currency, term, term_type, start_date, end_date, anchor, anchor_day,
      lead_days, next_from, due_on, has_own_taxes, collection_method, gateway_id, payment_method_id, notes, terms, created_at, last_modified)
    values (${tx.account}, ${customerId}, ${r.reference}, ${r.currency}, ${r.term}, ${r.termType}, ${r.startDate}, ${r.endDate}, ${r.anchor},
      ${r.anchorDay}, ${r.leadDays}, ${r.nextFrom}, ${r.dueOn}, ${r.hasOwnTaxes}, ${r.collectionMethod}, ${r.gatewayId}, ${r.paymentMethodId}, ${r.notes}, ${r.terms}, ${at}, ${at})
    returning recurring_invoice_id as "id"`)

export const updateRecurring = (tx: Transaction, id: Id, r: RecurringFields, at: Instant) =>
  tx.rows(sql`
    update recurring_invoices set reference = ${r.reference}, currency = ${r.currency}, term = ${r.term}, term_type = ${r.termType},
      start_date = ${r.startDate}, end_date = ${r.endDate}, anchor = ${r.anchor}, anchor_day = ${r.anchorDay}, lead_days = ${r.leadDays},
      next_from = ${r.nextFrom}, due_on = ${r.dueOn}, has_own_taxes = ${r.hasOwnTaxes}, collection_method = ${r.collectionMethod},
      gateway_id = ${r.gatewayId}, payment_method_id = ${r.paymentMethodId},
      notes = ${r.notes}, terms = ${r.terms}, last_modified = ${at}
     where account_id = ${tx.account} and recurring_invoice_id = ${id}`)

export const deleteRecurringLines = async (tx: Transaction, id: Id): Promise<void> => {
  await tx.rows(
    sql`delete from recurring_invoice_charges where account_id = ${tx.account} and recurring_invoice_id = ${id}`,
  )
  await tx.rows(
    sql`delete from recurring_invoice_taxes where account_id = ${tx.account} and recurring_invoice_id = ${id}`,
  )
}

export const insertRecurringCharges = (
  tx: Transaction,
  id: Id,
  rows: readonly {
    displayOrder: number
    name: string | null
    description: string | null
    quantity: string
    unitPrice: string
  }[],
) =>
  tx.rows(sql`
    insert into recurring_invoice_charges (account_id, recurring_invoice_id, display_order, name, description, quantity, unit_price)
    select ${tx.account}, ${id}, * from unnest(${column(rows, 'displayOrder')}::smallint[], ${column(rows, 'name')}::text[],
      ${column(rows, 'description')}::text[], ${column(rows, 'quantity')}::numeric[], ${column(rows, 'unitPrice')}::numeric[]) returning 1`)

export interface RecurringTaxRow {
  name: string
  rate: string
  category: TaxCategory | null
  reasonCode: string | null
  /** JSON text. */
  reason: string | null
}

export const insertRecurringTaxes = (tx: Transaction, id: Id, rows: readonly RecurringTaxRow[]) =>
  tx.rows(sql`
    insert into recurring_invoice_taxes (account_id, recurring_invoice_id, name, rate, category, reason_code, reason)
    select ${tx.account}, ${id}, * from unnest(${column(rows, 'name')}::text[], ${column(rows, 'rate')}::numeric[],
      ${column(rows, 'category')}::text[], ${column(rows, 'reasonCode')}::text[], ${column(rows, 'reason')}::jsonb[]) returning 1`)

/** Writes the cancellation of a recurring invoice. */
export const updateRecurringCancelled = (tx: Transaction, id: Id, on: IsoDate, at: Instant) =>
  tx.rows(sql`
    update recurring_invoices set cancelled_on = ${on}, due_on = null, last_modified = ${at}
     where account_id = ${tx.account} and recurring_invoice_id = ${id}`)

/** Writes a recurring invoice that is started again: its end, and the period at which it resumes. */
export const updateRecurringReactivated = (
  tx: Transaction,
  id: Id,
  to: { endDate: IsoDate | null; nextFrom: IsoDate; dueOn: IsoDate | null },
  at: Instant,
) =>
  tx.rows(sql`
    update recurring_invoices set cancelled_on = null, is_end_recorded = false, end_date = ${to.endDate}, next_from = ${to.nextFrom},
      due_on = ${to.dueOn}, last_modified = ${at}
     where account_id = ${tx.account} and recurring_invoice_id = ${id}`)

/** Deletes the recurring invoices of a customer that is deleted. */
export const deleteRecurringOf = (tx: Transaction, customerId: CustomerId) =>
  tx.rows(sql`delete from recurring_invoices where account_id = ${tx.account} and customer_id = ${customerId}`)

/** Takes removed methods out of the recurring invoices of a customer. */
export const forgetMethodsOfRecurring = (tx: Transaction, customerId: CustomerId) =>
  tx.rows(sql`
    with changed as (
      update recurring_invoices set payment_method_id = null
     where account_id = ${tx.account} and customer_id = ${customerId} and payment_method_id is not null returning recurring_invoice_id as id)
    ${notingChanged(tx.account, 'recurring_invoice')}`)
