import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import pg from 'pg'
import pino, { type Logger } from 'pino'
import { afterAll, expect, inject } from 'vitest'
import { type App, buildApp } from '../../src/app.ts'
import { createAccount } from '../../src/features/accounts/actions.ts'
import { reportLostCard } from '../../src/features/gateway-reports/receive.ts'
import { makeAdapters } from '../../src/features/gateways/adapters.ts'
import { callingFrom } from '../../src/features/gateways/calling.ts'
import type { GatewayDeps } from '../../src/features/gateways/call.ts'
import type { GatewayAdapter } from '../../src/features/gateways/contract.ts'
import { insertKey } from '../../src/features/api-keys/queries.ts'
import { newSecret, secretHash } from '../../src/features/api-keys/secret.ts'
import type { Hashing } from '../../src/features/contacts/hashing.ts'
import { passwordHash } from '../../src/features/contacts/password.ts'
import type { Permission } from '../../src/kernel/context.ts'
import type { Connection, Database } from '../../src/platform/database/database.ts'
import { networksFromText } from '../../src/platform/outbound/networks.ts'
import { makeOutbound, type Outbound } from '../../src/platform/outbound/outbound.ts'
import type { Endpoints } from '../../src/platform/setting-values.ts'
import { connectionBounds } from '../../src/platform/http/connection-bounds.ts'
import { settleUpdates } from '../../src/platform/database/updates.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import type { Engine } from '../../src/platform/database/scoped-query.ts'
import { KeyRing } from '../../src/platform/envelope/key-ring.ts'
import { envelopeUnder } from '../../src/platform/envelope/open.ts'
import type { Cluster } from '../cluster/servers.ts'
import { TEST_KEY } from './envelope.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'

/** A whole service on a database of its own, called without a network. One per test file. */

export interface TestService {
  db: Database
  app: App
  /** The means of calling gateways that a worker has too. */
  calling: GatewayDeps & { outbound: Outbound }
  connection: Connection
  /** An account of its own for a test: nothing is shared between tests but the database. */
  newAccount(wish?: Partial<Parameters<typeof createAccount>[2]>): Promise<TestClient>
  /** A client without an account, for what needs no key. */
  anonymous: TestClient
}

export interface Reply {
  status: number
  /** The body as JSON, undefined when empty. */
  body: any
  headers: Record<string, string | undefined>
  text: string
}

type Send = (path: string, body?: unknown, headers?: Record<string, string>) => Promise<Reply>

export interface TestClient {
  id: bigint
  secret: string
  get: Send
  post: Send
  put: Send
  delete: Send
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
}

/** Databases of this process that no file has dropped yet. */
const cloned: { file: string; database: string }[] = []

/**
 * Clones the template for this file, and names the clone after the file; all files of a cluster have one database. Databases live in memory, so those of the files that this process ran before are
 * dropped, unless KEEP_DATABASE is set.
 */
export async function createTestDatabase(): Promise<Connection> {
  const { distributed, isCloned = false, ...server } = inject('databaseServer')
  if (distributed !== undefined && !isCloned) return { ...server, database: distributed }
  const file = basename(expect.getState().testPath ?? '', '.test.ts').replaceAll(/[^a-z0-9]/g, '_')
  const database = `test_${file.slice(0, 40)}_${randomBytes(6).toString('hex')}`
  const left = process.env['KEEP_DATABASE'] ? [] : takeThoseOfOtherFiles(file)
  const ports = distributed === undefined ? [server.port] : portsOf(inject('cluster'))
  await Promise.all(
    ports.map(async (port) => {
      const admin = new pg.Client({ ...server, port, database: 'postgres' })
      await admin.connect()
      await dropThose(admin, left, distributed !== undefined)
      await cloneDatabase(admin, distributed ?? 'template_perennial', database)
      await admin.end()
    }),
  )
  cloned.push({ file, database })
  return { ...server, database }
}

