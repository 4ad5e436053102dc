import type { Problems } from '../../kernel/fault.ts'
import { isBlank as isBlankText, sentenceList } from '../../kernel/text.ts'
import type { IgnoredNames } from './ignored-names.ts'
import { canonicalJson, type Json, isJsonNumber, isJsonObject } from './json.ts'
import { nearName } from './near-names.ts'
import { asComponent, alsoDescribedAs, describedAs, nullable, type Schema } from './schema.ts'

/** How request bodies are read: one declaration gives the checks, the TypeScript type and the OpenAPI schema. */

export interface ReadContext {
  problems: Problems
  /** The zone that dates without an offset are in, and that an instant becomes a day in. */
  timeZone: string
  /** RFC 7240: every unknown field is an error. */
  isStrict: boolean
  /** True while a value must not be repeated in a message (card numbers, passwords). */
  isSecret: boolean
  /** Takes the unknown names where they are no errors; left out: nobody asks for them. */
  ignored?: IgnoredNames
  /** The word of refusals for what has an unknown name; left out: a field. */
  nameOf?: 'field' | 'parameter'
}

/** A field's value that was refused; the problem is already noted. */
export const REFUSED = Symbol('refused')
export type Refused = typeof REFUSED

export interface Field<T> {
  schema: Schema
  read(value: Json, path: string, context: ReadContext): T | Refused
  /** Blank text counts as "not given" unless the field reads texts that may be blank. */
  isBlankNull: boolean
  isSecret?: boolean
  /** The schema without the meaning of the field that it has, see `described`. */
  plain?: Schema
  /** Of an object: every name that it takes, with the one that is documented. */
  spellings?: ReadonlyMap<string, string>
  /** Of an object: what it is declared of. */
  properties?: Properties
}

export interface Property<T, Presence extends 'required' | 'optional'> {
  field: Field<T>
  presence: Presence
  /** Other spellings that the interface uses for this field. */
  aliases: readonly string[]
  /** A required field that null (or blank) clears: only left out it is refused. */
  isCleared?: true
  /** The meaning of the field, for the reference, and of leaving it out. */
  sentence?: string | undefined
  leftOut?: string | undefined
}

export type Properties = Record<string, Property<unknown, 'required' | 'optional'>>

/** Names of the fields that a body sets, except for those left out. */
export const namesOfInputs = <P extends Properties, Out extends keyof P = never>(
  properties: P,
  ...leftOut: Out[]
): Exclude<keyof P, Out>[] =>
  Object.keys(properties).filter((name) => !leftOut.includes(name as Out)) as Exclude<keyof P, Out>[]

/** Body as it was read: required fields are there, optional ones are absent (undefined), cleared (null) or given. */
export type BodyOf<P extends Properties> = {
  [K in keyof P as P[K]['presence'] extends 'required' ? K : never]: P[K] extends Property<infer T, 'required'>
    ? T
    : never
} & {
  [K in keyof P as P[K]['presence'] extends 'optional' ? K : never]?: P[K] extends Property<infer T, 'optional'>
    ? T | null
    : never
}

/** Declares a field that has to be sent, with its meaning. */
export const required = <T>(
  field: Field<T>,
  sentence?: string,
  aliases: readonly string[] = [],
): Property<T, 'required'> => ({ field, presence: 'required', sentence, aliases })

/** Declares a field that has to be sent, where null clears it. */
export const requiredOrNull = <T>(field: Field<T>, sentence?: string): Property<T | null, 'required'> => ({
  ...(required(field, sentence) as Property<T | null, 'required'>),
  isCleared: true,
})

/** Declares a field that may be left out, with its meaning and that of leaving it out. */
export const optional = <T>(
  field: Field<T>,
  sentence?: string,
  leftOut?: string,
  aliases: readonly string[] = [],
): Property<T, 'optional'> => ({ field, presence: 'optional', sentence, leftOut, aliases })

/** Returns a value as a message may repeat it: short, and never a secret. */
export function shown(value: Json, context: ReadContext): string {
  if (context.isSecret) return 'something else'
  if (value === null) return 'null'
  if (isJsonNumber(value)) return value.toString().slice(0, 40)
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : String(value)
}

const SECRET_NAMES = /^(number|securitycode|cvv|cvc|accountnumber|iban|bank_accnumber|password|apikey|key|settings)$/i

const secretNames = new Map<string, boolean>()

/** Returns whether a declared name is a secret's: looked at once for each of them. */
function isSecretName(name: string): boolean {
  let isSecret = secretNames.get(name)
  if (isSecret === undefined) secretNames.set(name, (isSecret = SECRET_NAMES.test(name)))
  return isSecret
}

/** Names that nobody declared may have any length. */
const NAME_SHOWN = 100

const at = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

