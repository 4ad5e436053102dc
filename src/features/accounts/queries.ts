import type { AccountId } from '../../kernel/ids.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import type { Account } from '../../kernel/context.ts'
import { type KeptRow, keptUnder, type KeyedRequest } from '../../platform/http/idempotency.ts'
import type { AccountTexts } from './texts.ts'

/** Everything an account can be set to, beside the facts that each request carries. */
export interface AccountSettings extends Account {
  name: string
  email: string | null
  tel: string | null
  webPage: string | null
  address1: string | null
  address2: string | null
  city: string | null
  state: string | null
  country: string | null
  zipCode: string | null
  vatNumber: string | null
  bankDetails: string | null
  locale: string
  notes: string | null
  terms: string | null
  texts: AccountTexts | null
  mailFrom: string | null
  /** The colour that pages and mails show of it: # and six digits. */
  colour: string | null
  nextInvoiceNumber: bigint
}

const FACTS = fragment`
  a.account_id as "id", a.mode, a.time_zone as "timeZone", a.currency, a.clock_at as "clockAt",
  a.payment_term_days as "paymentTermDays", a.lead_days as "leadDays", a.is_auto_apply as "isAutoApply",
  a.lock_date as "lockDate", a.test_mail_to as "testMailTo",
  a.texts is not null as "hasTexts", a.version`

const SETTINGS = fragment`${FACTS}, a.name, a.email, a.tel, a.web_page as "webPage", a.address1, a.address2, a.city, a.state, a.country,
  a.zip_code as "zipCode", a.vat_number as "vatNumber", a.bank_details as "bankDetails", a.locale, a.notes, a.terms, a.texts,
  a.mail_from as "mailFrom", a.colour, c.next_invoice_number as "nextInvoiceNumber"`

export const getAccount = (db: Queryable, account: AccountId) =>
  db.one<Account>(sql`select ${FACTS} from accounts a where a.account_id = ${account}`)

/** Reads an account, and what was kept under an Idempotency-Key of it. */
export const getAccountUnder = (db: Queryable, account: AccountId, keyed: KeyedRequest, realNow: Instant) => {
  const { columns, joined } = keptUnder(account, keyed, realNow)
  return db.one<Account & KeptRow>(
    sql`select ${FACTS}, ${columns} from accounts a ${joined} where a.account_id = ${account}`,
  )
}

export const findAccount = (db: Queryable, account: AccountId) =>
  db.first<Account>(sql`select ${FACTS} from accounts a where a.account_id = ${account}`)

export const getAccountSettings = (db: Queryable, account: AccountId) =>
  db.one<AccountSettings>(sql`
    select ${SETTINGS} from accounts a join account_counters c on c.account_id = ${account} where a.account_id = ${account}`)

/** Locks the account and, last in every transaction that takes them, its counters. */
export async function lockAccountSettings(tx: Transaction, account: AccountId): Promise<AccountSettings> {
  await tx.rows(sql`select 1 from accounts where account_id = ${account} for no key update`)
  await tx.rows(sql`select 1 from account_counters where account_id = ${account} for no key update`)
  return getAccountSettings(tx, account)
}

export interface NewAccount {
  id: AccountId
  mode: 'test' | 'live'
  name: string
  currency: string
  clockAt: Instant | null
  createdAt: Instant
}

/** Draws the identifier of an account to be, none below the start: row security needs it set before the row is written. */
export const drawAccountId = (db: Queryable, startAt: number): Promise<AccountId> =>
  db.value<bigint>(sql`select draw_account_id(${startAt}::bigint) as "id"`)

export async function insertAccount(tx: Transaction, account: NewAccount): Promise<void> {
  await tx.rows(sql`
    insert into accounts (account_id, mode, name, currency, clock_at, created_at)
    values (${account.id}, ${account.mode}, ${account.name}, ${account.currency}, ${account.clockAt}, ${account.createdAt})`)
  await tx.rows(sql`insert into account_counters (account_id) values (${account.id})`)
}

export const updateAccount = (tx: Transaction, account: AccountId, to: AccountSettings) =>
  tx.rows(sql`
    update accounts set name = ${to.name}, time_zone = ${to.timeZone}, currency = ${to.currency}, email = ${to.email}, tel = ${to.tel},
      web_page = ${to.webPage}, address1 = ${to.address1}, address2 = ${to.address2}, city = ${to.city}, state = ${to.state},
      country = ${to.country}, zip_code = ${to.zipCode}, vat_number = ${to.vatNumber}, bank_details = ${to.bankDetails},
      locale = ${to.locale}, notes = ${to.notes}, terms = ${to.terms},
      texts = ${to.texts === null ? null : JSON.stringify(to.texts)}::jsonb, payment_term_days = ${to.paymentTermDays},
      lead_days = ${to.leadDays}, is_auto_apply = ${to.isAutoApply}, lock_date = ${to.lockDate}, mail_from = ${to.mailFrom},
      colour = ${to.colour}, test_mail_to = ${to.testMailTo}, version = ${to.version}
    where account_id = ${account}`)

/** Channel on which a process learns which account another process changed. */
export const ACCOUNT_CHANNEL = 'account_changed'

/** Notifies every process, at commit, that the account was changed. */
export const notifyAccountChange = (tx: Transaction) =>
  tx.rows(sql`select pg_notify(${ACCOUNT_CHANNEL}, ${tx.account}::text)`)

export const updateNextInvoiceNumber = (tx: Transaction, account: AccountId, next: bigint) =>
  tx.rows(sql`update account_counters set next_invoice_number = ${next} where account_id = ${account}`)

