import { hash } from 'node:crypto'
import type { Id } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { OverLine, ResultLine } from '../../platform/iso20022/result-lines.ts'
import { plainAccount } from '../../platform/iso20022/statement.ts'
import type { Reading } from './deps.ts'
import {
  type BookingQuestion,
  listOldReferences,
  listReadBookings,
  type OldQuestion,
  sendReadBookings,
} from './reference-queries.ts'
import { bookingKeyOf, entryKeyOf, type Remainder } from './references.ts'
import type { NamedByLine } from './rules.ts'

/**
 * Bookings that other files had. Rule: one is known by a real reference of the bank together with its direction, amount, currency and day. What
 * names a payment or batch of the gateway is known only by a line of the gateway that named it too.
 */

const HEX_OF_HASH = 32

/** Returns the first half of a hash in hex: it only has to be distinct. */
export const hashOf = (text: string): string => hash('sha256', text).slice(0, HEX_OF_HASH)

const bookingOf = (line: ResultLine, gatewayId: Id, named: string | null, remainder: Remainder | null = null) => {
  const key = bookingKeyOf(line, { gatewayId, remainder, named })
  return key === null ? null : hashOf(key)
}

/** Bookings that name nothing, by their lines: each is asked for and, in the same portion, noted. */
const unnamed = new WeakMap<ResultLine, string | null>()

function unnamedOf(line: ResultLine, gatewayId: Id): string | null {
  let booking = unnamed.get(line)
  if (booking === undefined) unnamed.set(line, (booking = bookingOf(line, gatewayId, null)))
  return booking
}

/** Names what a line is about of its gateway, as bookings are kept for it. */
const nameOf = ({ payment, batch }: NamedByLine): string | null => {
  if (payment) return `payment ${payment.id}`
  return batch ? `batch ${batch.id}` : null
}

/** Returns the hash of an entry whose parts have been worked on; null if it cannot be recognised. */
const workedOf = (line: ResultLine, gatewayId: Id): string | null => {
  const key = line.kind === 'part' ? entryKeyOf(line, gatewayId) : null
  return key === null ? null : hashOf(`parts worked on\n${key}`)
}

/** Finds which lines of a portion are known, by their places in it. */
export async function findKnown(
  tx: Transaction,
  { context, file }: Reading,
  lines: readonly ResultLine[],
  named: readonly NamedByLine[],
): Promise<ReadonlySet<number>> {
  const asked: BookingQuestion[] = []
  const old: (OldQuestion & { on: string })[] = []
  for (const [index, line] of lines.entries()) {
    const about = named[index] as NamedByLine
    const name = nameOf(about)
    const place = BigInt(index)
    if (line.kind !== 'part') continue
    const booking = name === null ? unnamedOf(line, file.gatewayId) : bookingOf(line, file.gatewayId, name)
    if (booking === null) continue
    asked.push({ place, booking, isOfGateway: name !== null })
    // A sum whose parts came before.
    const worked = line.entry.isWhole ? workedOf(line, file.gatewayId) : null
    if (worked !== null) asked.push({ place, booking: worked, isOfGateway: name !== null })
    const { account, on } = line.entry
    const namesOurs = name !== null || about.otherPayment !== undefined || about.isOtherBatch
    if (namesOurs || on === null || line.bankReference === null) continue
    const plain = plainAccount(account)
    old.push({
      place,
      reference: hashOf(line.bankReference),
      ofAccount: plain === null ? null : hashOf(plain),
      on,
    })
  }
  const [read, before] = await Promise.all([
    asked.length === 0 ? [] : listReadBookings(tx, file, asked),
    old.length === 0 ? [] : listOldReferences(tx, file, old),
  ])
  const dayOfLine = new Map(old.map(({ place, on }) => [place, on]))
  // One without an amount may be another booking, unless this day had come when it was read.
  const isBefore = before.filter(
    ({ place, readAt }) => (dayOfLine.get(place) as string) <= dateIn(readAt, context.account.timeZone),
  )
  return new Set([...read, ...isBefore].map(({ place }) => Number(place)))
}

/** Returns whether what is over an entry was over it in another file. */
export async function isOverKnown(
  tx: Transaction,
  { file }: Reading,
  line: OverLine,
  remainder: Remainder,
): Promise<boolean> {
  const booking = bookingOf(line, file.gatewayId, null, remainder)
  return booking !== null && (await listReadBookings(tx, file, [{ place: 0n, booking, isOfGateway: false }])).length > 0
}

/** Bookings of a portion, which later files are compared with. */
export class ReadBookings {
  readonly #gatewayId: Id
  readonly #hashes = new Set<string>()

  constructor(gatewayId: Id) {
    this.#gatewayId = gatewayId
  }

  /** Notes a line: for those that name what it names, and for those that name nothing. With `isWorkedOn` its entry's sum is known from now on. */
  add(line: ResultLine, named: NamedByLine, isWorkedOn: boolean): void {
    this.#put(unnamedOf(line, this.#gatewayId))
    const name = nameOf(named)
    if (name !== null) this.#put(bookingOf(line, this.#gatewayId, name))
    if (isWorkedOn && line.kind === 'part' && !line.entry.isWhole) this.#put(workedOf(line, this.#gatewayId))
  }

  addOver(line: OverLine, remainder: Remainder): void {
    this.#put(bookingOf(line, this.#gatewayId, null, remainder))
  }

  #put(booking: string | null): void {
    if (booking !== null) this.#hashes.add(booking)
  }

  send(tx: Transaction, { context, file }: Reading): void {
    sendReadBookings(tx, file, [...this.#hashes], context.moment.now)
  }
}
