import type { Reminder, ReminderKind } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, type Fragment, fragment, namesOf, ofQuery, sql } from '../../platform/database/sql.ts'
import { type Dates, type DocumentKind, type Source, SOURCES } from './source-queries.ts'

/** The dates to look at, by kind; a kind that is left out is not looked at. */
export type Windows = Partial<Record<ReminderKind, Dates>>

/** Joins a piece of a statement for every source that is to be looked at: over its records that nobody has been reminded of. */
const ofSources = (
  account: AccountId,
  windows: Windows,
  piece: (source: Source, unsent: Fragment) => Fragment,
): Fragment =>
  unionOf(
    SOURCES.flatMap((source) => {
      const dates = windows[source.kind]
      return dates ? [piece(source, unsent(account, source, dates))] : []
    }),
  )

/** Holds for a customer who is written to of reminders of a kind. */
const takesReminders = (kind: ReminderKind): Fragment =>
  fragment`c.paused_on is null and c.email is not null and ${kind}::text <> all(c.stopped_reminders)`

/** Lists the records of a source that a customer who takes reminders of its kind has not been reminded of. */
const unsent = (account: AccountId, source: Source, dates: Dates): Fragment => fragment`
  ${source.rows(account, dates)}
    and exists (select 1 from customers c where c.account_id = ${account} and c.customer_id = ${namesOf(source.customerId)}
          and ${takesReminders(source.kind)})
    and not exists (select 1 from reminders_sent x where x.account_id = ${account} and x.about = ${namesOf(source.about)}
          and x.kind = ${source.kind} and x.document = ${source.document} and x.document_id = ${namesOf(source.id)})`

const unionOf = (parts: readonly Fragment[]): Fragment =>
  parts.reduce((whole, part) => fragment`${whole} union all ${part}`)

/** Lists the next customers, in identifier order, with something that a pass may remind of. */
export const listCustomersToRemind = async (
  db: Queryable,
  account: AccountId,
  windows: Windows,
  after: CustomerId,
  limit: number,
): Promise<CustomerId[]> => {
  const found = ofSources(account, windows, ({ customerId }, rows) => {
    const id = namesOf(customerId)
    return fragment`select ${id} as id from ${rows} and ${id} > ${after}`
  })
  const rows = await db.rows<{ id: CustomerId }>(
    sql`select distinct u.id as "id" from (${found}) u order by u.id limit ${limit}`,
  )
  return rows.map(({ id }) => id)
}

/** A record to be reminded of, with its customer. */
export interface Remindable {
  kind: ReminderKind
  document: DocumentKind
  documentId: Id
  customerId: CustomerId
  about: IsoDate
  sentOn: IsoDate | null
  /** The contract; null for others. */
  name: string | null
  number: bigint | null
  currency: string | null
  openMinor: bigint | null
  brand: string | null
  lastFour: string | null
}

/** Lists what customers may be reminded of, the earliest date first. */
export const listRemindable = (
  db: Queryable,
  account: AccountId,
  timeZone: string,
  windows: Windows,
  customers: readonly CustomerId[],
) => {
  const found = ofSources(
    account,
    windows,
    ({ kind, document, id, customerId, about, sentOn, shown }, rows) => fragment`
      select ${kind}::text as "kind", ${document}::text as "document", ${namesOf(id)} as "documentId", ${namesOf(customerId)} as "customerId",
             ${namesOf(about)} as "about", ${sentOn(timeZone)} as "sentOn", ${shown(account)}
        from ${rows} and ${namesOf(customerId)} = any(${arrayLiteral(customers)}::bigint[])`,
  )
  return db.rows<Remindable>(
    sql`select u.* from (${found}) u order by u."customerId", u."about", u."document", u."documentId"`,
  )
}

/** Lists the first date of each kind that a pass may remind of; null where there is none. */
export const listFirstDates = (db: Queryable, account: AccountId, windows: Windows) => {
  const firsts = ofSources(
    account,
    windows,
    ({ kind, about }, rows) => fragment`select ${kind}::text as kind, min(${namesOf(about)}) as about from ${rows}`,
  )
  return db.rows<{ kind: ReminderKind; about: IsoDate | null }>(
    sql`select u.kind as "kind", min(u.about) as "about" from (${firsts}) u group by u.kind`,
  )
}

/** The name and the addresses of a customer who is written to. */
export interface Addressee {
  id: CustomerId
  name: string
  lastName: string | null
  isCompany: boolean
  email: string
  emailCc: string | null
  locale: string | null
}

const ADDRESSEE = fragment`
  c.customer_id as "id", c.name, c.last_name as "lastName", c.is_company as "isCompany", c.email, c.email_cc as "emailCc", c.locale`

export const listAddressees = (db: Queryable, account: AccountId, ids: readonly CustomerId[]) =>
  db.rows<Addressee>(sql`
    select ${ADDRESSEE} from customers c
     where c.account_id = ${account} and c.customer_id = any(${arrayLiteral(ids)}::bigint[]) and c.email is not null order by c.customer_id`)

/** Finds a customer who is written to of reminders of a kind. */
export const findReminded = (tx: Transaction, customerId: CustomerId, kind: ReminderKind) =>
  tx.first<Addressee>(sql`
    select ${ADDRESSEE} from customers c where c.account_id = ${tx.account} and c.customer_id = ${customerId} and ${takesReminders(kind)}`)

export const insertSent = (tx: Transaction, rows: readonly Remindable[], day: IsoDate) =>
  tx.rows(
    ofQuery(sql`
    insert into reminders_sent (account_id, sent_on, about, kind, document, document_id, customer_id)
    select ${tx.account}, ${day}::date, * from unnest(${column(rows, 'about')}::date[], ${column(rows, 'kind')}::text[],
      ${column(rows, 'document')}::text[], ${column(rows, 'documentId')}::bigint[], ${column(rows, 'customerId')}::bigint[])`),
  )

/** Forgets reminders of dates that are over. */
export const deleteSentBefore = (tx: Transaction, day: IsoDate) =>
  tx.rows(sql`delete from reminders_sent where account_id = ${tx.account} and about < ${day}`)

/** Returns the last day whose reminders went out by these rules; null where none has. */
export const findPassedOn = async (
  db: Queryable,
  account: AccountId,
  reminders: readonly Reminder[],
): Promise<IsoDate | null> =>
  (
    await db.first<{ day: IsoDate }>(sql`
      select passed_on as "day" from reminder_passes where account_id = ${account} and reminders = ${JSON.stringify(reminders)}::jsonb`)
  )?.day ?? null

export const savePass = (tx: Transaction, reminders: readonly Reminder[], day: IsoDate) =>
  tx.rows(sql`
    insert into reminder_passes (account_id, passed_on, reminders) values (${tx.account}, ${day}, ${JSON.stringify(reminders)}::jsonb)
    on conflict (account_id) do update set passed_on = excluded.passed_on, reminders = excluded.reminders`)

/** Lists accounts on real time whose reminders of the day are to go out. */
export const listAccountsToRemind = (
  db: Queryable,
  zones: readonly string[],
  days: readonly IsoDate[],
): Promise<AccountId[]> =>
  db.values<AccountId>(
    sql`select account_id as "id" from list_accounts_to_remind(${arrayLiteral(zones)}::text[], ${arrayLiteral(days)}::date[])`,
  )
