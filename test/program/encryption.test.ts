import { createHash } from 'node:crypto'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { runProgram, type Serving, serve, startProgram, testFolder } from './program.ts'

/** Keys whose bytes do not repeat, as a service asks of them. */
const [OLD, NEW, STRANGE] = ['old', 'new', 'strange'].map((name) =>
  createHash('sha256').update(name).digest('hex'),
) as [string, string, string]

const stopped = async ({ child, ended }: Serving) => {
  child.kill('SIGTERM')
  expect((await ended).code).toBe(0)
}

interface Credentials {
  account: number | undefined
  key: string | undefined
}

async function send(
  address: string,
  { account, key }: Credentials,
  path: string,
  body?: object,
  idempotencyKey?: string,
) {
  const response = await fetch(new URL(path, address), {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return {
    status: response.status,
    text: await response.text(),
    replayed: response.headers.get('idempotency-replayed'),
  }
}

const company = { Name: 'Acme', isCompany: true }

async function expectRefused(args: string[], env: Record<string, string>, sentence: RegExp): Promise<void> {
  const { code, out, err } = await runProgram(args, { LOG_LEVEL: 'warn', ...env })
  expect([args, code, out]).toEqual([args, 1, ''])
  expect(err.trim().split('\n')).toEqual([expect.stringMatching(sentence)])
}

async function statusOf(env: Record<string, string>) {
  const { code, out } = await runProgram(['encryption', 'status', '--json'], env)
  expect(code).toBe(0)
  return JSON.parse(out) as { Key: string; isFirst: boolean; DataKeys: number }[]
}

/** Sends requests again with their keys, through all of these processes in turn, until it is told to stop. */
function replaying(processes: readonly Serving[], who: Credentials, sent: readonly { key: string; text: string }[]) {
  let isOver = false
  let count = 0
  const done = (async () => {
    while (!isOver) {
      const at = processes[count % processes.length]!
      const { key, text } = sent[count % sent.length]!
      const again = await send(at.address, who, '/v1/customers', company, key)
      expect(again).toEqual({ status: 201, text, replayed: 'true' })
      count += 1
    }
    return count
  })()
  return {
    stop: () => {
      isOver = true
      return done
    },
  }
}

describe('the key is changed', () => {
  test('on a server, process by process and while replays go on: none is done again, and the old key is needed by nobody afterwards', async () => {
    const { admin, url } = await foreignServer()
    await admin.query('create role billing login createrole')
    await admin.query('create database billing owner billing')
    const env = (key: string) => ({
      DATABASE_URL: url('billing', 'billing'),
      DATA_DIR: testFolder(),
      ENCRYPTION_KEY: key,
    })
    const first = await serve(env(OLD))
    const who = { account: first.account, key: first.key }
    const sent = []
    for (const key of ['a', 'b', 'c'])
      sent.push({ key, text: (await send(first.address, who, '/v1/customers', company, key)).text })
    const { customerID } = JSON.parse(sent[0]!.text) as { customerID: number }
    const contact = {
      customerID,
      Name: 'Jane',
      LastName: 'Doe',
      Email: 'jane@example.com',
      isActive: true,
      Password: 'geheim-1',
    }
    expect((await send(first.address, who, '/v1/customercontacts', contact)).status).toBe(201)

    const second = await serve(env(`${OLD},${NEW}`))
    const third = await serve(env(`${NEW},${OLD}`))
    const replays = replaying([first, second, third], who, sent)
    const rotated = await runProgram(['encryption', 'rotate', '--json'], env(`${NEW},${OLD}`))
    const { Rotated, Keys } = JSON.parse(rotated.out) as { Rotated: number; Keys: { DataKeys: number }[] }
    expect(Rotated).toBeGreaterThan(0)
    expect(Keys.map(({ DataKeys }) => DataKeys)).toEqual([Rotated, 0])
    expect(await replays.stop()).toBeGreaterThan(0)
    await Promise.all([first, second, third].map(stopped))

    const after = await serve(env(NEW))
    for (const { key, text } of sent)
      expect(await send(after.address, who, '/v1/customers', company, key)).toEqual({
        status: 201,
        text,
        replayed: 'true',
      })
    expect((await send(after.address, who, '/v1/outbox')).text).toContain('geheim-1')
    expect(await statusOf(env(NEW))).toMatchObject([{ isFirst: true, DataKeys: Rotated }])
    await expectRefused(['serve'], env(OLD), /is not the one that this database was sealed under/)
  })

  test('in the file of DATA_DIR, which may name both keys', async () => {
    const DATA_DIR = testFolder()
    await stopped(await serve({ DATA_DIR, ENCRYPTION_KEY: OLD }))
    await expectRefused(['account', 'list'], { DATA_DIR }, /There is no encryption key/)
    writeFileSync(join(DATA_DIR, 'encryption.key'), `${NEW},${OLD}\n`, { mode: 0o600 })
    expect((await runProgram(['encryption', 'rotate'], { DATA_DIR })).out).toMatch(/wrapped anew: \d+\n.*Data keys\n/)
    writeFileSync(join(DATA_DIR, 'encryption.key'), `${NEW}\n`, { mode: 0o600 })
    expect((await statusOf({ DATA_DIR })).map(({ isFirst }) => isFirst)).toEqual([true])
  })
})

test('a wrong or lost key is one sentence, of every command; nothing is made in its place', async () => {
  const { admin, url } = await foreignServer()
  await admin.query('create role billing login createrole')
  await admin.query('create database billing owner billing')
  const database = { DATABASE_URL: url('billing', 'billing') }
  const DATA_DIR = join(testFolder(), 'data')
  await stopped(await serve({ ...database, DATA_DIR: testFolder(), ENCRYPTION_KEY: OLD }))
  for (const words of ['serve', 'work', 'migrate', 'account list', 'verify', 'billing run', 'encryption rotate'])
    await expectRefused(
      words.split(' '),
      { ...database, DATA_DIR, ENCRYPTION_KEY: STRANGE },
      /^The key in ENCRYPTION_KEY is not the one .*: set ENCRYPTION_KEY to that one\.$/,
    )
  // Both come from one look at the keys, which each command takes.
  for (const words of ['serve', 'work', 'account list'])
    await expectRefused(
      words.split(' '),
      { ...database, DATA_DIR },
      /^There is no encryption key, .*: set ENCRYPTION_KEY to it, or restore .*$/,
    )
  expect(readdirSync(join(DATA_DIR, '..'))).toEqual([])
  const { out } = await runProgram(['doctor', '--json'], { ...database, DATA_DIR, ENCRYPTION_KEY: STRANGE })
  expect(JSON.parse(out)).toContainEqual(
    expect.objectContaining({ About: 'what is sealed', State: 'fail', Mend: 'set ENCRYPTION_KEY to that one' }),
  )
  const working = startProgram(['work', '--json'], { ...database, DATA_DIR, ENCRYPTION_KEY: `${NEW},${OLD}` })
  await working.says(/working/)
})
