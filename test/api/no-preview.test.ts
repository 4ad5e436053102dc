import { expect, test } from 'vitest'
import { readOnlyClientOf, startTestService } from '../support/app.ts'
import { type DocumentedOperation, operationsOf, readDocument } from './document.ts'
import { rightBody, writeJson } from './samples.ts'
import { authorization, makeWorld, pathOf, PNG, RECIPES } from './world.ts'

/**
 * ?preview=true of every operation that changes something: either it has a preview, or the request is refused and nothing is done. A new
 * operation joins on its own, or is named below with its reason.
 */

/** Operations of another method than GET of which no preview can be wanted, and why. */
const CHANGES_NOTHING: Record<string, string> = {
  listCustomersByIds: 'a list whose customers stand in a body',
  previewNewSubscription: 'is a preview',
  validateBankAccount: 'asks whether a bank account is right',
  validateBankAccountByPut: 'the same by PUT',
}

const service = await startTestService()
const operations = operationsOf(await readDocument(service))
const world = await makeWorld(service, operations, 'no preview')
const reader = await readOnlyClientOf(service, world.client)

const others = operations.filter(({ method }) => method !== 'GET')
const hasPreview = ({ query }: DocumentedOperation) => query.some(({ name }) => name === 'preview')
const refusing = others.filter((one) => !hasPreview(one) && !Object.hasOwn(CHANGES_NOTHING, one.id))

/** Prepares a right request of an operation whose record is there: not every one has a second version. */
async function prepareFound(operation: DocumentedOperation) {
  for (let tries = 0; tries < 40; tries += 1) {
    const send = await prepare(operation)
    if ((await send('preview=true')).status !== 404) return send
  }
  throw new Error(`the world has no record for ${operation.id}`)
}

/** Prepares a right request of an operation. Returns what sends it, with more in its query. */
async function prepare(operation: DocumentedOperation) {
  const { id, method, rawTypes } = operation
  const recipe = await RECIPES[id]?.(world)
  const path = recipe?.path ?? pathOf(operation, world)
  if (path === undefined) throw new Error(`the world has no record for ${id}`)
  const body = recipe?.body ?? (operation.body ? (rightBody(operation, world) as object) : undefined)
  const payload = recipe?.payload ?? (rawTypes.length > 0 ? PNG : body === undefined ? undefined : writeJson(body))
  return async (more: string, headers: Record<string, string> = {}, by = world.client) => {
    const answer = await service.app.server.inject({
      method,
      url: `${path}${path.includes('?') ? '&' : '?'}${more}`,
      headers: {
        authorization: authorization(by),
        ...(payload === undefined ? {} : { 'content-type': rawTypes[0] ?? 'application/json' }),
        ...headers,
      },
      ...(payload === undefined ? {} : { payload }),
    })
    return { status: answer.statusCode, codes: codesOf(answer.payload) }
  }
}

const codesOf = (text: string): string[] =>
  text.startsWith('{"Errors"') ? JSON.parse(text).Errors.map(({ Code, Field }: any) => `${Code} ${Field}`) : []

/** Reads those answers of an account that change with whatever is done in it. */
const traces = async () => {
  const paths = ['/v1/events?sort=-id&page_size=1', '/v1/outbox?sort=-id&page_size=1', '/v1/clock']
  return Promise.all(paths.map(async (path) => (await world.client.get(path)).text))
}

test('those without a preview are most of those that change something, and the exceptions are there', () => {
  const ids = others.map(({ id }) => id)
  expect(Object.keys(CHANGES_NOTHING).filter((id) => !ids.includes(id))).toEqual([])
  expect(refusing.length).toBeGreaterThan(90)
  expect(others.filter(hasPreview).map(({ id }) => id)).toContain('changeStartDate')
})

test.each(refusing.map((operation) => [operation.id, operation] as const))(
  '%s has no preview: 400 no_preview, and nothing is done',
  async (_id, operation) => {
    const send = await prepareFound(operation)
    const before = await traces()
    const wishes: [string, Record<string, string>][] = [
      ['preview=true', {}],
      ['preview=true', { prefer: 'handling=strict' }],
      ['preview=TRUE', { 'idempotency-key': `preview ${operation.id}` }],
      ['preview=1', {}],
      ['preview', {}],
      ['preview=false&preview=true', {}],
    ]
    for (const [wish, headers] of wishes) {
      const { status, codes } = await send(wish, headers)
      expect([wish, status, codes]).toEqual([wish, 400, expect.arrayContaining(['no_preview preview'])])
      expect(codes.some((code) => code.startsWith('unknown_'))).toBe(false)
    }
    const inOtherCase = await send('Preview=true')
    expect([inOtherCase.status, inOtherCase.codes]).toEqual([400, expect.arrayContaining(['no_preview Preview'])])
    const byReader = await send('preview=true', {}, reader)
    expect([byReader.status, byReader.codes]).toEqual([403, ['key_read_only null']])
    expect(await traces()).toEqual(before)
  },
)

test('preview=false, and any wish of a read, is passed over and told; in strict handling it is an unknown name', async () => {
  const added = await world.client.post('/v1/customers?preview=false', { Name: 'Ada', isCompany: true })
  expect([added.status, added.headers['perennial-ignored']]).toEqual([201, '"preview"'])
  const path = `/v1/customers/${added.body.customerID}`
  for (const wish of ['true', 'false']) {
    const read = await world.client.get(`${path}?preview=${wish}`)
    expect([read.status, read.headers['perennial-ignored']]).toEqual([200, '"preview"'])
  }
  const strict = await world.client.get(`${path}?preview=true`, undefined, { prefer: 'handling=strict' })
  expect([strict.status, strict.body.Errors[0].Code]).toEqual([400, 'unknown_field'])
  const asked = await world.client.post('/v1/subscriptions/preview?preview=true', {
    customerID: added.body.customerID,
    packageID: world.ids.get('packageID')?.[0],
    Term: 1,
    TermType: 'months',
  })
  expect([asked.status, asked.headers['perennial-ignored']]).toEqual([200, '"preview"'])
})

test('a wrong body is told beside the absent preview', async () => {
  const { status, body } = await world.client.post('/v1/customers?preview=true', {})
  expect(status).toBe(400)
  expect(body.Errors.map(({ Code }: any) => Code)).toEqual(expect.arrayContaining(['no_preview', 'required']))
})
