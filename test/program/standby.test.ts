import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { call, runProgram, serve, type Serving, testFolder } from './program.ts'
import {
  copyServer,
  makeStandby,
  onServer,
  promote,
  refuseLogins,
  serverFolders,
  signalServer,
  startPair,
  startServer,
  stopServer,
  stopServers,
  urlOf,
} from './servers.ts'

/** A primary and a standby, and what the service makes of a failover. */

/** Returns folders for servers; what runs in them is stopped after the test. */
function folders(count: number): string[] {
  const root = testFolder()
  onTestFinished(stopServers)
  return serverFolders(root, count)
}

const write = async (service: Serving, first: Serving) =>
  (await call(service, first, '/v1/customers', { Name: 'Some', LastName: 'Body' })).status

/** Asks until the answer is another one than that of a database that is away: how soon a server takes writes is its own affair. */
async function readyAgain(service: Serving): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${service.address}/readyz`)
    if (status !== 503) return status
  }
}

test('a standby is away: 503 for reads and writes, not ready, and refused at the start, until it is promoted', async () => {
  const [folder = ''] = folders(1)
  await startServer(folder)
  const env = { DATABASE_URL: urlOf(folder), DATA_DIR: join(folder, '..', 'data'), LOG_LEVEL: 'silent' }
  const service = await serve(env)
  expect(await write(service, service)).toBe(201)
  await stopServer(folder)
  makeStandby(folder)
  await startServer(folder)
  expect(await write(service, service)).toBe(503)
  expect((await call(service, service, '/v1/customers')).status).toBe(503)
  await expect.poll(async () => (await fetch(`${service.address}/readyz`)).status).toBe(503)
  const late = await runProgram(['serve'], env)
  expect([late.code, late.err]).toEqual([1, expect.stringContaining('takes no writes')])
  expect(late.err).not.toContain('never-shown')
  const doctor = await runProgram(['doctor'], env)
  expect(doctor.out).toMatch(/fail +DATABASE_URL: .* takes no writes/)
  await promote(folder)
  expect(await readyAgain(service)).toBe(200)
  expect(await write(service, service)).toBe(201)
})

test('of several servers the one that takes writes is used, also after a failover to the other', async () => {
  const [one = '', two = ''] = folders(2)
  await startServer(one)
  const prepared = await serve({ DATABASE_URL: urlOf(one), DATA_DIR: join(one, '..', 'data'), LOG_LEVEL: 'silent' })
  prepared.child.kill('SIGTERM')
  await prepared.ended
  await stopServer(one)
  copyServer(one, two)
  makeStandby(one)
  await startServer(one)
  await startServer(two)

  const env = {
    DATABASE_URL: `${urlOf(one, two)}&target_session_attrs=read-write`,
    DATA_DIR: join(one, '..', 'data'),
    LOG_LEVEL: 'info',
  }
  const service = await serve(env)
  expect(await write(service, prepared)).toBe(201)
  const seen = (await runProgram(['doctor'], env)).out
  expect([...seen.matchAll(/(\w+) +database server: \S+ (is a standby|takes writes)/g)].map(([, ...is]) => is)).toEqual(
    [
      ['ok', 'is a standby'],
      ['ok', 'takes writes'],
    ],
  )

  // The primary lets nobody in, beside its standby: that is told of it, and no promotion is advised.
  await refuseLogins(two, true)
  await onServer(
    two,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'perennial'`,
    'postgres',
  )
  const reads = async () => {
    const response = await call(service, prepared, '/v1/customers')
    return [response.status, response.headers.get('retry-after')]
  }
  for (let times = 0; times < 5; times += 1) expect(await reads()).toEqual([503, '2'])
  expect((await fetch(`${service.address}/readyz`)).status).toBe(503)
  const words = `${join(two, 'postgres')}:5432/perennial refuses`
  for (const url of [urlOf(one, two), urlOf(two, one)]) {
    const refused = await runProgram(['processes'], { ...env, DATABASE_URL: url })
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`${words}: pg_hba.conf rejects`)])
    expect(refused.err).not.toMatch(/promote|never-shown/)
  }
  expect((await runProgram(['doctor'], env)).out).toContain(`${words} the user`)
  expect((await fetch(`${service.address}/readyz`)).status).toBe(503)
  const lines = service.said.err
    .split('\n')
    .filter((line) => line.includes('can be reached again') || line.includes('cannot be reached'))
  // Once, with what was met first: a request's own connection that ended, or the refusal.
  expect(lines).toEqual([
    expect.stringMatching(/terminating connection due to administrator command|postgres:5432\/perennial refuses/),
  ])
  await refuseLogins(two, false)
  expect(await readyAgain(service)).toBe(200)
  expect(await write(service, prepared)).toBe(201)

  await stopServer(two)
  expect(await write(service, prepared)).toBe(503)
  const asked = await runProgram(['processes'], env)
  expect([asked.code, asked.err]).toEqual([1, expect.stringContaining('start the primary, or promote the standby')])
  expect((await runProgram(['doctor'], env)).out).toMatch(
    /warn +database server: \S+ cannot be reached \((?:ENOENT|ECONNREFUSED)\)/,
  )
  await promote(one)
  expect(await readyAgain(service)).toBe(200)
  expect(await write(service, prepared)).toBe(201)
})

