import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { allOperations } from '../../src/app.ts'
import { ORDER_OF_DAY } from '../../src/duties.ts'
import { makeAuthenticator } from '../../src/features/api-keys/authenticate.ts'
import { insertKey } from '../../src/features/api-keys/queries.ts'
import { newSecret, secretHash } from '../../src/features/api-keys/secret.ts'
import { makeDrawing } from '../../src/features/documents/draw.ts'
import { clientConfig, openDatabase } from '../../src/platform/database/open-database.ts'
import type { Operation } from '../../src/platform/http/operation.ts'
import { makeRateLimit } from '../../src/platform/http/rate-limit.ts'
import { idempotencySecrets, keyedRequest } from '../../src/platform/http/idempotency.ts'
import { startTestService } from '../support/app.ts'
import { probeServer } from '../support/probe.ts'
import { answerChecker, type DocumentedOperation, operationsOf, readDocument } from './document.ts'
import { hostileBody, rightBody, writeJson } from './samples.ts'
import { authorization, makeWorld, pathOf, PNG, putLogo, RECIPES } from './world.ts'

/**
 * Operations can really give what they declare: each declared 4xx, 500 and 503 of each operation is produced here. Most follow from
 * the declaration and are produced in one way for all; the rest has recipes by name. A 408 comes from the connection, before there is an
 * operation: see platform/http/connection-bounds.test.ts.
 */

const service = await startTestService()
const document = await readDocument(service)
const operations = operationsOf(document)
const check = answerChecker(document)
const checkBroken = answerChecker(document, { isBroken: true })
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

const world = await makeWorld(service, operations, 'declared')
world.foreignIds = (await makeWorld(service, operations, 'foreign')).ids
const { client } = world

async function readingKey(): Promise<string> {
  const secret = newSecret('test')
  const key = {
    name: 'reader',
    permission: 'read' as const,
    hash: secretHash(secret),
    createdAt: '2027-01-01T00:00:00Z',
    expiresAt: null,
  }
  await service.db.transaction(client.id, (tx) => insertKey(tx, client.id, key))
  return authorization({ ...client, secret })
}

/** Servers of the same operations that are over their rate, that fail, that draw nothing, and without a database. */
const failing = () => {
  throw new Error('a fault of the service')
}
const FAILING = { record: failing, read: failing, write: failing, run: failing }
const broken = probeServer(
  service.db,
  client.id,
  service.app.operations.map((operation): Operation => ({ ...operation, ...FAILING })),
)
const drawing = makeDrawing({ root: '/nonexistent', inputBytesMax: 0 })
afterAll(() => drawing.close())
const undrawn = probeServer(
  service.db,
  client.id,
  allOperations({ order: ORDER_OF_DAY, drawing } as Parameters<typeof allOperations>[0]),
)
const limited = probeServer(service.db, client.id, service.app.operations, { rateLimit: makeRateLimit(1) })
const nowhere = openDatabase({ host: '/nonexistent', database: 'x', user: 'x' }, { role: undefined, poolSize: 1 })
afterAll(() => nowhere.close())
const homeless = probeServer(nowhere, client.id, service.app.operations)
const unrecognising = probeServer(nowhere, client.id, service.app.operations, {
  authenticate: makeAuthenticator(nowhere, Date.now).authenticate,
})

interface Sent {
  url?: string
  payload?: string | Buffer
  headers?: Record<string, string>
  /** Without credentials. */
  isBare?: boolean
}

const TYPE = (operation: DocumentedOperation) => ({ 'content-type': operation.rawTypes[0] ?? 'application/json' })

/** Queries that operations cannot do without. */
const QUERIES: Record<string, string> = { addResultFile: `?gatewayID=${world.ids.get('gatewayID')?.[0]}` }

/** Bytes of a body that is too large, where that is more than of others. */
const TOO_LARGE: Record<string, number> = { recordUsageInBulk: 8_500_000, addResultFile: 33_600_000 }

async function send(operation: DocumentedOperation, sent: Sent, server = service.app.server): Promise<number> {
  const body = rightBody(operation, world)
  const payload = sent.payload ?? (operation.rawTypes.length > 0 ? PNG : body && writeJson(body))
  const reply = await server.inject({
    method: operation.method,
    url: sent.url ?? (pathOf(operation, world) ?? operation.path) + (QUERIES[operation.id] ?? ''),
    headers: { ...(sent.isBare ? {} : { authorization: authorization(client) }), ...TYPE(operation), ...sent.headers },
    ...(payload === undefined ? {} : { payload }),
  })
  const wrong = (server === broken.server ? checkBroken : check)(operation, {
    status: reply.statusCode,
    text: reply.payload,
    headers: reply.headers,
  })
  expect(wrong, `${operation.id} ${reply.statusCode}`).toBeUndefined()
  return reply.statusCode
}

