import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { baseOfNumber, documentOf, firstCountOf, isPlainNumber } from '../../rails/datev/document-numbers.ts'
import { insertNumbers, listCounts, listWrittenNumbers } from './number-queries.ts'

/** Numbers of documents in files of DATEV: one is written the same in every batch of an account, and two that come to the same are kept apart. */

/** Returns how numbers are written. Those that no batch had before are written down with this one. */
export async function writtenNumbers(
  tx: Transaction,
  exportId: Id,
  all: readonly string[],
): Promise<Map<string, string>> {
  const numbers = [...new Set(all)].filter((number) => number !== '' && !isPlainNumber(number))
  const written = new Map<string, string>()
  if (numbers.length === 0) return written
  for (const { number, document } of await listWrittenNumbers(tx, numbers)) written.set(number, document)
  let waiting = numbers.filter((number) => !written.has(number))
  const bases = [...new Set(waiting.map(baseOfNumber))]
  const counts = new Map(
    (waiting.length === 0 ? [] : await listCounts(tx, bases)).map(({ base, count }) => [base, count]),
  )
  // What another base has come to is passed over, in ever longer steps: numbers that look as if they were counted are no reason to try each.
  for (let step = 1; waiting.length > 0; step *= 2) {
    const tried = waiting.map((number) => {
      const base = baseOfNumber(number)
      const before = counts.get(base)
      const count = before === undefined ? firstCountOf(base) : before + step
      counts.set(base, count)
      return { number, base, count, document: documentOf(base, count) }
    })
    const added = new Set((await insertNumbers(tx, exportId, tried)).map(({ number }) => number))
    for (const { number, document } of tried) if (added.has(number)) written.set(number, document)
    waiting = waiting.filter((number) => !written.has(number))
  }
  return written
}
