import { passesLuhn } from './bank-numbers.ts'
import { plainCharacters } from './pasted-numbers.ts'

/**
 * The number of a card on its way to a gateway. However it is printed, only its last four digits show, so that a log line or an error that
 * meets one by accident holds no number; `reveal` alone gives it, to the call of the gateway.
 */
export class CardNumber {
  readonly #digits: string

  constructor(digits: string) {
    this.#digits = digits
  }

  get lastFour(): string {
    return this.#digits.slice(-4)
  }

  reveal(): string {
    return this.#digits
  }

  toString(): string {
    return `**** ${this.lastFour}`
  }

  toJSON(): string {
    return this.toString()
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }
}

const DIGITS_MIN = 13
const DIGITS_MAX = 19

/** Groups of digits with nothing between them but what a number may be pasted with. */
const GROUPS = /\d+(?:[\s.·-]+\d+)*/gu

/**
 * Returns whether a text could hold the number of a card: neighbouring groups of digits that are 13 to 19 digits together and pass Luhn. Of a
 * longer run of digits without a gap no part is looked at: one in ten parts would pass.
 */
export function holdsCardNumber(text: string): boolean {
  for (const [run] of plainCharacters(text).matchAll(GROUPS)) {
    const groups = run.split(/\D+/)
    for (let first = 0; first < groups.length; first += 1) {
      let digits = ''
      for (let last = first; last < groups.length && digits.length < DIGITS_MAX; last += 1) {
        digits += groups[last]
        if (digits.length >= DIGITS_MIN && digits.length <= DIGITS_MAX && passesLuhn(digits)) return true
      }
    }
  }
  return false
}