/** A caller that repeats each write under its key until it is answered, and what was acknowledged, by key. */
async function keepWriting(
  service: Serving,
  credentials: { account: number | undefined; key: string | undefined },
  { name, goesOn }: { name: string; goesOn: () => boolean },
): Promise<Map<string, number>> {
  const acknowledged = new Map<string, number>()
  const authorization = `Basic ${Buffer.from(`${credentials.account}:${credentials.key}`).toString('base64')}`
  for (let n = 0; goesOn(); n += 1) {
    const key = `${name}-${n}`
    for (;;) {
      const response = await fetch(`${service.address}/v1/customers`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify({ Name: key, LastName: 'Body' }),
      })
      const body = (await response.json()) as { customerID: number; Errors?: { Code: string }[] }
      if (response.status === 201) {
        acknowledged.set(key, body.customerID)
        break
      }
      // 409: the first try of the key is still under way.
      expect([response.status, body]).toEqual([expect.toBeOneOf([503, 409]), body])
      if (response.status === 503) expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
    }
  }
  return acknowledged
}

test('a primary that is frozen gives way to its promoted standby: callers that repeat lose nothing and have nothing twice, and it is not used when it is back', async () => {
  const [primary = '', standby = ''] = folders(2)
  const DATA_DIR = join(primary, '..', 'data')
  let credentials: { account: number | undefined; key: string | undefined } = { account: undefined, key: undefined }
  await startPair(primary, standby, {
    isSynchronous: true,
    prepare: async (url) => {
      const first = await serve({ DATABASE_URL: url, DATA_DIR, LOG_LEVEL: 'silent' })
      credentials = first
      first.child.kill('SIGTERM')
      await first.ended
    },
  })
  const env = { DATABASE_URL: urlOf(primary, standby), DATA_DIR, LOG_LEVEL: 'info' }
  const service = await serve(env)
  let isOver = false
  const counts = { acknowledged: 0 }
  const goesOn = () => {
    counts.acknowledged += 1
    return !isOver
  }
  const callers = Array.from({ length: 6 }, (_, n) => keepWriting(service, credentials, { name: `caller${n}`, goesOn }))
  await expect.poll(() => counts.acknowledged, { interval: 20 }).toBeGreaterThan(100)
  signalServer(primary, 'SIGSTOP')
  await promote(standby)
  const before = counts.acknowledged
  await expect.poll(() => counts.acknowledged, { interval: 20, timeout: 60_000 }).toBeGreaterThan(before + 100)
  expect(service.said.err).toMatch(
    /another database server takes the writes now: .*; connections from before were ended/,
  )

  signalServer(primary, 'SIGCONT')
  await onServer(
    standby,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'perennial watch'`,
  )
  await expect.poll(() => service.said.err, { interval: 50 }).toMatch(/former primary that still takes writes/)
  expect((await runProgram(['doctor'], env)).out).toMatch(/warn +database server: \S+ is a former primary/)
  const later = counts.acknowledged
  await expect.poll(() => counts.acknowledged, { interval: 20 }).toBeGreaterThan(later + 50)
  isOver = true
  const acknowledged = new Map((await Promise.all(callers)).flatMap((one) => [...one]))
  const kept = await onServer(standby, 'select customer_id::int as id from perennial.customers')
  expect(new Set(acknowledged.values()).size).toBe(acknowledged.size)
  expect(new Set(kept.map(({ id }) => id))).toEqual(new Set(acknowledged.values()))
})
