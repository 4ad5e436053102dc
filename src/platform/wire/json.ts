import { decimalText, parseDecimal } from '../../kernel/decimal.ts'

/**
 * Request bodies keep the digits of their numbers: JSON.parse touches none, because 0.1 + 0.2 is only the beginning.
 * A number is a JsonNumber until a field decides on its type. The reader is our own for three things that others do not give together:
 * digits, objects without a prototype (a body cannot pass for one of our numbers), and an error that names the place.
 */
export class JsonNumber {
  readonly digits: string

  constructor(digits: string) {
    this.digits = digits
  }

  toString(): string {
    return this.digits
  }
}

export type Json = null | boolean | string | JsonNumber | Json[] | { [name: string]: Json }

export const isJsonNumber = (value: unknown): value is JsonNumber => value instanceof JsonNumber

export const isJsonObject = (value: unknown): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isJsonNumber(value)

/** No body of the interface is nested nearly as deep; what works on a body is recursive, so depth must end somewhere. */
const NESTING_MAX = 32
/** Longer runs of digits mean nothing to any field and would only cost time. */
const NUMBER_LENGTH_MAX = 400

/**
 * Objects of a body: without a prototype that has names of its own. Made by a constructor and not by Object.create(null), which makes a
 * hash table of each: that costs a third of the reading of a body of ten thousand entries.
 */
const BodyObject = function () {} as unknown as new () => { [name: string]: Json }
BodyObject.prototype = Object.create(null) as object

/** Mistake in a text that is not JSON, in words that continue "The body is not valid JSON: ". */
class JsonMistake extends Error {}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
// Finding control characters is the point here.
// oxlint-disable-next-line no-control-regex
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y
const ESCAPES: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** An object or a list of which more follows. */
type Open = { list: Json[] } | { object: { [name: string]: Json }; name: string }