interface ObjectOptions {
  /** Names that are ignored, in strict handling too: computed fields that a caller sends back as they were read. */
  ignored?: readonly string[]
  /** Makes the object a component of the OpenAPI document, and so a type on its own in generated clients. */
  name?: string
}

/** Reads an object with declared properties. */
export function objectOf<P extends Properties>(properties: P, options: ObjectOptions = {}): Field<BodyOf<P>> {
  const names = Object.keys(properties)
  const spellings = new Map<string, string>()
  for (const name of names) {
    spellings.set(name, name)
    for (const alias of properties[name]?.aliases ?? []) spellings.set(alias, name)
  }
  const ignored = new Set(options.ignored ?? [])
  // Later entries win: the documented name comes before its aliases in what a message suggests.
  const known = [...ignored, ...[...spellings.keys()].filter((spelling) => !names.includes(spelling)), ...names]
  const byLowerCase = new Map(known.map((spelling) => [spelling.toLowerCase(), spelling]))
  return {
    isBlankNull: false,
    schema: options.name ? asComponent(options.name, schemaOf(properties, names)) : schemaOf(properties, names),
    spellings,
    properties,
    read(value, path, context) {
      if (!isJsonObject(value)) {
        const place = path === '' ? 'The body' : path
        context.problems.add('wrong_type', path === '' ? null : path, `${place} must be a JSON object.`)
        return REFUSED
      }
      checkNames(value, path, context, { spellings, byLowerCase, ignored })
      return readProperties(value, path, context, properties, names)
    },
  }
}

interface Names {
  spellings: Map<string, string>
  byLowerCase: Map<string, string>
  ignored: Set<string>
}

/** Returns whether a name is one of paging, which may stand in every request, also where there are no pages. */
const isPaging = (name: string): boolean => name === 'page' || name === 'page_size'

function checkNames(value: { [name: string]: Json }, path: string, context: ReadContext, names: Names): void {
  for (const name of Object.keys(value)) {
    if (names.spellings.has(name) || isPaging(name)) continue
    if (names.ignored.has(name)) {
      context.ignored?.sendsComputed(path, name, value[name] as Json)
      continue
    }
    const meant = names.byLowerCase.get(name.toLowerCase())
    if (meant !== undefined) {
      const place = at(path, name)
      context.problems.add('wrong_letter_case', place, `The field ${place} is not known; did you mean ${meant}?`)
    } else if (context.isStrict) refuseName(name, path, context, names)
    else context.ignored?.note({ path, name, spellings: names.spellings, isHidden: context.isSecret })
  }
}

/** Problems from which on no near name is looked for: a body may hold a hundred thousand unknown ones. */
const HINTS_MAX = 20

function refuseName(name: string, path: string, context: ReadContext, { spellings }: Names): void {
  const near = context.problems.found.length < HINTS_MAX ? nearName(name, spellings) : undefined
  // Whatever stands where a name should: a secret is repeated nowhere. One that is nearly a known name is none.
  const isHidden = context.isSecret && near === undefined
  const shownName = isHidden ? '…' : name.length > NAME_SHOWN ? `${name.slice(0, NAME_SHOWN)}…` : name
  const place = at(path, shownName)
  const { nameOf = 'field' } = context
  const hint = near === undefined ? '.' : `; did you mean ${near}?`
  context.problems.add(`unknown_${nameOf}`, place, `The ${nameOf} ${place} is not known${hint}`)
}

function readProperties<P extends Properties>(
  value: { [name: string]: Json },
  path: string,
  context: ReadContext,
  properties: P,
  names: readonly string[],
): BodyOf<P> {
  const found: Record<string, unknown> = {}
  for (const name of names) {
    const property = properties[name] as Property<unknown, 'required' | 'optional'>
    const given = givenValue(value, name, property, path, context)
    // A body may hold ten thousand entries of few fields: what is not secret needs no context of its own.
    const reading = context.isSecret || !isSecretName(name) ? context : { ...context, isSecret: true }
    const result = readProperty(given, at(path, name), property, reading)
    if (result !== REFUSED && result !== undefined) found[name] = result
  }
  return found as BodyOf<P>
}

/** Returns the value under the field's own name or an alias; both with different values is a problem. */
function givenValue(
  value: { [name: string]: Json },
  name: string,
  property: Property<unknown, 'required' | 'optional'>,
  path: string,
  context: ReadContext,
): Json | undefined {
  let given = Object.hasOwn(value, name) ? value[name] : undefined
  for (const alias of property.aliases) {
    if (!Object.hasOwn(value, alias)) continue
    const other = value[alias] as Json
    if (given === undefined) given = other
    else if (canonicalJson(given) !== canonicalJson(other)) {
      context.problems.add(
        'contradiction',
        at(path, alias),
        `${at(path, name)} and ${at(path, alias)} are the same field and were sent with different values.`,
      )
    }
  }
  return given
}

