import { sameAsAnswered } from './computed.ts'
import { quotedText, writable } from './header-text.ts'
import { isJsonObject, type Json } from './json.ts'
import { nearName } from './near-names.ts'

/**
 * The names of a request that nobody knows. They are ignored, and every answer names them. Only the first are kept, so that a
 * body of many thousand costs no more than counting them.
 */

const SHOWN_MAX = 20
/** Fields that are compared with what is answered; more than a body of a thousand lines has. */
const COMPARED_MAX = 20_000

interface Noted {
  path: string
  name: string
  /** The names that are known in its place. */
  spellings: ReadonlyMap<string, string>
  /** Whatever stands where a name should may be a secret here. */
  isHidden: boolean
}

export class IgnoredNames {
  #nested: Noted[] = []
  #outer: Noted[] = []
  #count = 0
  #isRead = false
  #sent: { path: string; name: string; value: Json }[] = []
  #computed: string[] = []

  /** Unknown names that were ignored. */
  get count(): number {
    return this.#count
  }

  /** Whether the request was read: a kept answer is given again without it. */
  get isRead(): boolean {
    return this.#isRead
  }

  /** Begins a reading of the request: one in a transaction that is tried again is read again. */
  begin(): void {
    this.#isRead = true
    this.#count = 0
    this.#nested = []
    this.#outer = []
    this.#sent = []
    this.#computed = []
  }

  /** Takes a field that is sent and that the service computes. Rule: identifiers, instants of writing, and what is computed as a whole are passed over. */
  sendsComputed(path: string, name: string, value: Json): void {
    const isWhole = value === null || Array.isArray(value) || isJsonObject(value)
    if (isWhole || UNTOLD.test(name) || this.#sent.length >= COMPARED_MAX) return
    this.#sent.push({ path, name, value })
  }

  /** Returns whether anything was sent that could differ from what is answered. */
  get hasComputed(): boolean {
    return this.#sent.length > 0
  }

  /** Compares what was sent of computed fields with the record that is answered; a text may be a date in another form. */
  compare(answered: Json, timeZone: string): void {
    this.#computed = this.#sent.flatMap(({ path, name, value }) => {
      const place = path === '' ? name : `${path}.${name}`
      const shown = valueAt(answered, place)
      return shown === undefined || sameAsAnswered(value, shown, timeZone) ? [] : [place]
    })
  }

  note(noted: Noted): void {
    this.#count += 1
    const kept = noted.path === '' ? this.#outer : this.#nested
    if (kept.length < SHOWN_MAX) kept.push(noted)
  }

  /**
   * Returns the names as a list of strings of RFC 9651, each with the known name that it is near to, or as computed; the last with how many more
   * there are. Empty where there are none. Names of a long list crowd out none of those that stand outside of all lists.
   */
  header(): string {
    const noted = [...this.#nested.slice(0, SHOWN_MAX - this.#outer.length), ...this.#outer]
    const members = noted.map(({ path, name, spellings, isHidden }) => {
      const near = nearName(name, spellings)
      // A name that is nearly a known one is no secret.
      const shown = isHidden && near === undefined ? '*' : writable(name)
      const place = path === '' ? shown : `${path}.${shown}`
      return near === undefined ? quotedText(place) : `${quotedText(place)};near=${quotedText(near)}`
    })
    const computed = this.#computed.slice(0, SHOWN_MAX - members.length)
    members.push(...computed.map((place) => `${quotedText(place)};computed`))
    const more = this.#count + this.#computed.length - members.length
    return `${members.join(', ')}${more > 0 ? `;more=${more}` : ''}`
  }
}

/** Names of identifiers and of instants at which something was written: a record that is copied has others. */
const UNTOLD = /(ID|Token)$|^(AppId|CreatedDate|DateCreated|DateUTC|LastModified|LastUpdated|RecordedDate)$/

/** Returns what a record has at a path such as Taxes[0].TaxAmount; undefined where it has no such place. */
function valueAt(record: Json, path: string): Json | undefined {
  let value: Json | undefined = record
  for (const step of path.split(/[.[]/)) {
    const index = /^(\d+)\]$/.exec(step)?.[1]
    if (index !== undefined) value = Array.isArray(value) ? value[Number(index)] : undefined
    else value = isJsonObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }
  return value
}