export const getNextCreditNumber = (tx: Transaction, account: AccountId): Promise<bigint> =>
  tx.value<bigint>(sql`select next_credit_number as "next" from account_counters where account_id = ${account}`)

export const updateNextCreditNumber = (tx: Transaction, account: AccountId, next: bigint) =>
  tx.rows(sql`update account_counters set next_credit_number = ${next} where account_id = ${account}`)

/** Takes a block of invoice numbers; the counter stays locked until the commit, so a rollback leaves no gap. */
export const takeInvoiceNumbers = async (tx: Transaction, account: AccountId, count: number): Promise<bigint> => {
  const row = await tx.one<{ next: bigint }>(sql`
    update account_counters set next_invoice_number = next_invoice_number + ${count} where account_id = ${account}
    returning next_invoice_number - ${count}::int as "next"`)
  tx.remember(() => ({ of: 'invoice', number: row.next + BigInt(count) - 1n }))
  return row.next
}

/** Takes the next number of the account's own sequence of credit notes, which a caller may have given; the counter stays locked until the commit. */
export const takeCreditNumber = async (tx: Transaction, account: AccountId) => {
  const taken = await tx.one<{ next: bigint; isTaken: boolean }>(sql`
    with counted as (
      update account_counters set next_credit_number = next_credit_number + 1 where account_id = ${account}
      returning next_credit_number - 1 as next)
    select next, exists (
             select 1 from negative_adjustments n
              where n.account_id = ${account} and n.kind = 'credit_note' and n.ref_key = 'cn-' || counted.next) as "isTaken"
      from counted`)
  tx.remember(() => ({ of: 'credit note', number: taken.next }))
  return taken
}

/** Keeps what documents issued so far show of the account, before an edit changes it. */
export const insertAccountVersion = (tx: Transaction, account: AccountId, version: number, document: object) =>
  tx.rows(
    sql`insert into account_versions (account_id, version, document) values (${account}, ${version}, ${JSON.stringify(document)})`,
  )

export const updateClock = (tx: Transaction, account: AccountId, clockAt: Instant) =>
  tx.rows(sql`update accounts set clock_at = ${clockAt} where account_id = ${account}`)

/** Finds the face that pages show of an account. */
export const getLook = (db: Queryable, account: AccountId) =>
  db.one<{ name: string; colour: string | null; locale: string; country: string | null; hasLogo: boolean }>(sql`
    select name, colour, locale, country,
           exists (select 1 from account_logos where account_id = ${account}) as "hasLogo"
      from accounts where account_id = ${account}`)

export interface Logo {
  mediaType: string
  content: Buffer
}

export const findLogo = (db: Queryable, account: AccountId) =>
  db.first<Logo>(sql`select media_type as "mediaType", content from account_logos where account_id = ${account}`)

export const replaceLogo = (tx: Transaction, account: AccountId, logo: Logo) =>
  tx.rows(sql`
    insert into account_logos (account_id, media_type, content) values (${account}, ${logo.mediaType}, ${logo.content})
    on conflict (account_id) do update set media_type = excluded.media_type, content = excluded.content`)

export const deleteLogo = (tx: Transaction, account: AccountId) =>
  tx.rows(sql`delete from account_logos where account_id = ${account}`)

export interface ListedAccount {
  id: AccountId
  name: string
  mode: 'test' | 'live'
  currency: string
  timeZone: string
  clockAt: Instant | null
  createdAt: Instant
}

const LISTED = fragment`
  account_id as "id", name, mode, currency, time_zone as "timeZone", clock_at as "clockAt", created_at as "createdAt"`

/** Lists all accounts of the deployment: for the operator's command line only. On Citus all workers are asked, and one that is away fails it. */
export const listAllAccounts = (db: Queryable) => db.rows<ListedAccount>(sql`select ${LISTED} from list_all_accounts()`)

/** Finds an account as the list has it, where it lies: an account on another worker of Citus may be away. */
export const findListedAccount = (db: Queryable, account: AccountId) =>
  db.first<ListedAccount>(sql`select ${LISTED} from accounts where account_id = ${account}`)

export const anyAccountExists = (db: Queryable): Promise<boolean> =>
  db.value<boolean>(sql`select account_exists() as "exists"`)

/** Waits until no other transaction makes the first account, to its commit. */
export const lockFirstAccount = (tx: Transaction) => tx.rows(sql`select pg_advisory_xact_lock(7305861200413)`)

export const listScheduleZones = (db: Queryable) =>
  db.rows<{ timeZone: string }>(sql`select time_zone as "timeZone" from list_schedule_zones()`)

/** Lists the accounts on real time whose local day has begun since the scheduler last looked. */
export const listAccountsToSchedule = (db: Queryable, zones: string[], days: IsoDate[]) =>
  db.rows<{ id: AccountId; today: IsoDate }>(sql`
    select account_id as "id", today from list_accounts_to_schedule(${zones}::text[], ${days}::date[])`)

/**
 * Begins the day of up to so many of these accounts of which nothing is due, and returns how many these were; null while another worker does. A kind of due
 * records that this does not know would never be billed: `begin-days.test.ts` of billing runs compares them.
 */
export const beginDays = async (
  db: Queryable,
  zones: string[],
  days: IsoDate[],
  countMax: number,
): Promise<number | null> => {
  const n = await db.value<bigint | null>(sql`
    select begin_days(${zones}::text[], ${days}::date[], ${countMax}::integer) as "n"`)
  return n === null ? null : Number(n)
}

export const markScheduled = (tx: Transaction, account: AccountId, day: IsoDate) =>
  tx.rows<{ id: AccountId }>(sql`
    update accounts set scheduled_on = ${day} where account_id = ${account} and (scheduled_on is null or scheduled_on < ${day})
    returning account_id as "id"`)
