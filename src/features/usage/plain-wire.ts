import { TEXT_MAX } from '../../platform/wire/fields.ts'
import { BULK_MAX } from '../subscription-components/wire.ts'
import { NOT_SENT, type PlainEntry, PlainUsage, SENT_NULL } from './plain-usage.ts'

/**
 * Reads plain bodies of usage in bulk: entries of which every name is one that a program writes, in a form that needs no second look. They are gone through
 * once, letter by letter, and no digit is lost, because digits stay texts. All else is not plain: escapes, exponents, more than 15 digits, blanks around a
 * text, a code in the place of an identifier, names that nobody knows.
 */

const NAMES = ['subscriptionID', 'componentID', 'NumUnits', 'Date', 'UsageKey', 'Memo'] as const
const QUOTED = NAMES.map((name) => `"${name}"`)
const [SUBSCRIPTION, COMPONENT, UNITS, DATE, KEY, MEMO] = [0, 1, 2, 3, 4, 5] as const
const NEEDED = [SUBSCRIPTION, COMPONENT, UNITS, KEY].reduce((bits: number, name) => bits | (1 << name), 0)

const codeOf = (letter: string): number => letter.charCodeAt(0)
const [TAB, LINE, RETURN, SPACE] = ['\t', '\n', '\r', ' '].map(codeOf) as [number, number, number, number]
const [QUOTE, BACKSLASH, COMMA, COLON] = ['"', '\\', ',', ':'].map(codeOf) as [number, number, number, number]
const [OPEN, CLOSE, END_OF_LIST, POINT] = ['{', '}', ']', '.'].map(codeOf) as [number, number, number, number]
const [ZERO, NINE, HYPHEN, TILDE] = ['0', '9', '-', '~'].map(codeOf) as [number, number, number, number]
/** Latin letters beyond ASCII. */
const [FIRST_LATIN, LAST_LATIN] = [0xa1, 0x24f] as const

const ID_DIGITS_MAX = 15
const WHOLE_DIGITS_MAX = 12
const FRACTION_DIGITS_MAX = 8
/** Fifteen digits and a point. */
const NUMBER_LENGTH_MAX = 16
const DATE_FORM = '0000-00-00'

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

/** Goes through a body; every method that takes something returns whether it stood there. */
class Scanner implements PlainEntry {
  at = 0
  subscription = 0
  component = 0
  unitsFrom = 0
  unitsTo = 0
  keyFrom = 0
  keyTo = 0
  memoFrom: number = NOT_SENT
  memoTo = 0
  dateFrom: number = NOT_SENT
  readonly #text: string
  /** The order in which the names of the last entry came: those of the next one mostly come in it, too. */
  readonly #order: number[] = QUOTED.map((_, index) => index)

  constructor(text: string) {
    this.#text = text
  }

