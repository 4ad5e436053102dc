import { firstOfNextMonth, type Instant, type IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import { firstRow, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import { type Fragment, fragment, NOTHING, sql } from '../../platform/database/sql.ts'
import type { PageStart } from '../../platform/http/paging.ts'
import type { CustomValues } from './custom-value-queries.ts'

export const PAYMENT_METHODS = ['cash', 'cheque', 'credit_card', 'debit_order', 'eft', 'bank_account'] as const
export type PaymentMethod = (typeof PAYMENT_METHODS)[number]

/** What a caller can set of a customer. */
export interface CustomerInput {
  reference: string
  isCompany: boolean
  name: string
  lastName: string | null
  registrationNumber: string | null
  vatNumber: string | null
  company: string | null
  email: string | null
  emailCc: string | null
  cell: string | null
  tel: string | null
  fax: string | null
  address1: string | null
  address2: string | null
  city: string | null
  state: string | null
  country: string | null
  countryState: string | null
  zipCode: string | null
  countryId: bigint | null
  countryStateId: bigint | null
  currency: string
  isWaiveTaxes: boolean
  paymentMethod: PaymentMethod
  autoSendInvoice: boolean
  autoSendStatement: boolean
  paymentTermDays: number | null
  locale: string | null
  isCollectionHold: boolean
  customValues: CustomValues | null
}

export interface Customer extends CustomerInput {
  id: CustomerId
  primaryGatewayId: bigint | null
  createdAt: Instant
  suspendedAt: Instant | null
  archivedAt: Instant | null
  /** The first day on which the customer is suspended or archived; null while billed. */
  pausedOn: IsoDate | null
  statementLastSentOn: IsoDate | null
  version: number
}

/** A customer as it is shown: with what is counted and summed. */
export interface CustomerView extends Customer {
  activeSubscriptions: number
  balanceMinor: bigint
}

export const CUSTOMER_COLUMNS = fragment`
  c.customer_id as "id", c.reference, c.is_company as "isCompany", c.name, c.last_name as "lastName",
  c.registration_number as "registrationNumber", c.vat_number as "vatNumber", c.company, c.email, c.email_cc as "emailCc",
  c.cell, c.tel, c.fax, c.address1, c.address2, c.city, c.state, c.country, c.country_state as "countryState", c.zip_code as "zipCode",
  c.country_id as "countryId", c.country_state_id as "countryStateId", c.primary_gateway_id as "primaryGatewayId", c.currency,
  c.created_at as "createdAt", c.suspended_at as "suspendedAt", c.archived_at as "archivedAt", c.paused_on as "pausedOn",
  c.is_waive_taxes as "isWaiveTaxes", c.payment_method as "paymentMethod", c.auto_send_invoice as "autoSendInvoice",
  c.auto_send_statement as "autoSendStatement", c.statement_last_sent_on as "statementLastSentOn",
  c.payment_term_days as "paymentTermDays", c.locale, c.is_collection_hold as "isCollectionHold", c.version,
  c.custom_values as "customValues"`

// Trial and active ones, told from their dates: the run that writes an end down may be a moment late.
const counted = (account: AccountId, today: IsoDate): Fragment => fragment`
  (select count(*)::int from subscriptions s
    where s.account_id = ${account} and s.customer_id = c.customer_id and s.start_date <= ${today} and s.cancelled_on is null
      and (s.end_date is null or s.end_date > ${today})
      and (s.pending_kind is distinct from 'cancellation' or s.pending_on > ${today})) as "activeSubscriptions",
  coalesce((select t.receivable_minor - t.unapplied_minor from customer_totals t
    where t.account_id = ${account} and t.customer_id = c.customer_id and t.currency = c.currency), 0) as "balanceMinor"`

export const findCustomerView = (db: Queryable, account: AccountId, id: CustomerId, today: IsoDate) =>
  firstRow<CustomerView>(
    db,
    sql`select ${CUSTOMER_COLUMNS}, ${counted(account, today)} from customers c where c.account_id = ${account} and c.customer_id = ${id}`,
  )

/** The customer of an invoice, for a look-up that does not know whose it is. */
export const findCustomerOfInvoice = (db: Queryable, account: AccountId, invoice: InvoiceId, today: IsoDate) =>
  firstRow<CustomerView>(
    db,
    sql`select ${CUSTOMER_COLUMNS}, ${counted(account, today)}
          from invoices i join customers c on c.account_id = ${account} and c.customer_id = i.customer_id
         where i.account_id = ${account} and i.invoice_id = ${invoice}`,
  )

export const findCustomer = (db: Queryable, account: AccountId, id: CustomerId) =>
  firstRow<Customer>(
    db,
    sql`select ${CUSTOMER_COLUMNS} from customers c where c.account_id = ${account} and c.customer_id = ${id}`,
  )

/** Locks a customer: the first step of everything that changes its money or its subscriptions. */
export const lockCustomer = (tx: Transaction, account: AccountId, id: CustomerId) =>
  firstRow<Customer>(
    tx,
    sql`select ${CUSTOMER_COLUMNS} from customers c where c.account_id = ${account} and c.customer_id = ${id} for no key update`,
  )

/**
 * Locks those of some customers that are neither suspended nor archived, in identifier order, and returns which. One that another
 * transaction holds is waited for, or left out.
 */
export const lockBilledCustomers = async (
  tx: Transaction,
  account: AccountId,
  ids: readonly CustomerId[],
  isWaiting: boolean,
): Promise<CustomerId[]> =>
  (
    await tx.rows<{ id: CustomerId }>(sql`
      select c.customer_id as "id" from customers c
       where c.account_id = ${account} and c.paused_on is null and c.customer_id = any(${`{${ids.join(',')}}`}::bigint[])
       order by c.customer_id for no key update of c ${isWaiting ? NOTHING : fragment`skip locked`}`)
  ).map(({ id }) => id)

export interface CustomerFilter {
  reference?: string | null
  emailKey?: string | null
  status?: 'Active' | 'Suspended' | 'Archived' | null
}

const STATUS_CONDITION = {
  Active: fragment`and c.archived_at is null and c.suspended_at is null`,
  Suspended: fragment`and c.archived_at is null and c.suspended_at is not null`,
  Archived: fragment`and c.archived_at is not null`,
}

const conditions = (filter: CustomerFilter): Fragment => fragment`
  ${filter.reference == null ? NOTHING : fragment`and c.reference = ${filter.reference}`}
  ${filter.emailKey == null ? NOTHING : fragment`and c.email_key = ${filter.emailKey}`}
  ${filter.status == null ? NOTHING : STATUS_CONDITION[filter.status]}`

// The page is chosen first and decorated afterwards: counting for records that are passed over would be work for nothing.
export const listCustomers = (
  db: Queryable,
  account: AccountId,
  filter: CustomerFilter,
  start: PageStart,
  limit: number,
  today: IsoDate,
) =>
  db.rows<CustomerView>(sql`
    select ${CUSTOMER_COLUMNS}, ${counted(account, today)} from (
      select * from customers c where c.account_id = ${account} and c.customer_id >= ${start.fromId} ${conditions(filter)}
       order by c.customer_id offset ${start.skip} limit ${limit}) c
     order by c.customer_id`)

export const countCustomers = async (db: Queryable, account: AccountId, filter: CustomerFilter): Promise<number> =>
  Number(
    (
      await oneRow<{ n: bigint }>(
        db,
        sql`select count(*) as "n" from customers c where c.account_id = ${account} ${conditions(filter)}`,
      )
    ).n,
  )

/** Customers by identifier, in the order given; unknown ones are left out. */
export const listCustomersByIds = (db: Queryable, account: AccountId, ids: readonly bigint[], today: IsoDate) =>
  db.rows<CustomerView>(sql`
    select ${CUSTOMER_COLUMNS}, ${counted(account, today)}
      from unnest(${`{${ids.join(',')}}`}::bigint[]) with ordinality as wanted(id, place)
      join customers c on c.account_id = ${account} and c.customer_id = wanted.id order by wanted.place`)

const valuesText = ({ customValues }: Pick<CustomerInput, 'customValues'>): string | null =>
  customValues === null ? null : JSON.stringify(customValues)

/** Adds a customer and answers its identifier. Without a reference it gets one of the service's, made from the identifier. */
export const insertCustomer = async (
  tx: Transaction,
  account: AccountId,
  c: Omit<CustomerInput, 'reference'> & { reference: string | null },
  { now, today }: { now: Instant; today: IsoDate },
) =>
  oneRow<Customer>(
    tx,
    sql`
    with drawn as (select nextval('customers_customer_id_seq') as id)
    insert into customers as c (account_id, customer_id, reference, is_company, name, last_name, registration_number, vat_number, company, email,
      email_cc, cell, tel, fax, address1, address2, city, state, country, country_state, zip_code, country_id, country_state_id, currency,
      created_at, is_waive_taxes, payment_method, auto_send_invoice, auto_send_statement, payment_term_days, locale, is_collection_hold,
      custom_values, statement_due_on)
    select ${account}, drawn.id, coalesce(${c.reference}, 'C' || drawn.id), ${c.isCompany}::boolean, ${c.name}, ${c.lastName}, ${c.registrationNumber},
      ${c.vatNumber}, ${c.company}, ${c.email}, ${c.emailCc}, ${c.cell}, ${c.tel}, ${c.fax}, ${c.address1}, ${c.address2}, ${c.city},
      ${c.state}, ${c.country}, ${c.countryState}, ${c.zipCode}, ${c.countryId}::bigint, ${c.countryStateId}::bigint, ${c.currency}, ${now}::timestamptz,
      ${c.isWaiveTaxes}::boolean, ${c.paymentMethod}, ${c.autoSendInvoice}::boolean, ${c.autoSendStatement}::boolean, ${c.paymentTermDays}::integer,
      ${c.locale}, ${c.isCollectionHold}::boolean, ${valuesText(c)}::jsonb,
      ${c.autoSendStatement ? firstOfNextMonth(today) : null}::date
      from drawn
    returning ${CUSTOMER_COLUMNS}`,
  )

export const updateCustomer = (
  tx: Transaction,
  account: AccountId,
  id: CustomerId,
  c: CustomerInput & { version: number },
  today: IsoDate,
) =>
  tx.rows(sql`
    update customers set reference = ${c.reference}, is_company = ${c.isCompany}, name = ${c.name}, last_name = ${c.lastName},
      registration_number = ${c.registrationNumber}, vat_number = ${c.vatNumber}, company = ${c.company}, email = ${c.email},
      email_cc = ${c.emailCc}, cell = ${c.cell}, tel = ${c.tel}, fax = ${c.fax}, address1 = ${c.address1}, address2 = ${c.address2},
      city = ${c.city}, state = ${c.state}, country = ${c.country}, country_state = ${c.countryState}, zip_code = ${c.zipCode},
      country_id = ${c.countryId}, country_state_id = ${c.countryStateId}, currency = ${c.currency}, is_waive_taxes = ${c.isWaiveTaxes},
      payment_method = ${c.paymentMethod}, auto_send_invoice = ${c.autoSendInvoice}, auto_send_statement = ${c.autoSendStatement},
      payment_term_days = ${c.paymentTermDays}, locale = ${c.locale}, is_collection_hold = ${c.isCollectionHold}, version = ${c.version},
      custom_values = ${valuesText(c)}::jsonb,
      statement_due_on = case when ${c.autoSendStatement} then coalesce(statement_due_on, ${firstOfNextMonth(today)}::date) end
    where account_id = ${account} and customer_id = ${id}`)

/** Keeps what documents issued so far show of the customer, before an edit changes it. */
export const insertCustomerVersion = (
  tx: Transaction,
  account: AccountId,
  id: CustomerId,
  version: number,
  document: object,
) =>
  tx.rows(sql`
    insert into customer_versions (account_id, customer_id, version, document) values (${account}, ${id}, ${version}, ${JSON.stringify(document)})`)

export interface Pause {
  suspendedAt: Instant | null
  archivedAt: Instant | null
  pausedOn: IsoDate | null
}

/** Rule: a customer that is suspended or archived gets no statements; one that comes back gets the next as if it had begun that day. */
export const updateCustomerPause = (
  tx: Transaction,
  account: AccountId,
  id: CustomerId,
  { suspendedAt, archivedAt, pausedOn }: Pause,
  today: IsoDate,
) =>
  tx.rows(sql`
    update customers set suspended_at = ${suspendedAt}, archived_at = ${archivedAt}, paused_on = ${pausedOn},
           statement_due_on = case when statement_due_on < ${today}::date and ${pausedOn}::date is null then ${firstOfNextMonth(today)}::date
             else statement_due_on end
     where account_id = ${account} and customer_id = ${id}`)

/** What stands against changing a customer's currency, or deleting it. */
export const customerUses = (db: Queryable, account: AccountId, id: CustomerId, today: IsoDate) =>
  oneRow<{ hasMoney: boolean; hasRunning: boolean }>(
    db,
    sql`select exists (select 1 from invoices where account_id = ${account} and customer_id = ${id} and issued_at is not null)
               or exists (select 1 from customer_totals where account_id = ${account} and customer_id = ${id}) as "hasMoney",
               exists (select 1 from subscriptions s where s.account_id = ${account} and s.customer_id = ${id} and s.cancelled_on is null
                 and (s.end_date is null or s.end_date > ${today})
                 and (s.pending_kind is distinct from 'cancellation' or s.pending_on > ${today}))
               or exists (select 1 from recurring_invoices r where r.account_id = ${account} and r.customer_id = ${id} and r.cancelled_on is null
                 and (r.end_date is null or r.end_date > ${today})) as "hasRunning"`,
  )

/** Ended subscriptions go with their customer; nothing else of it may be left by then. */
export async function deleteCustomer(tx: Transaction, account: AccountId, id: CustomerId): Promise<void> {
  await tx.rows(sql`delete from customers where account_id = ${account} and customer_id = ${id}`)
  sendUncount(tx, 'customers', [id])
}
