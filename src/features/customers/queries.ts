import { onlyUpdated } from '../events/queries.ts'
import { searchCustomers } from '../finding/search.ts'
import { countFound, foundCondition, type FoundRecords, listFound, sendDeletedWords } from '../finding/word-queries.ts'
import { assert } from '../../kernel/assert.ts'
import { firstOfNextMonth, type Instant, type IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import { bigintList } from '../../platform/database/columns.ts'
import { sendUncount } from '../../platform/database/housekeeping.ts'
import {
  arrayLiteral,
  type Fragment,
  fragment,
  listed,
  namesOf,
  NOTHING,
  onlyWith,
  sql,
} from '../../platform/database/sql.ts'
import { idsOfText } from '../../platform/database/id-lists.ts'
import { asTexts, inTexts } from '../../platform/database/text-rows.ts'
import { direction, inPage, onward, type PageStart } from '../../platform/http/paging.ts'
import { type CustomerInput, CUSTOMER_FIELD_NAMES, CUSTOMER_FIELDS } from './fields.ts'

export interface Customer extends CustomerInput {
  id: CustomerId
  createdAt: Instant
  suspendedAt: Instant | null
  /** Suspended by a step of the rules of collection, not by hand. */
  isSuspendedByRule: boolean
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
  /** The primary payment method and its token; null without one. */
  primaryMethodId: Id | null
  primaryMethodToken: string | null
}

const SET_COLUMNS = namesOf(
  CUSTOMER_FIELD_NAMES.map((name) => `c.${CUSTOMER_FIELDS[name].column} as "${name}"`).join(', '),
)

export const CUSTOMER_COLUMNS = fragment`
  c.customer_id as "id", ${SET_COLUMNS}, c.created_at as "createdAt",
  c.suspended_at as "suspendedAt", c.is_suspended_by_rule as "isSuspendedByRule", c.archived_at as "archivedAt", c.paused_on as "pausedOn",
  c.statement_last_sent_on as "statementLastSentOn", c.version`

// Counts trial and active ones by their dates, because the run that stores an end may be a moment late.
const counted = (account: AccountId, today: IsoDate): Fragment => fragment`
  (select count(*)::int from subscriptions s
    where s.account_id = ${account} and s.customer_id = c.customer_id and s.start_date <= ${today} and s.cancelled_on is null
      and (s.end_date is null or s.end_date > ${today})
      and (s.pending_kind is distinct from 'cancellation' or s.pending_on > ${today})) as "activeSubscriptions",
  coalesce((select t.receivable_minor - t.unapplied_minor from customer_totals t
    where t.account_id = ${account} and t.customer_id = c.customer_id and t.currency = c.currency), 0) as "balanceMinor"`

const METHOD_COLUMNS = fragment`m.payment_method_id as "primaryMethodId", m.token as "primaryMethodToken"`

const primaryMethod = (account: AccountId): Fragment =>
  fragment`left join payment_methods m on m.account_id = ${account} and m.customer_id = c.customer_id and m.is_primary`

/**
 * Returns the same columns of one customer alone. PostgreSQL prepares all columns of a customer once more for each table that is joined to it, which costs more
 * than looking twice.
 */
const methodOfOne = (account: AccountId): Fragment => fragment`
  (select m.payment_method_id from payment_methods m
    where m.account_id = ${account} and m.customer_id = c.customer_id and m.is_primary) as "primaryMethodId",
  (select m.token from payment_methods m
    where m.account_id = ${account} and m.customer_id = c.customer_id and m.is_primary) as "primaryMethodToken"`

export const COUNTED_CUSTOMERS = { list: 'customers', id: 'customer_id' } as const

export const findCustomerView = (db: Queryable, account: AccountId, id: CustomerId, today: IsoDate) =>
  db.first<CustomerView>(sql`
    select ${CUSTOMER_COLUMNS}, ${counted(account, today)}, ${methodOfOne(account)} from customers c
     where c.account_id = ${account} and c.customer_id = ${id}`)

/** Finds the customer of an invoice, for a look-up that does not know whose it is. */
export const findCustomerOfInvoice = (db: Queryable, account: AccountId, invoice: InvoiceId, today: IsoDate) =>
  db.first<CustomerView>(sql`
    select ${CUSTOMER_COLUMNS}, ${counted(account, today)}, ${methodOfOne(account)} from customers c
     where c.account_id = ${account}
       and c.customer_id = (select customer_id from invoices where account_id = ${account} and invoice_id = ${invoice})`)

export const findCustomer = (db: Queryable, account: AccountId, id: CustomerId) =>
  db.first<Customer>(sql`
    select ${CUSTOMER_COLUMNS} from customers c where c.account_id = ${account} and c.customer_id = ${id}`)

/** The channel on which workers learn that a customer whom a rule has suspended may come back. */
export const RETURN_CHANNEL = 'customer_return'

/** Announces, with the commit, that a customer whom a rule has suspended may owe nothing overdue any more. */
const sendReturnLook = (tx: Transaction): void => tx.send(sql`select pg_notify(${RETURN_CHANNEL}, '')`)

/** Finds a customer by the Reference, which no other one of the account has. */
export const findCustomerIdByReference = async (db: Queryable, account: AccountId, reference: string) =>
  (
    await db.first<{ id: CustomerId }>(sql`
      select customer_id as "id" from customers where account_id = ${account} and reference = ${reference}`)
  )?.id

/** Locks a customer and announces nothing: for the job that looks whether they come back, which would call itself again and again. */
export const lockToBringBack = async (tx: Transaction, id: CustomerId): Promise<Customer | undefined> =>
  (await tx.grouped<CustomerId, Customer>(locking, [id], (row, ids) => ids.includes(row.id)))[0]

const locking: OfMany<CustomerId> = (account, ids) => sql`
    select ${CUSTOMER_COLUMNS} from customers c
     where c.account_id = ${account} and c.customer_id = any(${arrayLiteral(ids)}::bigint[]) order by c.customer_id for no key update`

/**
 * Locks a customer: the first step of everything that changes its money or its subscriptions. Rule: one whom a rule has suspended comes back right
 * after the commit that made them owe nothing overdue, so workers look after whatever was done under the lock.
 */
export async function lockCustomer(tx: Transaction, account: AccountId, id: CustomerId): Promise<Customer | undefined> {
  assert(account === tx.account, 'a customer is locked in a transaction of its account')
  const customer = await lockToBringBack(tx, id)
  if (customer?.isSuspendedByRule) sendReturnLook(tx)
  return customer
}

/** Customers that were locked together, in the order of their identifiers. */
export interface LockedCustomers {
  active: readonly CustomerId[]
  /** Suspended or archived: they are not billed. */
  paused: readonly CustomerId[]
}

/**
 * Locks customers, who are named in the order of their identifiers, as `lockCustomer` does; a customer that another transaction holds is waited for, or left
 * out.
 */
export async function lockCustomers(
  tx: Transaction,
  ids: readonly CustomerId[],
  isWaiting: boolean,
): Promise<LockedCustomers> {
  const lock = (isNamed: boolean) => tx.one<LockedText>(lockingMany(tx, ids, { isWaiting, isNamed }))
  let locked = await lock(false)
  // Mostly all are there, so nobody names them. Who is locked already is locked once more for nothing; who was let go of meanwhile is locked now.
  const isAll = locked.count === ids.length
  if (!isAll) locked = await lock(true)
  if (locked.isAnySuspendedByRule) sendReturnLook(tx)
  const all = isAll ? ids : idsOfText(locked.all)
  const paused = idsOfText(locked.paused)
  if (paused.length === 0) return { active: all, paused }
  const arePaused = new Set(paused)
  return { active: all.filter((id) => !arePaused.has(id)), paused }
}

/** Customers that a statement has locked: how many, and identifiers with commas between them, null of none. */
interface LockedText {
  count: number
  all: string | null
  paused: string | null
  isAnySuspendedByRule: boolean | null
}

const lockingMany = (
  { account }: Transaction,
  ids: readonly CustomerId[],
  { isWaiting, isNamed }: { isWaiting: boolean; isNamed: boolean },
) => sql`
    select count(*)::integer as "count", ${isNamed ? fragment`string_agg(id::text, ',')` : fragment`null`} as "all",
           string_agg(id::text, ',') filter (where is_paused) as "paused", bool_or(is_suspended_by_rule) as "isAnySuspendedByRule"
      from (select c.customer_id as id, c.paused_on is not null as is_paused, c.is_suspended_by_rule from customers c
             where c.account_id = ${account} and c.customer_id = any(${bigintList(ids)}::bigint[])
             order by c.customer_id for no key update of c ${isWaiting ? NOTHING : fragment`skip locked`}) locked`

/** Locks customers that no other transaction holds. Returns them on their own, as a `Grouping` wants it. */
export async function holdCustomers(
  tx: Transaction,
  ids: readonly CustomerId[],
): Promise<ReadonlyMap<CustomerId, CustomerId>> {
  const held = await tx.rows<{ id: CustomerId }>(sql`
    select c.customer_id as "id" from customers c
     where c.account_id = ${tx.account} and c.customer_id = any(${arrayLiteral(ids)}::bigint[])
     order by c.customer_id for no key update of c skip locked`)
  return new Map(held.map(({ id }) => [id, id]))
}

/** Locks the customer of an invoice, as `lockCustomer` does, without reading it. Returns its identifier; undefined where there is no such invoice. */
export async function lockCustomerOfInvoice(tx: Transaction, invoiceId: InvoiceId): Promise<CustomerId | undefined> {
  const locked = await tx.first<{ id: CustomerId; isSuspendedByRule: boolean }>(sql`
    select c.customer_id as "id", c.is_suspended_by_rule as "isSuspendedByRule" from customers c
     where c.account_id = ${tx.account}
       and c.customer_id = (select i.customer_id from invoices i where i.account_id = ${tx.account} and i.invoice_id = ${invoiceId})
     for no key update of c`)
  if (locked?.isSuspendedByRule) sendReturnLook(tx)
  return locked?.id
}

export interface CustomerFilter {
  /** Updated at this instant or later. */
  since?: Instant | null
  reference?: string | null
  emailKey?: string | null
  status?: 'Active' | 'Suspended' | 'Archived' | null
  vatNumber?: string | null
  countryId?: bigint | null
  currency?: string | null
  /** True: those with a countryID; false: those with a Country in words that has none. */
  hasCountry?: boolean | null
  /** Beginnings of words that it bears. */
  words?: readonly string[] | null
}

const STATUS_CONDITION = {
  Active: fragment`and c.archived_at is null and c.suspended_at is null`,
  Suspended: fragment`and c.archived_at is null and c.suspended_at is not null`,
  Archived: fragment`and c.archived_at is not null`,
}

const COUNTRY_CONDITION = {
  true: fragment`and c.country_id is not null`,
  false: fragment`and c.country_id is null and c.country is not null`,
}

const conditions = (account: AccountId, filter: CustomerFilter, found?: FoundRecords): Fragment => fragment`
  ${foundCondition(account, found, { list: 'customers' }, 'c')}
  ${onlyUpdated(account, 'customer', 'c.customer_id', filter.since)} ${onlyWith('c.reference', filter.reference)} ${onlyWith('c.email_key', filter.emailKey)}
  ${onlyWith('c.vat_number', filter.vatNumber)} ${onlyWith('c.country_id', filter.countryId)} ${onlyWith('c.currency', filter.currency)}
  ${filter.status == null ? NOTHING : STATUS_CONDITION[filter.status]}
  ${filter.hasCountry == null ? NOTHING : COUNTRY_CONDITION[`${filter.hasCountry}`]}`

// The page is chosen first and decorated afterwards: counting for records that are passed over would be work for nothing.
export const listCustomers = async (
  db: Queryable,
  account: AccountId,
  filter: CustomerFilter,
  start: PageStart,
  limit: number,
  today: IsoDate,
): Promise<CustomerView[]> => {
  const { words } = filter
  if (words == null) return listPage(db, account, filter, start, limit, today)
  // Nothing else is asked for: the search goes no further than to the end of the page.
  if (hasWordsAlone(filter) && !start.isAfter) {
    const ids = await listFound(db, account, 'customers', words, { ...start, limit })
    return listPage(db, account, filter, { ...start, skip: 0 }, limit, today, { ids })
  }
  return listPage(db, account, filter, start, limit, today, await searchCustomers(db, account, words))
}

const hasWordsAlone = ({ words: _words, ...others }: CustomerFilter): boolean =>
  Object.values(others).every((value) => value == null)

const listPage = (
  db: Queryable,
  account: AccountId,
  filter: CustomerFilter,
  start: PageStart,
  limit: number,
  today: IsoDate,
  found?: FoundRecords,
) =>
  db.rows<CustomerView>(
    asTexts(sql`
    select ${CUSTOMER_COLUMNS}, ${counted(account, today)}, ${METHOD_COLUMNS} from (
      select * from customers c where c.account_id = ${account} ${onward(start, 'c.customer_id')} ${conditions(account, filter, found)}
       order by c.customer_id ${inPage(start, limit)}) c
      ${primaryMethod(account)}
     order by c.customer_id ${direction(start)}`),
  )

export const countCustomers = async (db: Queryable, account: AccountId, filter: CustomerFilter) => {
  const { words } = filter
  if (words != null && hasWordsAlone(filter)) return countFound(db, account, 'customers', words)
  const found = words == null ? undefined : await searchCustomers(db, account, words)
  return db.count(sql`
    select count(*) as "n" from customers c where c.account_id = ${account} ${conditions(account, filter, found)}`)
}

/** Lists the languages of customers; null for one without its own. */
export const listLocales = (tx: Transaction, ids: readonly CustomerId[]) =>
  tx.rows<{ id: CustomerId; locale: string | null }>(sql`
    select customer_id as "id", locale from customers
     where account_id = ${tx.account} and customer_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Lists customers by identifier, in the order given; unknown ones are left out. `areTexts`: as text rows, for answers that are written at once. */
export const listCustomersByIds = (
  db: Queryable,
  account: AccountId,
  ids: readonly bigint[],
  today: IsoDate,
  areTexts?: boolean,
) =>
  db.rows<CustomerView>(
    inTexts(
      areTexts,
      sql`
    select ${CUSTOMER_COLUMNS}, ${counted(account, today)}, ${METHOD_COLUMNS}
      from unnest(${`{${ids.join(',')}}`}::bigint[]) with ordinality as wanted(id, place)
      join customers c on c.account_id = ${account} and c.customer_id = wanted.id ${primaryMethod(account)} order by wanted.place`,
    ),
  )

type Settable = Omit<CustomerInput, 'reference'> & { reference: string | null }

/** Returns the value of a field as its column takes it. */
const valueOf = (c: Settable, name: keyof CustomerInput): Fragment => {
  const { type } = CUSTOMER_FIELDS[name]
  const value = c[name]
  if (Array.isArray(value)) return fragment`${arrayLiteral(value)}::${namesOf(type)}`
  return fragment`${type === 'jsonb' && value !== null ? JSON.stringify(value) : value}::${namesOf(type)}`
}

export const updateCustomer = (
  tx: Transaction,
  account: AccountId,
  id: CustomerId,
  c: CustomerInput & { version: number },
  today: IsoDate,
) =>
  tx.rows(sql`
    update customers set version = ${c.version},
      statement_due_on = case when ${c.autoSendStatement} then coalesce(statement_due_on, ${firstOfNextMonth(today)}::date) end,
      ${listed(CUSTOMER_FIELD_NAMES.map((name) => fragment`${namesOf(CUSTOMER_FIELDS[name].column)} = ${valueOf(c, name)}`))}
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

/** Marks the suspension of a customer as one of the rules, or as one by hand. */
export const updateSuspendedByRule = (tx: Transaction, id: CustomerId, isByRule: boolean) =>
  tx.rows(sql`
    update customers set is_suspended_by_rule = ${isByRule} where account_id = ${tx.account} and customer_id = ${id}`)

/** Finds the uses of a customer that forbid to change its currency, or to delete it. */
export const customerUses = (db: Queryable, account: AccountId, id: CustomerId, today: IsoDate) =>
  db.one<{ hasMoney: boolean; hasRunning: boolean }>(sql`
    select exists (select 1 from invoices where account_id = ${account} and customer_id = ${id} and issued_at is not null)
           or exists (select 1 from customer_totals where account_id = ${account} and customer_id = ${id}) as "hasMoney",
           exists (select 1 from subscriptions s where s.account_id = ${account} and s.customer_id = ${id} and s.cancelled_on is null
             and (s.end_date is null or s.end_date > ${today})
             and (s.pending_kind is distinct from 'cancellation' or s.pending_on > ${today}))
           or exists (select 1 from recurring_invoices r where r.account_id = ${account} and r.customer_id = ${id} and r.cancelled_on is null
             and (r.end_date is null or r.end_date > ${today})) as "hasRunning"`)

/** Deletes a customer. Its ended subscriptions go with it; nothing else of it may be left by then. */
export async function deleteCustomer(tx: Transaction, account: AccountId, id: CustomerId): Promise<void> {
  await tx.rows(sql`delete from customers where account_id = ${account} and customer_id = ${id}`)
  sendDeletedWords(tx, 'customers', [id])
  sendUncount(tx, 'customers', [id])
}

/** Finds whether a gateway of the account is switched on, and keeps it from being deleted until the commit; undefined without such a gateway. */
export const holdGateway = (tx: Transaction, account: AccountId, id: Id) =>
  tx.first<{ isActive: boolean }>(sql`
    select is_active as "isActive" from gateways where account_id = ${account} and gateway_id = ${id} for key share`)
