import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { type DocumentedOperation, operationsOf, readDocument } from './document.ts'
import { rightBody, writeJson } from './samples.ts'
import { makeWorld, pathOf, RECIPES } from './world.ts'

/**
 * The reference has for every field of a body what leaving it out means. Where that is a value, or that it stays, the body is sent without the field and
 * the record is read: a field that is described as kept and cleared instead fails here.
 */

const KEPT = Symbol('kept')

/** Returns the value that a sentence promises for a field that is left out; undefined where it depends on other fields, or is no value. */
function promiseOf(description: string, isEdit: boolean): unknown {
  const [, sentence = ''] = /Left out, ([^.]*)\./.exec(description) ?? []
  if (isEdit && /an edit leaves (it|them) as (it is|they are)$/.test(sentence)) return KEPT
  if (isEdit && /^(it stays as it is|they stay as they are)(; null|; a list|$)/.test(sentence)) return KEPT
  if (/^(there is none|it is cleared)(: an edit clears it|; an edit leaves it as it is)?$/.test(sentence)) return null
  const [, word] = /^it is (true|false|\d+|`\w+`)(; an edit leaves it as it is)?$/.exec(sentence) ?? []
  if (word === undefined) return undefined
  return word.startsWith('`') ? word.slice(1, -1) : JSON.parse(word)
}

const service = await startTestService()
const operations = operationsOf(await readDocument(service))
const world = await makeWorld(service, operations, 'left-out')
const readable = new Set(operations.filter(({ method }) => method === 'GET').map(({ path }) => path))

interface Case {
  operation: DocumentedOperation
  field: string
  promise: unknown
}

const isEdit = ({ method, path }: DocumentedOperation) => method === 'PUT' && readable.has(path)
const isAdd = ({ method, success }: DocumentedOperation) => method === 'POST' && success === 201

/** Fields whose sentence promises what can be read. */
const cases = operations
  .filter((operation) => operation.body !== undefined && (isEdit(operation) || isAdd(operation)))
  .flatMap((operation): Case[] =>
    Object.entries(operation.body?.properties ?? {}).flatMap(([field, { description = '' }]) => {
      const promise = promiseOf(description, isEdit(operation))
      return promise === undefined ? [] : [{ operation, field, promise }]
    }),
  )

/** Fields that go with another one: it is left out together with them. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = { isWaiveTaxes: ['TaxCategory', 'TaxReason'] }

const SIGNEE = [
  'Company',
  'TradingAs',
  'Tel',
  'Email',
  'Address1',
  'Address2',
  'City',
  'State',
  'CountryISOCode',
  'PostalCode',
  'isCustomerEditable',
  'isCompanySignee',
]

const emptied = (value: unknown) => (value === '' || (Array.isArray(value) && value.length === 0) ? null : value)
const without = (body: Record<string, unknown>, field: string) =>
  Object.fromEntries(Object.entries(body).filter(([name]) => name !== field && !TOGETHER[field]?.includes(name)))

/** Sends a body without a field; returns what its record has of it then, and had before, or why it could not be tried. */
async function triedOf({ operation, field }: Case): Promise<{ before?: unknown; after: unknown } | string> {
  const { client } = world
  let reason = 'no answer has it'
  for (let tries = 0; tries < 12; tries += 1) {
    const recipe = await RECIPES[operation.id]?.(world)
    const path = recipe?.path ?? pathOf(operation, world) ?? operation.path
    const body = (recipe ? recipe.body : rightBody(operation, world)) as Record<string, unknown>
    const headers = { 'content-type': 'application/json' }
    const send = (sent: Record<string, unknown>) => client.request(operation.method, path, writeJson(sent), headers)
    if (operation.method === 'POST') {
      const { status, body: answer, text } = await send(without(body, field))
      if (status === 201 && answer?.[field] !== undefined) return { after: answer[field] }
      if (status !== 201) reason = text
      continue
    }
    const first = await send(body)
    const before = (await client.get(path)).body?.[field]
    const second = await send(without(body, field))
    const after = (await client.get(path)).body?.[field]
    if (first.status < 300 && second.status < 300 && before !== undefined) return { before, after }
    if (first.status >= 300 || second.status >= 300) reason = first.status >= 300 ? first.text : second.text
  }
  return reason
}

/** Fields of which no answer shows what became of them: what leaving them out means is read in the code, or tried by tests of their rooms. */
const UNSHOWN: Readonly<Record<string, readonly string[]>> = {
  editCustomer: ['CustomFields'],
  addEMandate: SIGNEE,
  addRedirectEMandate: SIGNEE,
  addMandateSetup: ['isPrimary'],
  addPayment: ['AutoApply', 'sendReceipt'],
  editPayment: ['AutoApply'],
  editBatch: ['Notes'],
  addBatchPayment: ['isAutoApply'],
  addCredit: ['AutoApply'],
  editCredit: ['AutoApply'],
  creditInvoice: ['AutoApply', 'isFreePayments'],
  addAdjustment: ['Memo', 'AutoApply', 'Reason'],
  addGateway: ['Settings'],
  editGateway: ['Settings'],
}
const isUnshown = ({ operation, field }: Case) => UNSHOWN[operation.id]?.includes(field) ?? false
const shown = cases.filter((one) => !isUnshown(one))

test.each(shown.map((one) => [`${one.operation.id} without ${one.field}`, one] as const))('%s', async (_name, one) => {
  const tried = await triedOf(one)
  expect(tried, 'a field that no answer shows belongs to UNSHOWN').toBeTypeOf('object')
  const { before, after } = tried as { before?: unknown; after: unknown }
  expect(emptied(after)).toEqual(one.promise === KEPT ? emptied(before) : one.promise)
})

test('what cannot be tried is named, and nothing else is', () => {
  expect(shown.length).toBeGreaterThan(120)
  const named = Object.entries(UNSHOWN).flatMap(([id, fields]) => fields.map((field) => `${id} ${field}`))
  const promised = cases.map(({ operation, field }) => `${operation.id} ${field}`)
  expect(named.filter((name) => !promised.includes(name))).toEqual([])
})