function readProperty(
  given: Json | undefined,
  path: string,
  property: Property<unknown, 'required' | 'optional'>,
  context: ReadContext,
): unknown {
  const isBlank = given === null || (property.field.isBlankNull && typeof given === 'string' && isBlankText(given))
  if (property.presence === 'required') {
    if (given === undefined) {
      context.problems.add('required', path, `${path} is required${property.isCleared ? '; null clears it' : ''}.`)
      return REFUSED
    }
    if (isBlank && !property.isCleared) {
      context.problems.add(
        'required',
        path,
        `${path} is required and must not be ${given === null ? 'null' : 'blank'}.`,
      )
      return REFUSED
    }
  }
  if (given === undefined) return undefined
  if (isBlank) return null
  return property.field.read(given, path, property.field.isSecret ? { ...context, isSecret: true } : context)
}

/** Returns the schema of a property without its meaning: how its values are written, and what else it is called. */
export function propertySchema({ field, presence, aliases, isCleared }: Property<unknown, any>): Schema {
  const schema = presence === 'required' && !isCleared ? field.schema : nullable(field.schema)
  return aliases.length > 0 ? alsoDescribedAs(schema, `Also taken as ${sentenceList(aliases, 'or')}`) : schema
}

/** Names each field once, by its documented name: a schema with its other spellings would be no type for a generated client. */
function schemaOf(properties: Properties, names: readonly string[]): Schema {
  const entries = names.map((name) => {
    const property = properties[name] as Property<unknown, 'required' | 'optional'>
    const { sentence, leftOut } = property
    const schema = propertySchema(property)
    const meant = sentence === undefined ? schema : describedAs(schema, sentence)
    return [name, leftOut === undefined ? meant : alsoDescribedAs(meant, leftOut)]
  })
  const required = names.filter((name) => properties[name]?.presence === 'required')
  return {
    type: 'object',
    properties: Object.fromEntries(entries) as Schema,
    ...(required.length > 0 ? { required } : {}),
  }
}

/** Declares a list of one kind of entry. Absent entries are refused one by one, so that every problem has its place. */
export function listOf<T>(item: Field<T>, bounds: { min?: number; max: number; what: string }): Field<T[]> {
  return {
    isBlankNull: false,
    schema: {
      type: 'array',
      items: item.schema,
      maxItems: bounds.max,
      ...(bounds.min ? { minItems: bounds.min } : {}),
    },
    read(value, path, context) {
      if (!Array.isArray(value)) {
        context.problems.add('wrong_type', path, `${path} must be a list.`)
        return REFUSED
      }
      if (value.length > bounds.max || value.length < (bounds.min ?? 0)) {
        const limit = value.length > bounds.max ? `at most ${bounds.max}` : `at least ${bounds.min}`
        const complaint =
          value.length === 0 && bounds.min === 1
            ? `${path} must not be empty.`
            : `${path} must hold ${limit} ${bounds.what}; ${value.length} were sent.`
        context.problems.add('wrong_count', path, complaint)
        return REFUSED
      }
      const items = value.map((entry, index) => item.read(entry, `${path}[${index}]`, context))
      return items.includes(REFUSED as never) ? REFUSED : (items as T[])
    },
  }
}

/** Refuses a list in which an entry comes twice. */
export const distinct = <T>(list: Field<T[]>): Field<T[]> => ({
  ...list,
  schema: { ...list.schema, uniqueItems: true },
  read(value, path, context) {
    const entries = list.read(value, path, context)
    if (entries === REFUSED) return REFUSED
    const again = entries.findIndex((entry, index) => entries.indexOf(entry) < index)
    if (again < 0) return entries
    context.problems.add('repeated', `${path}[${again}]`, `${path} names ${String(entries[again])} twice.`)
    return REFUSED
  },
})

/** Reads one of some words. With `anyCase` letter case does not matter; the result is always the word as listed. */
export function word<W extends string>(words: readonly W[], options: { anyCase?: boolean } = {}): Field<W> {
  return {
    isBlankNull: true,
    schema: {
      type: 'string',
      enum: [...words],
      ...(options.anyCase ? { description: 'In any letter case' } : {}),
    },
    read(value, path, context) {
      const given = typeof value === 'string' ? value.trim() : value
      const found = words.find(
        (candidate) =>
          candidate === given ||
          (options.anyCase && typeof given === 'string' && candidate.toLowerCase() === given.toLowerCase()),
      )
      if (found !== undefined) return found
      context.problems.add(
        'unknown_word',
        path,
        `${path} must be ${sentenceList(words, 'or')}; ${shown(value, context)} was sent.`,
      )
      return REFUSED
    },
  }
}
