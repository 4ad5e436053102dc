import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import {
  arrayLiteral,
  column,
  type Fragment,
  fragment,
  namesOf,
  NOTHING,
  onlyAmong,
  sql,
} from '../../platform/database/sql.ts'

/** Words by which records are found. */

/** Lists that are searched: the number under which their words are stored, and where their records are. */
const LISTS = {
  customers: { number: 1, table: 'customers', id: 'customer_id' },
  invoices: { number: 2, table: 'invoices', id: 'invoice_id' },
  subscriptions: { number: 3, table: 'subscriptions', id: 'subscription_id' },
  payments: { number: 4, table: 'payments', id: 'payment_id' },
  credits: { number: 5, table: 'negative_adjustments', id: 'negative_adjustment_id' },
} as const
export type SearchedList = keyof typeof LISTS

/** Identifiers of a block of words: as of the blocks by which lists are counted. */
const BLOCK = 4096n

interface NewWord {
  list: SearchedList
  id: Id
  word: string
}

const insertion: OfMany<NewWord> = (account, words) => sql`
    insert into record_words (account_id, list, block, word, record_id)
    select ${account}, r.list, (r.id / ${BLOCK})::integer, r.word, r.id
      from unnest(${arrayLiteral(words.map(({ list }) => LISTS[list].number))}::smallint[], ${column(words, 'id')}::bigint[],
             ${column(words, 'word')}::text[]) as r(list, id, word)
    on conflict do nothing returning 1`

/** Writes words of records, without waiting. */
export const sendWords = (tx: Transaction, words: readonly NewWord[]): void => tx.sendGrouped(insertion, words)

/** Deletes words that a record bears no more. */
export const sendGoneWords = (tx: Transaction, list: SearchedList, id: Id, words: readonly string[]): void =>
  tx.send(sql`
    delete from record_words where account_id = ${tx.account} and list = ${LISTS[list].number} and record_id = ${id}
       and word = any(${arrayLiteral(words)}::text[])`)

/** Deletes every word of records, which are deleted or which nobody may find any more. */
export const sendDeletedWords = (tx: Transaction, list: SearchedList, ids: readonly Id[]): void =>
  tx.send(sql`
    delete from record_words where account_id = ${tx.account} and list = ${LISTS[list].number} and record_id = any(${arrayLiteral(ids)}::bigint[])`)

/** Above every letter: what begins with a word is from the word on, and below the word with this behind it. */
const ABOVE = '\u{10FFFF}'

/** Lists records that bear words that begin so, in the order of identifiers: those of a page, or as many as `limit`. */
export const listFound = <I extends Id = Id>(
  db: Queryable,
  account: AccountId,
  list: SearchedList,
  words: readonly string[],
  page: { skip?: number; limit: number; isNewestFirst?: boolean },
): Promise<I[]> => db.values<I>(sql`select f.id from ${searched(account, list, words, page)} as f(id)`)

/** Counts the records that bear words that begin so. */
export const countFound = (db: Queryable, account: AccountId, list: SearchedList, words: readonly string[]) =>
  db.count(sql`select count(*) as "n" from ${searched(account, list, words, { limit: null })} as f(id)`)

const searched = (
  account: AccountId,
  list: SearchedList,
  words: readonly string[],
  page: { skip?: number; limit: number | null; isNewestFirst?: boolean },
): Fragment => fragment`
  search_records(${account}::bigint, ${LISTS[list].number}::smallint, ${arrayLiteral(words)}::text[],
    ${arrayLiteral(words.map((word) => `${word}${ABOVE}`))}::text[], ${page.isNewestFirst ?? false}::boolean, ${page.skip ?? 0}::bigint,
    ${page.limit}::bigint)`

/** Returns the SQL that is true of a record with a word that begins so, given the column of its identifier. A limited subquery stays one, and reads one place of an index. */
const bears = (account: AccountId, list: SearchedList, id: string, word: string): Fragment => fragment`
  (select true from record_words w where w.account_id = ${account} and w.list = ${LISTS[list].number} and w.record_id = ${namesOf(id)}
      and w.word >= ${word} collate "C" and w.word < ${`${word}${ABOVE}`} collate "C" limit 1) is true`