const portsOf = ({ coordinator, workers }: Cluster): number[] => [coordinator, ...workers].map(({ port }) => port)

/** A server of Citus looks after each of its databases by a connection, which has to end before the database is copied. */
async function cloneDatabase(admin: pg.Client, template: string, name: string): Promise<void> {
  for (;;) {
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [template])
    const isCopied = await admin.query(`create database ${name} template ${template} strategy file_copy`).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof pg.DatabaseError && error.code === '55006')) throw error
        return false
      },
    )
    if (isCopied) return
  }
}

function takeThoseOfOtherFiles(file: string): string[] {
  const left = cloned.filter((one) => one.file !== file)
  for (const one of left) cloned.splice(cloned.indexOf(one), 1)
  return left.map(({ database }) => database)
}

async function dropThose(admin: pg.Client, databases: readonly string[], isForced: boolean): Promise<void> {
  for (const database of databases) {
    // A test may leave a connection open; its database goes with the server.
    await admin.query(`drop database ${database}${isForced ? ' with (force)' : ''}`).catch((error: unknown) => {
      if (!(error instanceof pg.DatabaseError && error.code === '55006')) throw error
    })
  }
}

/** Returns the engine of a database of the tests. */
export function testEngine({ database }: Connection): Engine {
  const { distributed } = inject('databaseServer') ?? {}
  if (distributed === undefined) return 'plain'
  return database === distributed || cloned.some((one) => one.database === database) ? 'citus' : 'plain'
}

export const openTestDatabase = (
  connection: Connection,
  about: Partial<Parameters<typeof openDatabase>[1]> = {},
): Database => openDatabase(connection, { role: APP_ROLE, poolSize: 6, engine: testEngine(connection), ...about })

/** Routes that services of this process have answered with success, with their methods. */
export const answeredRoutes = new Set<string>()

let oneHash: string | undefined
/** Stored form of a password, whichever it is: hashed once by each process that runs tests. */
const ONE_HASH: Hashing = {
  hash: async () => (oneHash ??= passwordHash('geheim1')),
  close: async () => {},
}

/** Starts the service for a test file; `now` is the real time it believes in. */
/** Tests never reach a gateway itself. */
const NOBODY: Endpoints = { stripe: 'http://127.0.0.1:1', gocardless: 'http://127.0.0.1:1' }

