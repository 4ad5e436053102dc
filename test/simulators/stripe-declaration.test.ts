import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { hasFixtures } from '../support/fixtures.ts'
import { fingerprint, PACKAGE, readDeclaration, type Schema, type Schemas } from './stripe-declaration.ts'

const SHIPPED = new URL('../../../shared/fixtures/gateways/stripe/', import.meta.url)
const read = <T>(url: URL) => JSON.parse(readFileSync(url, 'utf8')) as T

test('the package, its API version and the schema made of it are those that were looked at', async () => {
  const { devDependencies, dependencies } = read<Record<string, Record<string, string>>>(
    new URL('../../package.json', import.meta.url),
  )
  expect(dependencies).not.toHaveProperty('stripe')
  expect(dependencies).not.toHaveProperty('@stripe/stripe-js')
  expect(devDependencies?.['stripe']).toBe(PACKAGE.version)
  expect(devDependencies?.['@stripe/stripe-js']).toBe(PACKAGE.browserVersion)
  // An upgrade is one commit: the package, this file, the version that the adapter sends, and a decision record with what changed.
  const looked = read<object>(new URL('stripe-api.json', import.meta.url))
  const schema = fingerprint(await readDeclaration())
  expect({
    package: PACKAGE.version,
    browserPackage: PACKAGE.browserVersion,
    apiVersion: PACKAGE.apiVersion,
    schema,
  }).toEqual(looked)
})

test.skipIf(!hasFixtures)(
  'the schema is the one that another program made of the same declarations (needs ../shared/fixtures)',
  async () => {
    const declaration = await readDeclaration()
    const requests = read<Schemas>(new URL('requests-2026-10-28.schema.json', SHIPPED))
    const answers = read<Schemas>(new URL('answers-2026-10-28.schema.json', SHIPPED))
    expect(Object.keys(requests.roots)).toHaveLength(31)
    expect(Object.keys(answers.roots)).toHaveLength(11)
    expect(differences(declaration.requests, requests)).toEqual([])
    expect(differences(declaration.answers, answers)).toEqual([])
    // The comparison looks to the bottom: one word less, five objects below a root, is a difference.
    const refused = Object.values(requests.$defs).find((one) => one.properties?.['reconciliation_mode'])
    refused!.properties!['reconciliation_mode']!.enum!.pop()
    expect(differences(declaration.requests, requests)).toEqual([
      expect.stringMatching(/^CustomerCreate\.cash_balance\.settings\.reconciliation_mode/),
    ])
  },
)

/** Compares the schemas of all roots of `other` with those made here, and returns the places that differ. Names of definitions do not matter. */
function differences(made: Schemas, other: Schemas): string[] {
  const seen = new Set<string>()
  const found: string[] = []
  const compare = (place: string, one: Schema | undefined, two: Schema | undefined): void => {
    if (one === undefined || two === undefined) return void found.push(`${place}: only in one`)
    const pair = `${one.$ref} ${two.$ref}`
    if (one.$ref !== undefined && two.$ref !== undefined && seen.has(pair)) return
    if (one.$ref !== undefined && two.$ref !== undefined) seen.add(pair)
    const [left, right] = [flat(made, one), flat(other, two)]
    if (left.words !== right.words) found.push(`${place}: ${left.words} is not ${right.words}`)
    for (const key of new Set([...left.inner.keys(), ...right.inner.keys()]))
      compare(place + key, left.inner.get(key), right.inner.get(key))
  }
  for (const [name, root] of Object.entries(other.roots)) compare(name, made.roots[name], root)
  return found
}

/** Brings a schema into a form that does not depend on the order of alternatives: what it accepts itself, and the schemas inside by their place. */
function flat(schemas: Schemas, schema: Schema): { words: string; inner: Map<string, Schema> } {
  const words: string[] = []
  const inner = new Map<string, Schema>()
  const alternatives = schema.anyOf ?? [schema]
  for (const one of alternatives) {
    const label = one.$ref === undefined ? GENERIC : labelOf(one.$ref)
    if (alternatives.length > 1 && label !== GENERIC) {
      words.push(`<${label}>`)
      inner.set(`<${label}>`, one)
      continue
    }
    const whole = resolved(schemas, one)
    const { type, properties, items, required, additionalProperties, not } = whole
    for (const word of whole.enum ?? (whole.const === undefined ? [] : [whole.const])) words.push(`=${word}`)
    if (type !== undefined) words.push(type)
    if (not !== undefined) words.push('nothing')
    for (const name of required ?? []) words.push(`needs ${name}`)
    if (additionalProperties === false) words.push('closed')
    if (typeof additionalProperties === 'object') inner.set('[*]', additionalProperties)
    if (items !== undefined) inner.set('[]', items)
    for (const [name, property] of Object.entries(properties ?? {})) inner.set(`.${name}`, property)
  }
  return { words: words.toSorted().join(' '), inner }
}

const resolved = (schemas: Schemas, schema: Schema): Schema =>
  schema.$ref === undefined ? schema : { $ref: schema.$ref, ...schemas.$defs[schema.$ref.slice('#/$defs/'.length)] }

/** A generic type, which has a definition for each of its uses there, and none here. */
const GENERIC = 'ApiList'

/** The last name of a definition, without its file, and without the number that tells it from others of this name. */
const labelOf = (ref: string) => ref.replace(/^.*\//, '').replace(/_\d+$/, '')
