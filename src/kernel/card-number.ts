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