export async function startTestService(
  options: {
    now?: () => number
    /** The clock of spans; left out: that of the process. */
    clock?: () => number
    rateLimitPerMinute?: number
    slowRequestMs?: number
    publicUrl?: string
    widgetOrigin?: string
    /** A proxy is trusted with the address under which it was asked. */
    trustProxy?: boolean
    hasMailServer?: boolean
    /** Adapters in the place of those of their type. */
    adapters?: readonly GatewayAdapter[]
    /** Calls of webhooks; left out: those within loopback alone. */
    outbound?: Outbound
    /** Simulators in place of gateways, by type; left out: nobody answers there. */
    endpoints?: Endpoints
    log?: Logger
    /** Each password gets the hash of its own, which takes longer than a hundred requests; left out: all get that of one. */
    hashesPasswords?: boolean
    /** A database that there is; left out: a new one. */
    connection?: Connection
    /** The same, opened; left out: it is opened here. */
    db?: Database
    /** The newest migration that the program knows; left out: it works on any schema. */
    knows?: number
    /** The key of a database that there is; left out: TEST_KEY. */
    key?: Buffer
  } = {},
): Promise<TestService> {
  const connection = options.connection ?? (await createTestDatabase())
  const db = options.db ?? openTestDatabase(connection, options.knows === undefined ? {} : { knows: options.knows })
  const realClock = options.now ?? Date.now
  // As every start of the service does.
  await settleUpdates(db)
  const envelope = await envelopeUnder(db.unscoped, new KeyRing(options.key ?? TEST_KEY))
  const outbound = options.outbound ?? makeOutbound({ allow: networksFromText('127.0.0.0/8') })
  const { endpoints = NOBODY } = options
  const calling = callingFrom(db, ['serve', 'work'], { outbound, endpoints, realNow: realClock })
  const adapters = makeAdapters({ db, envelope, calling, onCardGone: reportLostCard }, ...(options.adapters ?? []))
  const app = await buildApp({
    db,
    envelope,
    adapters,
    outbound,
    log: options.log ?? pino({ level: process.env['TEST_LOG'] ?? 'silent' }),
    realClock,
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.hashesPasswords ? {} : { hashing: ONE_HASH }),
    settings: {
      publicUrl: options.publicUrl,
      widgetOrigin: options.widgetOrigin,
      corsOrigins: [],
      trustProxy: options.trustProxy ?? false,
      bounds: connectionBounds({ requestTimeoutSeconds: 300, connectionsMax: 1000, connectionsPerAddress: 0 }),
      rateLimitPerMinute: options.rateLimitPerMinute ?? 0,
      slowRequestMs: options.slowRequestMs ?? 0,
      hasMailServer: options.hasMailServer ?? false,
      version: 'test',
      root: new URL('../..', import.meta.url).pathname,
    },
  })
  app.server.addHook('onResponse', async ({ method, routeOptions }, { statusCode }) => {
    if (statusCode >= 200 && statusCode < 300) answeredRoutes.add(`${method} ${routeOptions.url}`)
  })
  await app.server.ready()
  afterAll(async () => {
    await app.close()
    await db.close()
  })
  return {
    db,
    calling: { envelope, adapters, outbound },
    app,
    connection,
    anonymous: clientOf(app, 0n, ''),
    newAccount: async (wish = {}) => {
      const { id, secret } = await createAccount(
        db,
        realClock,
        { mode: 'test', name: 'Test', currency: 'USD', clockAt: '2027-01-01T00:00:00.000Z', ...wish },
        'test',
      )
      return clientOf(app, id, secret)
    },
  }
}

/** A client of the same account with a key that may only read. */
export const readOnlyClientOf = (service: TestService, client: TestClient) => clientByKey(service, client, 'read')

/** A client of the same account by another key. */
export const secondKeyOf = (service: TestService, client: TestClient) => clientByKey(service, client, 'full')

/** A client of the same account by a key whose requests may have no unknown names. */
export const strictClientOf = (service: TestService, client: TestClient) => clientByKey(service, client, 'full', true)

async function clientByKey(
  service: TestService,
  client: TestClient,
  permission: Permission,
  isStrict = false,
): Promise<TestClient> {
  const secret = newSecret('test')
  const key = { name: 'another', permission, isStrict, createdAt: '2027-01-01T00:00:00.000Z', expiresAt: null } as const
  await service.db.transaction(client.id, (tx) => insertKey(tx, client.id, { ...key, hash: secretHash(secret) }))
  return clientOf(service.app, client.id, secret)
}

/** A client of an account with one of its keys. */
export function clientOf(app: App, id: bigint, secret: string): TestClient {
  const request: TestClient['request'] = async (method, path, body, headers = {}) => {
    const credentials =
      secret === '' ? {} : { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
    const payload = body === undefined ? {} : { payload: isRaw ? body : JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await app.server.inject({
      method: method as 'GET',
      url: path,
      headers: { ...credentials, ...type, ...headers },
      ...payload,
    })
    const isJson = String(response.headers['content-type'] ?? '').includes('json')
    return {
      status: response.statusCode,
      body: isJson && response.payload !== '' ? JSON.parse(response.payload) : undefined,
      headers: response.headers as Reply['headers'],
      text: response.payload,
    }
  }
  return {
    id,
    secret,
    request,
    get: (path, body, headers) => request('GET', path, body, headers),
    post: (path, body, headers) => request('POST', path, body, headers),
    put: (path, body, headers) => request('PUT', path, body, headers),
    delete: (path, body, headers) => request('DELETE', path, body, headers),
  }
}
