import { assert } from '../../kernel/assert.ts'
import { straight } from '../../kernel/text.ts'

/** HTML is written by one template function, so that no value can become markup. */

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Returns a text as it stands between tags, or in quotes within one. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)

/** Markup made by `html`: it is put into other markup as it is. */
export class Html {
  readonly markup: string

  constructor(markup: string) {
    this.markup = markup
  }
}

/** A value of a template: markup stays, lists are joined, null and false are nothing; every other value is escaped, without signs that turn its direction. */
export type HtmlValue = Html | string | number | bigint | null | undefined | false | readonly HtmlValue[]

function written(value: HtmlValue): string {
  if (value instanceof Html) return value.markup
  if (value === null || value === undefined || value === false) return ''
  return Array.isArray(value) ? value.map(written).join('') : escaped(straight(String(value)))
}

/** Returns whether the text before a value ends within a tag, outside of quotes: nothing is safe there, not even an escaped value. */
const isBare = (before: string): boolean => {
  const [, tag] = /<([a-z][^<]*)$/i.exec(before) ?? []
  if (tag === undefined) return false
  let quote = ''
  for (const char of tag) {
    if (quote === '' && char === '>') return false
    if (quote === '' && (char === '"' || char === "'")) quote = char
    else if (char === quote) quote = ''
  }
  return quote === ''
}

/** Templates by their texts: each is looked at once, however often it is written. */
const checked = new WeakSet<TemplateStringsArray>()

function check(texts: TemplateStringsArray): void {
  let before = ''
  for (const text of texts.slice(0, -1)) {
    before += text
    assert(!isBare(before), `a value stands in quotes within a tag: ${text.slice(-40)}`)
    before += '0'
  }
  checked.add(texts)
}

/** Writes markup from a template: each value is escaped unless `html` has made it. Throws where a value stands in a tag without quotes. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  if (!checked.has(texts)) check(texts)
  let markup = texts[0] ?? ''
  values.forEach((value, index) => {
    markup += written(value) + (texts[index + 1] ?? '')
  })
  return new Html(markup)
}

/** Signs that turn the direction of text around them, and others that nobody sees. */
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g

/** Returns a name without invisible signs and on one line: for a title, where no element keeps its direction to itself. */
export const plainName = (name: string): string => name.replace(INVISIBLE, '').replace(/\s+/g, ' ').trim()
