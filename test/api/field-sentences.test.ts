import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Each field of openapi.json has a sentence about its meaning, and where it may be left out of a body one about that. */

/** Matches what a description has about how a value is written, what else its field is called, and where it may be left out. */
const FORM = new RegExp(
  [
    '(Calendar date|Instant)(: a date such as [^.]*)?(, in real time)?',
    'In any letter case|ISO 4217 code|ISO 3166-1 numeric code|A UUID',
    'A fraction from 0 to 1(: 0\\.19 is 19 %)?|An amount in major units, with at most the decimals of its currency',
    'A price per unit, up to 8 decimals|Units, up to 8 decimals|Given together with TermType',
    'Also taken as [\\w, ]+|(Left out, |Required unless )[^.]*',
  ].join('|'),
  'g',
)

/** Matches a description that has what leaving out its field means. */
const LEAVING_OUT = /left out|required unless|\bdefault\b/i

/** Returns whether a description is about the meaning of its field. */
const isSentence = (description: unknown): description is string =>
  typeof description === 'string' && /\w/.test(description.replace(FORM, ''))

/** Returns whether a description has what leaving out its field means. */
const hasLeftOut = (description: unknown): boolean => LEAVING_OUT.test(String(description))

interface Described {
  description?: string
  $ref?: string
  properties?: Record<string, Described>
  required?: string[]
  [keyword: string]: unknown
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<
    string,
    Record<string, { operationId: string; requestBody?: unknown; responses: unknown; parameters?: any[] }>
  >
  components: { schemas: Record<string, Described> }
}
const { schemas } = document.components
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))

interface FieldOf {
  place: string
  field: Described
  isRequired: boolean
}

/** Returns every field in a schema, and in what is within it, except for components that it refers to. */
function fieldsOf(schema: unknown, place: string): FieldOf[] {
  if (schema === null || typeof schema !== 'object') return []
  if (Array.isArray(schema)) return schema.flatMap((one) => fieldsOf(one, place))
  const { properties = {}, required = [], example: _, examples: __, ...rest } = schema as Described
  const own = Object.entries(properties).flatMap(([name, field]) => [
    { place: `${place}.${name}`, field, isRequired: required.includes(name) },
    ...fieldsOf(field, `${place}.${name}`),
  ])
  return [...own, ...Object.values(rest).flatMap((inner) => fieldsOf(inner, place))]
}

const referredTo = (schema: unknown): string[] =>
  [...JSON.stringify(schema ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name = '']) => name)

function sentComponents(): Set<string> {
  const found = new Set<string>()
  const look = (names: readonly string[]): void => {
    for (const name of names)
      if (!found.has(name)) {
        found.add(name)
        look(referredTo(schemas[name]))
      }
  }
  look(operations.flatMap(({ requestBody }) => referredTo(requestBody)))
  return found
}

const placesOf = (fields: readonly FieldOf[]) => fields.map(({ place }) => place)
const ofComponents = Object.entries(schemas).flatMap(([name, schema]) => fieldsOf(schema, name))
const ofOperations = operations.flatMap(({ operationId, requestBody, responses }) =>
  fieldsOf([requestBody, responses], operationId),
)

test('every field has a sentence: describe it where it is declared', () => {
  expect(ofComponents.length).toBeGreaterThan(1500)
  expect(placesOf([...ofComponents, ...ofOperations].filter(({ field }) => !isSentence(field.description)))).toEqual([])
})

test('every field that may be left out of a body has what that means: say it where it is declared', () => {
  const sent = sentComponents()
  const silent = ofComponents.filter(
    ({ place, field, isRequired }) =>
      sent.has(place.split('.')[0] ?? '') && !isRequired && !hasLeftOut(field.description),
  )
  expect(sent.size).toBeGreaterThan(80)
  expect(placesOf(silent)).toEqual([])
})

test('every parameter that may be left out has a default, or what that means', () => {
  const silent = operations.flatMap(({ operationId, parameters = [] }) =>
    parameters
      .filter(
        ({ required, schema, description }) =>
          !required && !('default' in schema) && !hasLeftOut(`${description} ${schema.description}`),
      )
      .map(({ name }) => `${operationId}: ${name}`),
  )
  expect(silent).toEqual([])
})

test('what says only how a value is written is no sentence', () => {
  for (const form of [
    'Calendar date',
    'Instant.',
    'In any letter case',
    'Also taken as Ref.',
    'Also taken as isAutoApply. Left out, it is false.',
    'An amount in major units, with at most the decimals of its currency.',
    'Required unless customerPaymentMethodID names a stored account',
    '',
    undefined,
  ])
    expect([form, isSentence(form)]).toEqual([form, false])
  expect(isSentence('The day of the debits.')).toBe(true)
})
