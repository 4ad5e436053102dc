import { byIdentifier, type Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listInvoicesByNumber, listOwed } from '../money/open-queries.ts'
import { type FileOfLines, listByMandate, listProposedInvoices, type MandateQuestion } from './match-queries.ts'
import type { LineToList, Proposal } from './to-list.ts'

/** Payments and invoices that are proposed for lines. Rule: each for one line, the newest that is free first. */

/** Payments and invoices, by the place of the line that they are proposed for. */
export interface Proposed {
  payments: ReadonlyMap<number, Id>
  invoices: ReadonlyMap<number, Id>
}

export async function proposedFor(tx: Transaction, file: FileOfLines, lines: readonly LineToList[]): Promise<Proposed> {
  const wishes = lines.map(({ proposal }) => proposal)
  const named = new Set(lines.flatMap(({ named: id }) => (id === null ? [] : [id])))
  const [payments, invoices] = await Promise.all([
    proposedPayments(tx, file, wishes, named),
    proposedInvoices(tx, file, wishes),
  ])
  return { payments, invoices }
}

/** Finds the payments of returns that name none, by mandate, amount and day. */
async function proposedPayments(
  tx: Transaction,
  file: FileOfLines,
  wishes: readonly (Proposal | null)[],
  named: ReadonlySet<Id>,
): Promise<Map<number, Id>> {
  // Lines that ask the same are asked for once; of what is found each takes one.
  const groups = new Map<string, { question: MandateQuestion; places: bigint[] }>()
  const rivals = new Map<string, bigint>()
  for (const [index, wish] of wishes.entries()) {
    if (wish?.kind !== 'payment') continue
    const { mandate, amount, on } = wish
    const key = JSON.stringify([mandate, amount.currency, amount.amountMinor.toString(), on])
    const question = { place: BigInt(groups.size), mandate, ...amount, on, more: 0n }
    const group = groups.get(key) ?? { question, places: [] }
    group.places.push(BigInt(index))
    groups.set(key, group)
    rivals.set(mandate, (rivals.get(mandate) ?? 0n) + 1n)
  }
  if (groups.size === 0) return new Map()
  const asked = [...groups.values()].map(({ question, places }) => ({ places, question }))
  const found = await listByMandate(
    tx,
    file,
    asked.map(({ question }) => ({
      ...question,
      more: (rivals.get(question.mandate) ?? 1n) - 1n + BigInt(named.size),
    })),
  )
  const byQuestion = new Map<bigint, Id[]>(asked.map(({ question }) => [question.place, []]))
  for (const { place, id } of found) byQuestion.get(place)?.push(id)
  const wanted = asked.flatMap(({ places, question }) =>
    places.map((place) => ({ place, ids: byQuestion.get(question.place) ?? [] })),
  )
  wanted.sort((one, other) => Number(one.place - other.place))
  return takeFree(wanted, named)
}

/** Gives each place the first of what was found for it that no place before has. */
function takeFree(wanted: readonly { place: bigint; ids: readonly Id[] }[], taken: ReadonlySet<Id>): Map<number, Id> {
  const given = new Map<number, Id>()
  const gone = new Set(taken)
  for (const { place, ids } of wanted) {
    const free = ids.find((id) => !gone.has(id))
    if (free === undefined) continue
    given.set(Number(place), free)
    gone.add(free)
  }
  return given
}

/** Finds the invoices that credits name by their number, where their open amount is that of the credit. */
async function proposedInvoices(
  tx: Transaction,
  file: FileOfLines,
  wishes: readonly (Proposal | null)[],
): Promise<Map<number, Id>> {
  const numbers = new Set(wishes.flatMap((wish) => (wish?.kind === 'invoice' ? wish.numbers : [])))
  if (numbers.size === 0) return new Map()
  const named = await listInvoicesByNumber(tx, tx.account, [...numbers])
  if (named.length === 0) return new Map()
  const ids = named.map(({ id }) => id)
  const [owed, taken] = await Promise.all([
    listOwed(
      tx,
      tx.account,
      ids.map((id) => ({ kind: 'invoice', id })),
    ),
    listProposedInvoices(tx, file.id, ids),
  ])
  const open = new Map(owed.filter(({ state }) => state === 'open').map((one) => [one.id, one]))
  const byNumber = new Map(named.map((one) => [one.number, one.id]))
  const found = wishes.flatMap((wish, index) => {
    if (wish?.kind !== 'invoice') return []
    const { amountMinor, currency } = wish.amount
    const fitting = wish.numbers.flatMap((number) => {
      const invoice = open.get(byNumber.get(number) ?? 0n)
      return invoice?.currency === currency && invoice.openMinor === amountMinor ? [invoice.id] : []
    })
    return [{ place: BigInt(index), ids: fitting.sort((a, b) => byIdentifier(b, a)) }]
  })
  return takeFree(found, taken)
}
