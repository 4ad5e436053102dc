import type { Reminder, ReminderKind } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { firstRow, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { arrayLiteral, column, type Fragment, fragment, namesOf, sql } from '../../platform/database/sql.ts'
import type { Dates, DocumentKind, Source } from './sources.ts'

/** Records of a kind whose dates a pass looks at. */
export interface Wanted {
  source: Source
  dates: Dates
}

/** The records of a source that a customer who takes reminders of its kind has not been reminded of. */
const unsent = (account: AccountId, { source, dates }: Wanted): Fragment => fragment`
  ${source.rows(account, dates)}
    and exists (select 1 from customers c where c.account_id = ${account} and c.customer_id = ${namesOf(source.customerId)}
          and c.paused_on is null and c.email is not null and ${source.kind}::text <> all(c.stopped_reminders))
    and not exists (select 1 from reminders_sent x where x.account_id = ${account} and x.about = ${namesOf(source.about)}
          and x.kind = ${source.kind} and x.document = ${source.document} and x.document_id = ${namesOf(source.id)})`

const unionOf = (parts: readonly Fragment[]): Fragment =>
  parts.reduce((whole, part) => fragment`${whole} union all ${part}`)

/** Lists the next customers, in identifier order, with something that a pass may remind of. */
export const listCustomersToRemind = async (
  db: Queryable,
  account: AccountId,
  wanted: readonly Wanted[],
  after: CustomerId,
  limit: number,
): Promise<CustomerId[]> => {
  const parts = wanted.map((each) => {
    const id = namesOf(each.source.customerId)
    return fragment`select ${id} as id from ${unsent(account, each)} and ${id} > ${after}`
  })
  const rows = await db.rows<{ id: CustomerId }>(
    sql`select distinct u.id as "id" from (${unionOf(parts)}) u order by u.id limit ${limit}`,
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
  wanted: readonly Wanted[],
  { customers, timeZone }: { customers: readonly CustomerId[]; timeZone: string },
) => {
  const parts = wanted.map((each) => {
    const { kind, document, id, customerId, about, sentOn, shown } = each.source
    return fragment`
      select ${kind}::text as "kind", ${document}::text as "document", ${namesOf(id)} as "documentId", ${namesOf(customerId)} as "customerId",
             ${namesOf(about)} as "about", ${sentOn(timeZone)} as "sentOn", ${shown(account)}
        from ${unsent(account, each)} and ${namesOf(customerId)} = any(${arrayLiteral(customers)}::bigint[])`
  })
  return db.rows<Remindable>(
    sql`select u.* from (${unionOf(parts)}) u order by u."customerId", u."about", u."document", u."documentId"`,
  )
}

/** Finds the first date of a source that a pass may remind of. */
export const findFirstDate = async (db: Queryable, account: AccountId, wanted: Wanted): Promise<IsoDate | null> =>
  (
    await oneRow<{ day: IsoDate | null }>(
      db,
      sql`select min(${namesOf(wanted.source.about)}) as "day" from ${unsent(account, wanted)}`,
    )
  ).day

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

export const listAddressees = (db: Queryable, account: AccountId, ids: readonly CustomerId[]) =>
  db.rows<Addressee>(sql`
    select c.customer_id as "id", c.name, c.last_name as "lastName", c.is_company as "isCompany", c.email, c.email_cc as "emailCc", c.locale
      from customers c where c.account_id = ${account} and c.customer_id = any(${arrayLiteral(ids)}::bigint[]) and c.email is not null
     order by c.customer_id`)

export const insertSent = (tx: Transaction, rows: readonly Remindable[], day: IsoDate) =>
  tx.rows(sql`
    insert into reminders_sent (account_id, sent_on, about, kind, document, document_id, customer_id)
    select ${tx.account}, ${day}::date, * from unnest(${column(rows, 'about')}::date[], ${column(rows, 'kind')}::text[],
      ${column(rows, 'document')}::text[], ${column(rows, 'documentId')}::bigint[], ${column(rows, 'customerId')}::bigint[])`)

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
    await firstRow<{ day: IsoDate }>(
      db,
      sql`select passed_on as "day" from reminder_passes where account_id = ${account} and reminders = ${JSON.stringify(reminders)}::jsonb`,
    )
  )?.day ?? null

export const savePass = (tx: Transaction, reminders: readonly Reminder[], day: IsoDate) =>
  tx.rows(sql`
    insert into reminder_passes (account_id, passed_on, reminders) values (${tx.account}, ${day}, ${JSON.stringify(reminders)}::jsonb)
    on conflict (account_id) do update set passed_on = excluded.passed_on, reminders = excluded.reminders`)

/** Lists accounts on real time whose reminders of the day are to go out. */
export const listAccountsToRemind = async (
  db: Queryable,
  zones: readonly string[],
  days: readonly IsoDate[],
): Promise<AccountId[]> =>
  (
    await db.rows<{ id: AccountId }>(
      sql`select account_id as "id" from list_accounts_to_remind(${arrayLiteral(zones)}::text[], ${arrayLiteral(days)}::date[])`,
    )
  ).map(({ id }) => id)
