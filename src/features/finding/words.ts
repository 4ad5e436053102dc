import type { Id } from '../../kernel/ids.ts'
import { searchWordsOf } from '../../kernel/words.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type SearchedList, sendGoneWords, sendWords } from './word-queries.ts'

/** Words of records, written with them. */

type Texts = readonly (string | null | undefined)[]

/** Writes the words of new records of a list, by their texts; most have none. */
export function sendNewWords(tx: Transaction, list: SearchedList, records: readonly { id: Id; texts: Texts }[]): void {
  const rows = records.flatMap(({ id, texts }) => searchWordsOf(texts).map((word) => ({ list, id, word })))
  if (rows.length > 0) sendWords(tx, rows)
}

/** Replaces the words of a record whose texts may have changed; those of a deleted one by none. */
export function sendChangedWords(tx: Transaction, list: SearchedList, id: Id, before: Texts, after: Texts): void {
  if (before.every((text, place) => text === after[place])) return
  const [had, has] = [searchWordsOf(before), searchWordsOf(after)]
  const gone = had.filter((word) => !has.includes(word))
  if (gone.length > 0) sendGoneWords(tx, list, id, gone)
  const added = has.filter((word) => !had.includes(word))
  if (added.length > 0)
    sendWords(
      tx,
      added.map((word) => ({ list, id, word })),
    )
}
