import type { IsoDate } from '../../kernel/calendar.ts'
import { add, type Decimal, decimal } from '../../kernel/decimal.ts'
import type { ComponentId, SubscriptionId } from '../../kernel/ids.ts'
import type { PlainBody } from '../../platform/http/plain-body.ts'
import { readDate } from '../../platform/wire/dates.ts'
import { TEXT_MAX } from '../../platform/wire/fields.ts'
import type { UsageColumns } from '../subscription-components/usage-queries.ts'
import { BULK_MAX } from '../subscription-components/wire.ts'

/**
 * Plain bodies of usage in bulk: entries of which every name is one that a program writes, in a form that needs no second look. An expression for the order
 * of names in which they come reads an entry at a time, and no digit is lost, because digits stay texts. All else is not plain: escapes, exponents, more
 * than 15 digits, blanks around a text, a code in the place of an identifier, names that nobody knows.
 */

/** Reports of one subscription, component and day. */
export interface PlainGroup {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  /** Null: the present day. */
  day: IsoDate | null
  /** Units of all of them together. */
  units: Decimal
  /** The different units that they have. */
  eachUnits: Set<Decimal>
}

/** Entries of a plain body by columns, in order. */
export class PlainUsage implements PlainBody, UsageColumns {
  readonly of: PlainGroup[] = []
  readonly groups: number[] = []
  readonly units: string[] = []
  readonly keys: string[] = []
  /** As they were sent: undefined where the entry has no such name. */
  readonly #dates: (string | null | undefined)[] = []
  readonly #memos: (string | null | undefined)[] = []
  #hasMemos = false
  readonly #positions = new Map<string, number>()
  readonly #decimals = new Map<string, Decimal>()

  get memos(): (string | null)[] | undefined {
    return this.#hasMemos ? this.#memos.map((memo) => memo ?? null) : undefined
  }

  /** Adds an entry; returns false where it is not plain. */
  add(entry: EntryTexts): boolean {
    const units = digitsOf(entry.units)
    if (units.length > NUMBER_LENGTH_MAX || !isTidy(entry.key) || (entry.memo != null && !isTidy(entry.memo)))
      return false
    const group = this.#groupOf(entry)
    if (group === undefined) return false
    let number = this.#decimals.get(units)
    if (!number) this.#decimals.set(units, (number = decimal(units)))
    const counted = this.of[group - 1] as PlainGroup
    counted.units = add(counted.units, number)
    counted.eachUnits.add(number)
    this.groups.push(group)
    this.units.push(units)
    this.keys.push(entry.key)
    this.#dates.push(entry.date)
    this.#memos.push(entry.memo)
    this.#hasMemos ||= entry.memo != null
    return true
  }

  #groupOf({ subscription, component, date }: EntryTexts): number | undefined {
    const name = `${subscription}/${component}/${date ?? ''}`
    const known = this.#positions.get(name)
    if (known !== undefined) return known
    const day = date == null ? null : readDate(date, 'UTC')
    if (day === undefined) return undefined
    const group = this.of.push({
      subscriptionId: BigInt(subscription) as SubscriptionId,
      componentId: BigInt(component) as ComponentId,
      day,
      units: { coefficient: 0n, scale: 0 },
      eachUnits: new Set(),
    })
    this.#positions.set(name, group)
    return group
  }

  identity(): string {
    const entries = this.units.map((units, index) => {
      const { subscriptionId, componentId } = this.of[(this.groups[index] as number) - 1] as PlainGroup
      const [date, memo] = [this.#dates[index], this.#memos[index]]
      const given = `${textUnder('Date', date)}${textUnder('Memo', memo)}`
      return `{${given}"NumUnits":${units},"UsageKey":"${this.keys[index]}","componentID":${componentId},"subscriptionID":${subscriptionId}}`
    })
    return `{"Usage":[${entries.join(',')}]}`
  }
}

const textUnder = (name: string, text: string | null | undefined): string =>
  text === undefined ? '' : `"${name}":${text === null ? 'null' : `"${text}"`},`

/** Fifteen digits and a point. */
const NUMBER_LENGTH_MAX = 16

/** Returns digits without needless zeros at the end, as `decimalText` writes them. */
const digitsOf = (units: string): string =>
  units.includes('.') && units.endsWith('0') ? units.replace(/\.?0+$/, '') : units

const SPACE = 32

/** Returns whether a text is taken as it stands: not blank, short enough, without blanks at its ends. */
const isTidy = (text: string): boolean =>
  text.length > 0 &&
  text.length <= TEXT_MAX &&
  text.charCodeAt(0) !== SPACE &&
  text.charCodeAt(text.length - 1) !== SPACE

