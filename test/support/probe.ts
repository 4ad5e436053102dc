import pino from 'pino'
import { getAccountUnder } from '../../src/features/accounts/queries.ts'
import { instantOf } from '../../src/kernel/zone.ts'
import type { Database } from '../../src/platform/database/database.ts'
import type { Account, Caller } from '../../src/kernel/context.ts'
import { Bodies } from '../../src/platform/http/body-bounds.ts'
import { connectionBounds } from '../../src/platform/http/connection-bounds.ts'
import { LongOperations } from '../../src/platform/long/long-operations.ts'
import { Underway } from '../../src/platform/underway.ts'
import { Places } from '../../src/platform/places.ts'
import { GroupedWrites } from '../../src/platform/http/grouped-writes.ts'
import { idempotencySecrets } from '../../src/platform/http/idempotency.ts'
import { KnownLong } from '../../src/platform/http/known-long.ts'
import type { Operation } from '../../src/platform/http/operation.ts'
import { OUTWARD } from '../../src/platform/http/outward.ts'
import type { HttpDeps } from '../../src/platform/http/deps.ts'
import type { Pages } from '../../src/platform/http/pages.ts'
import { buildServer } from '../../src/platform/http/server.ts'
import { steadyClock } from '../../src/platform/steady-clock.ts'
import { type TestClient, clientOf } from './app.ts'
import { testEnvelope } from './envelope.ts'

const NO_PAGES: Pages = {
  operations: [],
  add: () => {},
  covers: () => false,
  visit: () => {},
  refuse: (_fault, _request, reply) => reply,
}

/** A server with operations made for a test: what no real operation shows, such as answers that hold secrets. */
export function probeServer(
  db: Database,
  account: bigint,
  operations: readonly Operation[],
  overrides: Partial<HttpDeps> = {},
  pages: Pages = NO_PAGES,
) {
  const now = '2027-01-01T00:00:00.000Z'
  const caller: Caller = {
    account: {
      id: account,
      mode: 'test',
      timeZone: 'UTC',
      currency: 'USD',
      clockAt: now,
      paymentTermDays: 0,
      leadDays: 0,
      isAutoApply: true,
      lockDate: null,
      testMailTo: null,
      hasTexts: false,
      version: 1,
    } satisfies Account,
    keyId: 1n,
    permission: 'full',
    isStrict: false,
  }
  const contextOf: HttpDeps['contextOf'] = (given) => ({
    account: given.account,
    moment: { now: instantOf(Date.parse(now)), today: '2027-01-01' },
    caller: given,
    actor: 'key 1',
  })
  const freshAccount = async () => caller.account
  const server = buildServer(
    {
      db,
      longDb: db,
      bodies: new Bodies(),
      longOperations: new LongOperations({ db, longDb: db }),
      outwardPlaces: new Places(OUTWARD),
      log: pino({ level: 'silent' }),
      draining: { hasBegun: false },
      outage: { met: () => {}, isStopping: false },
      underway: new Underway(),
      realClock: Date.now,
      publicUrl: undefined,
      trustProxy: false,
      bounds: connectionBounds({ requestTimeoutSeconds: 300, connectionsMax: 1000, connectionsPerAddress: 0 }),
      corsOrigins: [],
      secrets: idempotencySecrets(testEnvelope()),
      authenticate: async () => caller,
      contextOf,
      freshAccount,
      freshAccountUnder: async (tx, keyed, realNow) => ({
        ...(await getAccountUnder(tx, account, keyed, realNow)),
        ...caller.account,
      }),
      groupedWrites: new GroupedWrites({ db, freshAccount, count: () => {} }),
      // No bound: a test of one sets its own.
      expensiveReads: { run: (_owner, work) => work() },
      expensiveAnswers: { run: (_owner, work) => work() },
      knownLong: new KnownLong(),
      rateLimit: () => ({ headers: {} }),
      metrics: { measured: () => {}, ignoredNames: () => {} },
      slowRequests: { answered: () => {} },
      clock: steadyClock,
      ...overrides,
    },
    operations,
    pages,
  )
  const client: TestClient = clientOf({ server } as Parameters<typeof clientOf>[0], account, 'any')
  return { server, client }
}