  #blanks(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.at)
      if (code !== SPACE && code !== LINE && code !== TAB && code !== RETURN) return
      this.at += 1
    }
  }

  /** Takes a character with blanks around it. */
  sign(code: number): boolean {
    this.#blanks()
    if (this.#text.charCodeAt(this.at) !== code) return false
    this.at += 1
    this.#blanks()
    return true
  }

  word(word: string): boolean {
    if (!this.#text.startsWith(word, this.at)) return false
    this.at += word.length
    return true
  }

  end(): boolean {
    this.#blanks()
    return this.at === this.#text.length
  }

  entry(): boolean {
    if (!this.sign(OPEN)) return false
    this.memoFrom = NOT_SENT
    this.dateFrom = NOT_SENT
    let seen = 0
    for (let turn = 0; ; turn += 1) {
      const name = this.#name(turn)
      const bit = 1 << name
      if (name < 0 || (seen & bit) !== 0 || !this.sign(COLON) || !this.#value(name)) return false
      seen |= bit
      if (this.sign(COMMA)) continue
      return this.sign(CLOSE) && (seen & NEEDED) === NEEDED
    }
  }

  #name(turn: number): number {
    const usual = this.#order[turn]
    if (usual !== undefined && this.word(QUOTED[usual] as string)) return usual
    const name = QUOTED.findIndex((quoted) => this.word(quoted))
    if (usual !== undefined) this.#order[turn] = name < 0 ? usual : name
    return name
  }

  #value(name: number): boolean {
    switch (name) {
      case SUBSCRIPTION:
        return (this.subscription = this.#id()) > 0
      case COMPONENT:
        return (this.component = this.#id()) > 0
      case UNITS:
        return this.#units()
      case DATE:
        if (this.word('null')) this.dateFrom = SENT_NULL
        else return this.#date()
        return true
      case KEY:
        this.keyFrom = this.at + 1
        this.keyTo = this.#textEnd()
        return this.keyTo > 0
      case MEMO:
        if (this.word('null')) this.memoFrom = SENT_NULL
        else {
          this.memoFrom = this.at + 1
          this.memoTo = this.#textEnd()
          return this.memoTo > 0
        }
        return true
      default:
        return false
    }
  }

  /** Takes an identifier; returns 0 where there is none. */
  #id(): number {
    const from = this.at
    let id = 0
    for (let code = this.#text.charCodeAt(from); isDigit(code); code = this.#text.charCodeAt(this.at)) {
      if (id === 0 && code === ZERO) return 0
      id = id * 10 + code - ZERO
      this.at += 1
      if (this.at - from > ID_DIGITS_MAX) return 0
    }
    return id
  }

  #digits(most: number): number {
    const from = this.at
    while (isDigit(this.#text.charCodeAt(this.at)) && this.at - from < most) this.at += 1
    return this.at - from
  }

  /** Takes a number, and leaves out needless zeros at its end, as `decimalText` writes it. */
  #units(): boolean {
    const text = this.#text
    const from = this.at
    if (this.#digits(text.charCodeAt(from) === ZERO ? 1 : WHOLE_DIGITS_MAX) === 0) return false
    let to = this.at
    if (text.charCodeAt(to) === POINT) {
      this.at += 1
      if (this.#digits(FRACTION_DIGITS_MAX) === 0) return false
      to = this.at
      while (text.charCodeAt(to - 1) === ZERO) to -= 1
      if (text.charCodeAt(to - 1) === POINT) to -= 1
    }
    this.unitsFrom = from
    this.unitsTo = to
    return to - from <= NUMBER_LENGTH_MAX
  }

  #date(): boolean {
    const text = this.#text
    const from = this.at + 1
    for (let index = 0; index < DATE_FORM.length; index += 1) {
      const code = text.charCodeAt(from + index)
      if (DATE_FORM.charCodeAt(index) === HYPHEN ? code !== HYPHEN : !isDigit(code)) return false
    }
    this.dateFrom = from
    this.at = from + DATE_FORM.length + 1
    return text.charCodeAt(from - 1) === QUOTE && text.charCodeAt(this.at - 1) === QUOTE
  }

  /**
   * Takes a text of letters that stand for themselves in JSON, in PostgreSQL and in a list of lines, ASCII and Latin ones: not blank, short enough, and without blanks
   * at its ends. Returns where it ends; 0 where there is none.
   */
  #textEnd(): number {
    const text = this.#text
    if (text.charCodeAt(this.at) !== QUOTE) return 0
    const from = this.at + 1
    let to = from
    for (let code = text.charCodeAt(to); code !== QUOTE; code = text.charCodeAt(to)) {
      const isLetter =
        (code >= SPACE && code <= TILDE && code !== BACKSLASH) || (code >= FIRST_LATIN && code <= LAST_LATIN)
      if (!isLetter) return 0
      to += 1
    }
    this.at = to + 1
    const length = to - from
    if (length === 0 || length > TEXT_MAX) return 0
    return text.charCodeAt(from) === SPACE || text.charCodeAt(to - 1) === SPACE ? 0 : to
  }
}

/** Reads a body about so many characters at a time, and yields nothing between them; returns undefined where it is not plain. */
export function* readPlainUsage(
  text: string,
  characters: number,
): Generator<undefined, PlainUsage | undefined, undefined> {
  const scanner = new Scanner(text)
  if (!scanner.sign(OPEN) || !scanner.word('"Usage"') || !scanner.sign(COLON) || !scanner.word('[')) return undefined
  const usage = new PlainUsage(text)
  let pause = characters
  for (let count = 0; count < BULK_MAX; count += 1) {
    if (!scanner.entry() || !usage.add(scanner)) return undefined
    if (!scanner.sign(COMMA)) {
      const isWhole = scanner.sign(END_OF_LIST) && scanner.sign(CLOSE) && scanner.end()
      return isWhole ? usage : undefined
    }
    if (scanner.at > pause) {
      pause = scanner.at + characters
      yield
    }
  }
  return undefined
}
