import type { IsoDate } from '../../kernel/calendar.ts'
import { add, type Decimal, decimal } from '../../kernel/decimal.ts'
import type { ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import type { PlainBody } from '../../platform/http/plain-body.ts'
import { readDate } from '../../platform/wire/dates.ts'
import { BULK_MAX } from '../subscription-components/wire.ts'

/** Entries of a plain body: where each of their texts stands in it, and of what they report. */

/** Reports of one subscription, component and day. */
export interface PlainGroup {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  /** Null: the present day. */
  day: IsoDate | null
  /** Units of all of them together. */
  units: Decimal
  /** The units that they have; those that differ stand in it once at least. */
  eachUnits: Decimal[]
}

/** An entry as it stands in the body: its numbers, and from where to where its texts go. `NOT_SENT` and `SENT_NULL` stand for a text. */
export interface PlainEntry {
  subscription: number
  component: number
  unitsFrom: number
  unitsTo: number
  keyFrom: number
  keyTo: number
  memoFrom: number
  memoTo: number
  dateFrom: number
}

export const NOT_SENT = 0
export const SENT_NULL = -1
const DATE_LENGTH = 10
/** Characters that the shortest entry has. */
const SHORTEST = 60

interface KnownGroup {
  place: number
  component: number
  /** As it was sent: undefined where the entry has no such name. */
  date: string | null | undefined
  group: PlainGroup
}

interface KnownSubscription {
  /** Place among the subscriptions, in the order in which the first entry of each comes. */
  place: number
  last: KnownGroup
  /** By component and date; only where there are several. */
  groups: Map<string, KnownGroup> | undefined
}

/** Numbers that are kept of an entry: no object is made of each, because thousands would have to be moved by the collector of garbage. */
const [GROUP, UNITS_FROM, UNITS_TO, KEY_FROM, KEY_TO, MEMO_FROM, MEMO_TO, OF_ENTRY] = [0, 1, 2, 3, 4, 5, 6, 7] as const

/** Entries of a plain body, in order. */
export class PlainUsage implements PlainBody {
  readonly #text: string
  readonly #entries: Int32Array
  readonly #groups: KnownGroup[] = []
  /** The place of the subscription of each group. */
  readonly #subscriptionOf: number[] = []
  readonly #subscriptions = new Map<number, KnownSubscription>()
  readonly #decimals = new Map<string, Decimal>()
  readonly #days = new Map<string, IsoDate>()
  #length = 0
  #hasMemos = false

  constructor(text: string) {
    this.#text = text
    this.#entries = new Int32Array(OF_ENTRY * Math.min(BULK_MAX, Math.ceil(text.length / SHORTEST)))
  }

  get length(): number {
    return this.#length
  }

  get hasMemos(): boolean {
    return this.#hasMemos
  }

  /** Groups in the order in which the first entry of each comes. */
  get groups(): PlainGroup[] {
    return this.#groups.map(({ group }) => group)
  }

  get subscriptions(): number {
    return this.#subscriptions.size
  }

  /** Returns the place of the subscription that a group is of. */
  subscriptionOf(group: number): number {
    return this.#subscriptionOf[group] as number
  }

  #at(index: number, which: number): number {
    return this.#entries[index * OF_ENTRY + which] as number
  }

  groupOf(index: number): number {
    return this.#at(index, GROUP)
  }

  unitsOf(index: number): string {
    return this.#text.slice(this.#at(index, UNITS_FROM), this.#at(index, UNITS_TO))
  }

  keyOf(index: number): string {
    return this.#text.slice(this.#at(index, KEY_FROM), this.#at(index, KEY_TO))
  }

  /** Returns a text, null, or undefined where the entry has no such name. */
  memoOf(index: number): string | null | undefined {
    const from = this.#at(index, MEMO_FROM)
    return from === NOT_SENT ? undefined : from === SENT_NULL ? null : this.#text.slice(from, this.#at(index, MEMO_TO))
  }

  /** Adds an entry; returns false where its date is none, or where there is no room for more. */
  add(entry: PlainEntry): boolean {
    const known = this.#groupOf(entry)
    const at = this.#length * OF_ENTRY
    if (known === undefined || at >= this.#entries.length) return false
    this.#count(known.group, this.#text.slice(entry.unitsFrom, entry.unitsTo))
    const entries = this.#entries
    entries[at + GROUP] = known.place
    entries[at + UNITS_FROM] = entry.unitsFrom
    entries[at + UNITS_TO] = entry.unitsTo
    entries[at + KEY_FROM] = entry.keyFrom
    entries[at + KEY_TO] = entry.keyTo
    entries[at + MEMO_FROM] = entry.memoFrom
    entries[at + MEMO_TO] = entry.memoTo
    this.#hasMemos ||= entry.memoFrom > NOT_SENT
    this.#length += 1
    return true
  }

  #count(group: PlainGroup, units: string): void {
    let number = this.#decimals.get(units)
    if (!number) this.#decimals.set(units, (number = decimal(units)))
    group.units = add(group.units, number)
    if (group.eachUnits.at(-1) !== number) group.eachUnits.push(number)
  }

  #groupOf({ subscription, component, dateFrom }: PlainEntry): KnownGroup | undefined {
    const known = this.#subscriptions.get(subscription)
    if (known === undefined) {
      const place = this.#subscriptions.size
      const first = this.#addGroup(place, subscription, component, this.#dateAt(dateFrom))
      if (first) this.#subscriptions.set(subscription, { place, last: first, groups: undefined })
      return first
    }
    if (this.#isOf(known.last, component, dateFrom)) return known.last
    const date = this.#dateAt(dateFrom)
    const name = `${component}/${date}`
    known.groups ??= new Map([[`${known.last.component}/${known.last.date}`, known.last]])
    const found = known.groups.get(name) ?? this.#addGroup(known.place, subscription, component, date)
    if (!found) return undefined
    known.groups.set(name, found)
    known.last = found
    return found
  }

  #addGroup(of: number, subscription: number, component: number, date: string | null | undefined) {
    const day = date == null ? null : this.#dayOf(date)
    if (day === undefined) return undefined
    const group: PlainGroup = {
      subscriptionId: BigInt(subscription) as SubscriptionId,
      componentId: BigInt(component) as ComponentId,
      day,
      units: { coefficient: 0n, scale: 0 },
      eachUnits: [],
    }
    const added: KnownGroup = { place: this.#groups.length, component, date, group }
    this.#groups.push(added)
    this.#subscriptionOf.push(of)
    return added
  }

  #dayOf(date: string): IsoDate | undefined {
    let day = this.#days.get(date)
    if (day === undefined && (day = readDate(date, 'UTC')) !== undefined) this.#days.set(date, day)
    return day
  }

  #isOf(known: KnownGroup, component: number, dateFrom: number): boolean {
    if (known.component !== component) return false
    if (dateFrom === NOT_SENT) return known.date === undefined
    if (dateFrom === SENT_NULL) return known.date === null
    return known.date != null && this.#text.startsWith(known.date, dateFrom)
  }

  #dateAt(from: number): string | null | undefined {
    return from === NOT_SENT ? undefined : from === SENT_NULL ? null : this.#text.slice(from, from + DATE_LENGTH)
  }

  identity(): string {
    const entries: string[] = []
    for (let index = 0; index < this.#length; index += 1) {
      const { date, group } = this.#groups[this.groupOf(index)] as KnownGroup
      const given = `${textUnder('Date', date)}${textUnder('Memo', this.memoOf(index))}`
      entries.push(
        `{${given}"NumUnits":${this.unitsOf(index)},"UsageKey":"${this.keyOf(index)}","componentID":${group.componentId},"subscriptionID":${group.subscriptionId}}`,
      )
    }
    return `{"Usage":[${entries.join(',')}]}`
  }
}

const textUnder = (name: string, text: string | null | undefined): string =>
  text === undefined ? '' : `"${name}":${text === null ? 'null' : `"${text}"`},`