/** Lists, as SQL, the customers who bear a word that begins so: block by block, on every version of PostgreSQL. */
const bearersOf = (account: AccountId, word: string): Fragment => fragment`
  select w.record_id
    from generate_series((select min(block) from record_words where account_id = ${account} and list = ${LISTS.customers.number}),
           (select max(block) from record_words where account_id = ${account} and list = ${LISTS.customers.number})) as b(block)
   cross join lateral (select o.record_id from record_words o where o.account_id = ${account} and o.list = ${LISTS.customers.number} and o.block = b.block
     and o.word >= ${word} collate "C" and o.word < ${`${word}${ABOVE}`} collate "C" offset 0) w`

/** Checks whether no more than so many customers bear a word that begins so. */
export const isBorneByAtMost = async (
  db: Queryable,
  account: AccountId,
  word: string,
  most: number,
): Promise<boolean> =>
  (await db.count(sql`select count(*) as "n" from (${bearersOf(account, word)} limit ${most + 1}) f`)) <= most

/** Numbers of records that no words are written of. */
export interface SearchedNumbers {
  /** Returns the SQL that is true of a row, given by its name, whose number begins so. */
  condition(row: string, word: string): Fragment
  /** Lists some of the records whose number begins so, as many as `limit`. */
  list(db: Queryable, account: AccountId, word: string, limit: number): Promise<{ id: Id }[]>
}

/** A list that is searched, by words and by numbers where its records have any. */
export interface Searched {
  list: SearchedList
  numbers?: SearchedNumbers | undefined
}

/** Words that each record must bear in fields of its own, that its customer must bear, and that either of them must. */
export interface WordsAsked {
  own?: readonly string[]
  customer?: readonly string[]
  either?: readonly string[]
}

/** Records that a search has found: candidates, and what is asked of each. Candidates left out: every record within the bounds. */
export interface FoundRecords extends WordsAsked {
  ids?: readonly Id[]
  customers?: readonly CustomerId[]
  bounds?: { first: Id; last: Id }
  /** Words whose customers are read once before the list is walked: for these a record is asked no index. */
  readOnce?: readonly string[]
  /** The records bear all the words themselves, and in words only: a page can be read from these. */
  isOwn?: boolean
}

const joinedBy = (word: string, parts: readonly Fragment[]): Fragment =>
  parts.reduce((all, part) => fragment`${all} ${namesOf(word)} ${part}`, NOTHING)

/** Returns the conditions of what a search has found, over rows of its table that go by the name given. */
export function foundCondition(
  account: AccountId,
  found: FoundRecords | null | undefined,
  { list, numbers }: Searched,
  row: string,
): Fragment {
  if (found == null) return NOTHING
  const { ids, customers, bounds } = found
  const { table, id: column } = LISTS[list]
  const id = namesOf(`${row}.${column}`)
  const byCustomer = (word: string) =>
    found.readOnce?.includes(word)
      ? fragment`(${namesOf(`${row}.customer_id`)} in (${bearersOf(account, word)})) is true`
      : bears(account, 'customers', `${row}.customer_id`, word)
  const byOwn = (word: string) => {
    const words = bears(account, list, `${row}.${column}`, word)
    return numbers ? fragment`(${words} or ${numbers.condition(row, word)})` : words
  }
  const candidates =
    ids && customers
      ? fragment`and ${id} in (select unnest(${arrayLiteral(ids)}::bigint[]) union select t.${namesOf(column)} from ${namesOf(table)} t
          where t.account_id = ${account} and t.customer_id = any(${arrayLiteral(customers)}::bigint[]))`
      : fragment`${onlyAmong(`${row}.${column}`, ids)} ${onlyAmong(`${row}.customer_id`, customers)}`
  return fragment`${candidates} ${bounds ? fragment`and ${id} between ${bounds.first} and ${bounds.last}` : NOTHING}
    ${joinedBy('and', [
      ...(found.own ?? []).map(byOwn),
      ...(found.customer ?? []).map(byCustomer),
      ...(found.either ?? []).map((word) => fragment`(${byCustomer(word)} or ${byOwn(word)})`),
    ])}`
}

/** Lists the candidates of a search that bear what is asked of each. */
export async function listCandidates(
  db: Queryable,
  account: AccountId,
  list: SearchedList,
  found: FoundRecords,
  numbers?: SearchedNumbers,
): Promise<Id[]> {
  const { table, id } = LISTS[list]
  const rows = await db.rows<{ id: Id }>(sql`
    select r.${namesOf(id)} as "id" from ${namesOf(table)} r
     where r.account_id = ${account} ${foundCondition(account, found, { list, numbers }, 'r')}`)
  return rows.map((row) => row.id)
}