const reader = await readingKey()
await client.post('/v1/packagegroups', { GroupName: 'used key' }, { 'idempotency-key': 'used' })

/** Paths of records that are in no state for the operation, or of none at all, where the path alone does not tell. */
const MISSING: Record<string, () => Promise<Sent>> = {
  deleteCurrency: async () => ({ payload: '{"CurrencyCode":"CLP"}' }),
  deletePackageByGivenId: async () => ({ payload: '{"packageID":99999999}' }),
  getEMandate: async () => ({ url: `/v1/emandate?Token=${'a'.repeat(40)}` }),
  getLogo: async () => (await client.delete('/v1/account/logo'), {}),
  listAdjustments: async () => ({ url: '/v1/adjustment/list?type=all&customerID=99999999' }),
  getAdjustment: async () => ({ url: '/v1/adjustment/get?type=positive&adjustmentID=1&customerID=99999999' }),
  deleteAdjustment: async () => ({
    url: '/v1/adjustment/delete?type=positive&adjustmentID=1&customerID=99999999',
    payload: '{}',
  }),
  addAdjustment: async () => {
    const operation = operations.find(({ id }) => id === 'addAdjustment') as DocumentedOperation
    return { payload: writeJson({ ...rightBody(operation, world), customerID: 99_999_999 }) }
  },
  editAdjustment: async () => {
    const operation = operations.find(({ id }) => id === 'editAdjustment') as DocumentedOperation
    return { payload: writeJson({ ...rightBody(operation, world), AdjustmentID: 99_999_999 }) }
  },
  deleteLogo: async () => (await client.delete('/v1/account/logo'), {}),
}

/** A request about a batch that there is not. */
const ofUnknownBatch = async (operation: DocumentedOperation): Promise<Sent> => ({
  payload: writeJson({ ...rightBody(operation, world), BatchToken: '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60' }),
})

