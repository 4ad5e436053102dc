import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { Search } from '../../platform/wire/search.ts'
import type { PageStart } from '../../platform/http/paging.ts'
import {
  countFound,
  type FoundRecords,
  isBorneByAtMost,
  listCandidates,
  listFound,
  type SearchedList,
  type Searched,
} from './word-queries.ts'

/** Number of records, or of customers, that are looked at one by one. Of more a list is walked, which soon meets as many as stand on a page. */
const FEW = 1_000

/** Records that a word is first looked up by: of more nothing is read before the page. */
const FIRST = 100

const isFew = (found: readonly unknown[]): boolean => found.length <= FEW

/** Finds customers whose words begin so: all where they are few, else those within bounds, which are looked for while the list is walked. */
export async function searchCustomers(
  db: Queryable,
  account: AccountId,
  words: readonly string[],
): Promise<FoundRecords> {
  const ids = await listFound(db, account, 'customers', words, { limit: FEW + 1 })
  return isFew(ids) ? { ids } : { own: words, ...(await boundsOf(db, account, 'customers', words, ids)) }
}

/** Returns the identifiers between which all records lie that bear words, of which the first are known. */
async function boundsOf(
  db: Queryable,
  account: AccountId,
  list: SearchedList,
  words: readonly string[],
  [first]: readonly Id[],
): Promise<Pick<FoundRecords, 'bounds'>> {
  const [last] = await listFound(db, account, list, words, { limit: 1, isNewestFirst: true })
  return first === undefined || last === undefined ? {} : { bounds: { first, last } }
}

/**
 * Finds records of customers. Rule: by fields of their own, which bear all the words; where no record does, each word may be borne by a field of
 * the record or by its customer. Null without a search.
 */
export async function searchRecords(
  db: Queryable,
  account: AccountId,
  search: Search | null | undefined,
  of: Searched,
): Promise<FoundRecords | null> {
  if (search == null) return null
  const asked: Asked = { db, account, of, owned: [] }
  for (const word of search.words) asked.owned.push({ word, ids: await listOwn(asked, word) })
  return (await searchOwn(asked)) ?? (await searchSpread(asked))
}

interface Asked {
  db: Queryable
  account: AccountId
  of: Searched
  /** Words with the records whose fields bear them: all where they are few. */
  owned: { word: string; ids: readonly Id[] }[]
}

const wordsOf = (owned: Asked['owned']): string[] => owned.map(({ word }) => word)

/** Returns the number of records of a word up to which they are looked at one by one. */
const wordLimit = ({ numbers }: Searched): number => (numbers ? FEW : FIRST)

async function listOwn({ db, account, of }: Asked, word: string): Promise<Id[]> {
  const limit = wordLimit(of) + 1
  const numbered = (await of.numbers?.list(db, account, word, limit)) ?? []
  const worded = await listFound(db, account, of.list, [word], { limit })
  return [...new Set([...numbered.map(({ id }) => id), ...worded])]
}

/** Finds records that bear all the words themselves; null where none does. */
async function searchOwn({ db, account, of, owned }: Asked): Promise<FoundRecords | null> {
  if (owned.some(({ ids }) => ids.length === 0)) return null
  const words = wordsOf(owned)
  const least = owned.reduce((a, b) => (b.ids.length < a.ids.length ? b : a))
  if (least.ids.length <= wordLimit(of)) {
    const own = words.filter((word) => word !== least.word)
    const ids = await listCandidates(db, account, of.list, { ids: least.ids, own }, of.numbers)
    return ids.length === 0 ? null : { ids }
  }
  if (of.numbers && owned.length === 1) return { own: words }
  const ids = await listFound(db, account, of.list, words, { limit: 1 })
  return ids.length === 0 ? null : { own: words, isOwn: !of.numbers }
}

/**
 * Returns a filter and the start of its page with what a search has found made narrow: the records of the page where nothing else is asked for,
 * which are found by the words alone; else all where they are few, or the bounds between which they lie.
 */
export async function narrowed<F extends { found?: FoundRecords | null }>(
  db: Queryable,
  account: AccountId,
  list: SearchedList,
  filter: F,
  start: PageStart,
  limit: number,
): Promise<{ filter: F; start: PageStart }> {
  const { found } = filter
  if (!found?.isOwn || !found.own) return { filter, start }
  if (start.isAfter || !isAlone(filter)) return { filter: await bounded(db, account, list, filter, found.own), start }
  const ids = await listFound(db, account, list, found.own, { ...start, limit })
  return { filter: { ...filter, found: { ids } }, start: { ...start, skip: 0 } }
}

/** Counts the records of a filter, from their words where nothing else is asked for. */
export async function countNarrowed<F extends { found?: FoundRecords | null }>(
  db: Queryable,
  account: AccountId,
  list: SearchedList,
  filter: F,
  count: (filter: F) => Promise<number>,
): Promise<number> {
  const { found } = filter
  if (!found?.isOwn || !found.own) return count(filter)
  if (isAlone(filter)) return countFound(db, account, list, found.own)
  return count(await bounded(db, account, list, filter, found.own))
}

const isAlone = ({ found: _found, ...others }: { found?: unknown }): boolean =>
  Object.values(others).every((value) => value == null)

async function bounded<F>(
  db: Queryable,
  account: AccountId,
  list: SearchedList,
  filter: F,
  own: readonly string[],
): Promise<F> {
  const ids = await listFound(db, account, list, own, { limit: FEW + 1 })
  return { ...filter, found: isFew(ids) ? { ids } : { own, ...(await boundsOf(db, account, list, own, ids)) } }
}

/** Customers of a word that are read before a list is walked, which is less than asking an index for each of the records that it passes. */
const READ_MAX = 30_000

async function wordsToRead(db: Queryable, account: AccountId, words: readonly string[]): Promise<string[]> {
  const read: string[] = []
  for (const word of words) if (await isBorneByAtMost(db, account, word, READ_MAX)) read.push(word)
  return read
}

/** Finds records that bear each word themselves or by their customer, who bears at least those that no record does. */
async function searchSpread({ db, account, of, owned }: Asked): Promise<FoundRecords> {
  const words = wordsOf(owned)
  const few = wordLimit(of)
  const listCustomers = (some: readonly string[]) =>
    listFound<CustomerId>(db, account, 'customers', some, { limit: FEW + 1 })
  const theirs = await listCustomers(words)
  const [borne, others] = [
    owned.filter(({ ids }) => ids.length > 0),
    wordsOf(owned.filter(({ ids }) => ids.length === 0)),
  ]
  if (borne.length === 0 || words.length === 1)
    return isFew(theirs) ? { customers: theirs } : { customer: words, readOnce: await wordsToRead(db, account, words) }
  const wide = borne.filter(({ ids }) => ids.length > few)
  // Records that bear a word which very many bear are looked for among those of customers who bear the others.
  const more = wide.length > 0 && others.length > 0 ? await listCustomers(others) : []
  if (!isFew(theirs) || !isFew(more) || (wide.length > 0 && others.length === 0))
    return { either: wordsOf(borne), customer: others }
  const ids = borne.filter((one) => one.ids.length <= few).flatMap((one) => one.ids)
  return { ids, customers: [...new Set([...theirs, ...more])], either: wordsOf(borne), customer: others }
}
