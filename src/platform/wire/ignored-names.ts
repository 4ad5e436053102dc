import { quotedText, writable } from './header-text.ts'
import { nearName } from './near-names.ts'

/**
 * The names of a request that nobody knows. They are ignored, and every answer names them. Only the first are kept, so that a
 * body of many thousand costs no more than counting them.
 */

const SHOWN_MAX = 20

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

  /** Names that were ignored. */
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
  }

  note(noted: Noted): void {
    this.#count += 1
    const kept = noted.path === '' ? this.#outer : this.#nested
    if (kept.length < SHOWN_MAX) kept.push(noted)
  }

  /**
   * Returns the names as a list of strings of RFC 9651, each with the known name that it is near to; the last with how many more there are.
   * Names of a long list crowd out none of those that stand outside of all lists.
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
    const more = this.#count - noted.length
    return `${members.join(', ')}${more > 0 ? `;more=${more}` : ''}`
  }
}