/** Texts of an entry as they were sent. */
interface EntryTexts {
  subscription: string
  component: string
  units: string
  key: string
  date: string | null | undefined
  memo: string | null | undefined
}

const BLANK = '[ \\t\\n\\r]*'
/** Letters that stand for themselves in JSON, in PostgreSQL and in a list of lines: ASCII and Latin letters. */
const LETTERS = '[ !#-\\[\\]-~¡-ɏ]*'
const ID = '([1-9][0-9]{0,14})'
const VALUES: Record<string, string> = {
  subscriptionID: ID,
  componentID: ID,
  NumUnits: '((?:0|[1-9][0-9]{0,11})(?:\\.[0-9]{1,8})?)',
  UsageKey: `"(${LETTERS})"`,
  Date: `(?:null|"([0-9]{4}-[0-9]{2}-[0-9]{2})")`,
  Memo: `(?:null|"(${LETTERS})")`,
}
const NEEDED = ['subscriptionID', 'componentID', 'NumUnits', 'UsageKey']

const HEAD = new RegExp(`^${BLANK}\\{${BLANK}"Usage"${BLANK}:${BLANK}\\[`)
const TAIL = new RegExp(`${BLANK}\\}${BLANK}$`, 'y')
const NEXT_NAME = new RegExp(
  `${BLANK}[{,]${BLANK}"(${Object.keys(VALUES).join('|')})"${BLANK}:${BLANK}(?:"[^"\\\\]*"|[a-z0-9.]+)`,
  'y',
)

/** Reads entries whose names come in one order. */
interface EntryForm {
  expression: RegExp
  /** Places of the names among the texts that the expression finds; 0 where it has none. */
  at: { subscription: number; component: number; units: number; key: number; date: number; memo: number }
  /** Place of what follows the entry: a comma, or the end of the list. */
  end: number
}

/** Forms by the order of names: there are less than a thousand. */
const forms = new Map<string, EntryForm>()

/** Returns the form of the entry that stands there; undefined where its names are not all known and each once. */
function formAt(text: string, at: number): EntryForm | undefined {
  const names: string[] = []
  NEXT_NAME.lastIndex = at
  for (let found = NEXT_NAME.exec(text); found; found = NEXT_NAME.exec(text)) {
    if (names.push(found[1] as string) > Object.keys(VALUES).length) return undefined
  }
  if (new Set(names).size < names.length || NEEDED.some((name) => !names.includes(name))) return undefined
  const order = names.join()
  let form = forms.get(order)
  if (!form) forms.set(order, (form = formOf(names)))
  return form
}

function formOf(names: readonly string[]): EntryForm {
  const properties = names.map((name) => `${BLANK}"${name}"${BLANK}:${BLANK}${VALUES[name]}${BLANK}`)
  const place = (name: string) => names.indexOf(name) + 1
  return {
    expression: new RegExp(`${BLANK}\\{${properties.join(',')}\\}${BLANK}([,\\]])`, 'y'),
    at: {
      subscription: place('subscriptionID'),
      component: place('componentID'),
      units: place('NumUnits'),
      key: place('UsageKey'),
      date: place('Date'),
      memo: place('Memo'),
    },
    end: names.length + 1,
  }
}

/** Returns a text that may be null, and is undefined where the entry has no such name. */
const optionalText = (found: RegExpExecArray, place: number): string | null | undefined =>
  place === 0 ? undefined : (found[place] ?? null)

/** Reads a body about so many characters at a time, and yields nothing between them; returns undefined where it is not plain. */
export function* readPlainUsage(
  text: string,
  characters: number,
): Generator<undefined, PlainUsage | undefined, undefined> {
  const usage = new PlainUsage()
  let at = HEAD.exec(text)?.[0].length
  if (at === undefined) return undefined
  let form = formAt(text, at)
  let pause = characters
  for (let count = 0; form && count < BULK_MAX; count += 1) {
    form.expression.lastIndex = at
    let found = form.expression.exec(text)
    if (!found) {
      form = formAt(text, at)
      if (!form) return undefined
      form.expression.lastIndex = at
      found = form.expression.exec(text)
      if (!found) return undefined
    }
    const places: EntryForm['at'] = form.at
    const isPlain = usage.add({
      subscription: found[places.subscription] as string,
      component: found[places.component] as string,
      units: found[places.units] as string,
      key: found[places.key] as string,
      date: optionalText(found, places.date),
      memo: optionalText(found, places.memo),
    })
    if (!isPlain) return undefined
    at = form.expression.lastIndex
    if (found[form.end] === ']') {
      TAIL.lastIndex = at
      return TAIL.test(text) ? usage : undefined
    }
    if (at > pause) {
      pause = at + characters
      yield
    }
  }
  return undefined
}