/** Keeps what is open in a list of its own and not on the stack, so that reading can stop anywhere and go on later. */
class Reader {
  readonly #text: string
  readonly #open: Open[] = []
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Reads on to about that character; the value is undefined until the text is over. */
  readTo(end: number): Json | undefined {
    while (this.#at < end) {
      const value = this.#begun()
      const whole = value === undefined ? undefined : this.#put(value)
      if (whole === undefined) continue
      this.#space()
      if (this.#at < this.#text.length) throw this.#mistake('something follows the end')
      return whole
    }
    return undefined
  }

  #mistake(what: string): JsonMistake {
    return new JsonMistake(`${what} at character ${this.#at + 1}`)
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return
      this.#at += 1
    }
  }

  #takes(char: string): boolean {
    this.#space()
    if (this.#text[this.#at] !== char) return false
    this.#at += 1
    return true
  }

  #takesWord(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    return true
  }

  /** Reads a value; undefined where it is an object or a list that something stands in, which follows. */
  #begun(): Json | undefined {
    this.#space()
    if (this.#open.length > NESTING_MAX) throw this.#mistake(`nested deeper than ${NESTING_MAX} levels`)
    const char = this.#text[this.#at]
    if (char === '{') return this.#object()
    if (char === '[') return this.#list()
    if (char === '"') return this.#string()
    if (char === 't' && this.#takesWord('true')) return true
    if (char === 'f' && this.#takesWord('false')) return false
    if (char === 'n' && this.#takesWord('null')) return null
    return this.#number()
  }

  #object(): Json | undefined {
    const object = new BodyObject()
    this.#at += 1
    if (this.#takes('}')) return object
    this.#open.push({ object, name: this.#name(object) })
    return undefined
  }

  #name(object: object): string {
    this.#space()
    if (this.#text[this.#at] !== '"') throw this.#mistake('a name in quotes is missing')
    const name = this.#string()
    if (name in object) throw this.#mistake(`the name ${JSON.stringify(name.slice(0, 40))} comes twice, up to the one`)
    if (!this.#takes(':')) throw this.#mistake('a colon is missing')
    return name
  }

  #list(): Json | undefined {
    this.#at += 1
    if (this.#takes(']')) return []
    this.#open.push({ list: [] })
    return undefined
  }

  /** Puts a value where it belongs, and what ends with it where that belongs; returns the outermost value once nothing is open. */
  #put(value: Json): Json | undefined {
    for (let open = this.#open.at(-1); open; open = this.#open.at(-1)) {
      if ('list' in open) {
        open.list.push(value)
        if (this.#takes(',')) return undefined
        if (!this.#takes(']')) throw this.#mistake('a comma or a closing bracket is missing')
        value = open.list
      } else {
        open.object[open.name] = value
        if (this.#takes(',')) {
          open.name = this.#name(open.object)
          return undefined
        }
        if (!this.#takes('}')) throw this.#mistake('a comma or a closing brace is missing')
        value = open.object
      }
      this.#open.pop()
    }
    return value
  }

  #number(): JsonNumber {
    NUMBER.lastIndex = this.#at
    if (!NUMBER.test(this.#text)) throw this.#mistake('a value is missing')
    const digits = this.#text.slice(this.#at, NUMBER.lastIndex)
    if (digits.length > NUMBER_LENGTH_MAX) throw this.#mistake('a number has too many digits')
    this.#at += digits.length
    return new JsonNumber(digits)
  }

  #string(): string {
    this.#at += 1
    let found = ''
    for (;;) {
      PLAIN_TEXT.lastIndex = this.#at
      // It matches always, if only nothing.
      PLAIN_TEXT.test(this.#text)
      const plain = this.#text.slice(this.#at, PLAIN_TEXT.lastIndex)
      this.#at += plain.length
      // Nearly every text is one plain piece.
      found = found === '' ? plain : found + plain
      const char = this.#text[this.#at]
      if (char === undefined) throw this.#mistake('a closing quote is missing')
      if (char !== '"' && char !== '\\') throw this.#mistake('a control character stands unescaped in a text')
      this.#at += 1
      if (char === '"') return found
      found += this.#escaped()
    }
  }

  #escaped(): string {
    const char = this.#text[this.#at] ?? ''
    if (char === 'u') {
      const hex = this.#text.slice(this.#at + 1, this.#at + 5)
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw this.#mistake('\\u needs four hexadecimal digits')
      this.#at += 5
      return String.fromCharCode(Number.parseInt(hex, 16))
    }
    const meant = Object.hasOwn(ESCAPES, char) ? ESCAPES[char] : undefined
    if (meant === undefined) throw this.#mistake('an escape is unknown')
    this.#at += 1
    return meant
  }
}

type ReadJson = { json: Json } | { problem: string }

/**
 * Reads a JSON text so many characters at a time, and a value that began within them to its end: yields nothing between them and returns the
 * JSON, or the mistake in the text.
 */
export function* readJsonInSlices(text: string, characters: number): Generator<undefined, ReadJson, undefined> {
  const reader = new Reader(text)
  try {
    for (let end = characters; ; end += characters) {
      const json = reader.readTo(end)
      if (json !== undefined) return { json }
      yield
    }
  } catch (error) {
    if (error instanceof JsonMistake) return { problem: error.message }
    throw error
  }
}

/** Reads a JSON text, or returns the mistake in it. */
export function readJson(text: string): ReadJson {
  const { value } = readJsonInSlices(text, Infinity).next()
  return value as ReadJson
}

/** Reads a JSON text; undefined when it is none, or nested deeper than any body of the interface. */
export function parseJson(text: string): Json | undefined {
  const read = readJson(text)
  return 'json' in read ? read.json : undefined
}

function canonicalNumber({ digits }: JsonNumber): string {
  const exact = parseDecimal(digits)
  return exact ? decimalText(exact) : digits
}

/**
 * Returns a text that is the same for equal bodies, whatever the order of their names and the spelling of their numbers (1, 1.0, 1e0): what
 * idempotent requests, and two spellings of one field, are compared by.
 */
export function canonicalJson(value: Json | undefined): string {
  if (value === undefined) return ''
  if (isJsonNumber(value)) return canonicalNumber(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name])}`).join(',')}}`
}