const PRODUCERS: Record<number, (operation: DocumentedOperation) => Promise<number>> = {
  400: (operation) => sendWrong(operation),
  401: (operation) => send(operation, { isBare: true }),
  403: (operation) => send(operation, { headers: { authorization: reader } }),
  404: async (operation) => {
    const isNamedByBody = operation.body?.properties?.['BatchToken'] !== undefined
    const recipe = MISSING[operation.id] ?? (isNamedByBody ? () => ofUnknownBatch(operation) : undefined)
    const status = await send(
      operation,
      recipe ? await recipe() : { url: operation.path.replace(/\{\w+\}/g, '99999999') },
    )
    await putLogo(service, client)
    return status
  },
  // A running request with the same Idempotency-Key: every change takes keys. What is only read is in a state that does not fit, or too large to draw.
  409: async (operation) => {
    if (operation.id === 'getBatchFile') {
      const body = (await RECIPES['editBatch']?.(world))?.body
      return send(operation, { url: `/v1/batches/${String(body?.['BatchToken'])}/file` })
    }
    // The account's own gateways write no files of NACHA.
    if (operation.id === 'getGatewayReturns') return send(operation, {})
    if (operation.id === 'getInvoiceLink') {
      const draft = { customerID: world.ids.get('customerID')?.[0], isDraft: true, Charges: [{ UnitCostEx: 10 }] }
      const { invoiceID } = (await client.post('/v1/invoices', draft)).body
      return send(operation, { url: `/v1/invoices/${invoiceID}/link` })
    }
    if (operation.method === 'GET') {
      const { path: url } = (await RECIPES[operation.id]?.(world)) ?? {}
      return send(operation, { ...(url ? { url } : {}), headers: { accept: 'application/pdf' } }, undrawn.server)
    }
    const secrets = idempotencySecrets(service.calling.envelope)
    const { key } = keyedRequest(secrets, 'running', { method: '', path: '', body: '' })
    await owner.query('select pg_advisory_lock(hashtextextended($1, 7305))', [`${client.id}:${key}`])
    const status = await send(operation, { headers: { 'idempotency-key': 'running' } })
    await owner.query('select pg_advisory_unlock_all()')
    return status
  },
  // A made-up path may name a version that its record does not have.
  412: async (operation) => {
    let status = 0
    for (let tries = 0; tries < 12 && status !== 412; tries += 1)
      status = await send(operation, { headers: { 'if-match': '"another"' } })
    if (status === 412) return status
    // Its record is named by more than one identifier, in the query or the body.
    const recipe = await RECIPES[operation.id]?.(world)
    if (!recipe) return status
    const payload = recipe.body && { payload: writeJson(recipe.body) }
    return send(operation, { url: recipe.path, ...payload, headers: { 'if-match': '"another"' } })
  },
  413: (operation) => send(operation, { payload: Buffer.alloc(TOO_LARGE[operation.id] ?? 1_100_000, 32) }),
  415: (operation) =>
    send(operation, { payload: '{"a":1}', headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  422: (operation) => send(operation, { headers: { 'idempotency-key': 'used' } }),
  429: async (operation) => {
    await limited.server.inject({ method: 'GET', url: '/v1/account' })
    return send(operation, {}, limited.server)
  },
  500: (operation) => send(operation, {}, broken.server),
  // What needs no database for its answer needs one to know who asks.
  503: async (operation) => {
    const status = await send(operation, {}, homeless.server)
    return status === 503 ? status : send(operation, {}, unrecognising.server)
  },
}

/** Each way of being wrong in turn: the path, then header, query and body. */
async function sendWrong(operation: DocumentedOperation): Promise<number> {
  const own = pathOf(operation, world) ?? operation.path
  const isMade =
    operation.method === 'GET' ||
    ['settleRefundByHand', 'settleCaptureSaleByHand', 'deleteBatchPayment'].includes(operation.id)
  const recipe = isMade ? await RECIPES[operation.id]?.(world) : undefined
  const made = Array.from({ length: 12 }, () => pathOf(operation, world) ?? operation.path)
  const paths = recipe ? [recipe.path] : made
  const attempts: Sent[] = [
    ...paths.map((path) => ({
      url: `${path}${path.includes('?') ? '&' : '?'}Unheard=1`,
      headers: { prefer: 'handling=strict' },
    })),
    // A made-up path may name a version that its record does not have: another may.
    ...Array.from({ length: 12 }, () => ({ headers: { 'idempotency-key': 'k'.repeat(300) } })),
    ...operation.query.map(({ name }) => ({ url: `${own}?${name}=%00` })),
    ...(operation.body
      ? Array.from({ length: 40 }, () => ({
          ...(recipe && { url: recipe.path }),
          payload: hostileBody(operation, world).payload,
        }))
      : []),
  ]
  for (const attempt of attempts) if ((await send(operation, attempt)) === 400) return 400
  return 0
}

const cases = operations.flatMap((operation) =>
  operation.declared.filter((status) => status !== 408).map((status) => ({ operation, status })),
)

describe('each declared refusal is produced', () => {
  test.each([...new Set(cases.map(({ status }) => status))].toSorted((a, b) => a - b))(
    '%i, of every operation that declares it',
    async (status) => {
      const produce = PRODUCERS[status]
      const missing: string[] = []
      for (const { operation } of cases.filter((one) => one.status === status)) {
        const got = await produce?.(operation)
        if (got !== status) missing.push(`${operation.id} gave ${got}`)
      }
      expect(missing).toEqual([])
    },
  )
})

test('every operation is documented with what any request can be answered', () => {
  for (const operation of operations)
    expect(operation.declared, operation.id).toEqual(expect.arrayContaining([400, 401, 408, 429, 500, 503]))
})

test('no path asks for a number where answers name its record by a text', () => {
  const wrong = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ parameters = [] }) =>
      parameters
        .filter((one) => one.in === 'path' && one.schema.type === 'integer')
        .filter(({ name }) => world.ids.get(name)?.some((id) => typeof id !== 'number'))
        .map(({ name }) => `${name} of ${path}`),
    ),
  )
  expect(wrong).toEqual([])
})

test('a missing record is told before what is wrong with the rest of the request', async () => {
  for (const operation of operations) {
    if (operation.pathParams.length === 0 || operation.query.length + Number(operation.body !== undefined) === 0)
      continue
    const query = operation.query.map(({ name }) => `${name}=%00`).join('&')
    const url = `${operation.path.replace(/\{\w+\}/g, '99999999')}?${query}`
    const status = await send(operation, { url, ...(operation.body ? { payload: '{broken' } : {}) })
    expect([operation.id, status]).toEqual([operation.id, 404])
  }
})
