import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { joinEmbeddedPostgres } from '../../src/platform/postgres/join.ts'
import { call, type Ended, runProgram, serve, startedFolder, startProgram, testFolder } from './program.ts'

/** A failed start is one sentence that a person can act on. */
function expectOneSentence(ended: Ended, sentence: RegExp): void {
  expect(ended.code).toBe(1)
  expect(ended.out).toBe('')
  expect(ended.err.trimEnd().split('\n')).toHaveLength(1)
  expect(ended.err).toMatch(sentence)
  expect(ended.err).not.toMatch(/\bat .*:\d+:\d+/)
}

describe('start', () => {
  test('the first start prints address, account, key and a curl line that works as it stands; the second prints the address alone', async () => {
    const env = { DATA_DIR: join(testFolder(), 'data') }
    const first = startProgram(['serve'], env)
    const [, curl = ''] = await first.says(/Try it: +(curl .*)\n/)
    expect(first.said.out).toMatch(
      /^Perennial serves at http:\/\/127\.0\.0\.1:\d+\n\n {2}Account {3}1 \(test, USD\)\n {2}API key {3}test_/,
    )
    expect(execFileSync('sh', ['-c', `${curl} -s`], { encoding: 'utf8' })).toBe('[]')
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(0)

    const second = startProgram(['serve'], env)
    await second.says(/serves at (\S+)\n/)
    second.child.kill('SIGTERM')
    const ended = await second.ended
    expect(ended.code).toBe(0)
    expect(ended.out).toMatch(/^Perennial serves at http:\/\/127\.0\.0\.1:\d+\n$/)
  })

  test('a key that was given works and is not printed, neither at the first start nor later', async () => {
    const env = {
      DATA_DIR: testFolder(),
      BOOTSTRAP_API_KEY: 'a-key-of-my-own-choice-0123456789',
      BOOTSTRAP_ACCOUNT_MODE: 'live',
      BOOTSTRAP_CURRENCY: 'ZAR',
      LOG_LEVEL: 'trace',
    }
    const first = await serve(env)
    expect(first.key).toBeUndefined()
    const currencies = await call(first, { account: 1, key: env.BOOTSTRAP_API_KEY }, '/v1/currencies')
    expect(currencies.body).toMatchObject([{ CurrencyCode: 'ZAR' }])
    first.child.kill('SIGTERM')
    const { out, err } = await first.ended
    expect(out + err).not.toContain(env.BOOTSTRAP_API_KEY)
  })

  test('a first key that can be guessed is refused before anything is made', async () => {
    const DATA_DIR = join(testFolder(), 'data')
    for (const BOOTSTRAP_API_KEY of ['a-key-of-my-own-choice', 'abcabc'.repeat(8)]) {
      const ended = await runProgram(['serve'], { DATA_DIR, BOOTSTRAP_API_KEY })
      expectOneSentence(ended, /BOOTSTRAP_API_KEY can be guessed: .* unset it to have one made\./)
      expect(ended.err).not.toContain(BOOTSTRAP_API_KEY)
      expect(existsSync(DATA_DIR)).toBe(false)
    }
  })

  test('on the embedded database the service logs in as a role that can become no other and make no temporary tables', async () => {
    const DATA_DIR = startedFolder()
    const service = await serve({ DATA_DIR })
    expect((await fetch(`${service.address}/readyz`)).status).toBe(200)
    const connection = await joinEmbeddedPostgres({ dataDir: DATA_DIR })
    const admin = new pg.Client(connection)
    await admin.connect()
    const { rows } = await admin.query(
      `select distinct usename from pg_stat_activity where application_name like 'perennial%' and datname = 'perennial'`,
    )
    expect(rows).toEqual([{ usename: 'perennial_app' }])
    await admin.end()
    const bound = new pg.Client({ ...connection, user: 'perennial_app' })
    await bound.connect()
    await expect(bound.query('set role postgres')).rejects.toThrow('permission denied')
    await expect(bound.query('create temporary table accounts (id bigint)')).rejects.toThrow('permission denied')
    await bound.end()
  })

  test('what a killed service held is free as soon as the embedded database is started anew', async () => {
    const env = { DATA_DIR: startedFolder() }
    const first = await serve(env)
    const connection = await joinEmbeddedPostgres({ dataDir: env.DATA_DIR })
    const client = new pg.Client(connection)
    client.on('error', () => {})
    await client.connect()
    await client.query(`insert into perennial.leases (account_id, name, holder, leased_until)
      values (1, 'clock', gen_random_uuid(), clock_timestamp() + interval '30 seconds')`)
    const move = async ({ address }: typeof first) =>
      fetch(`${address}/v1/clock`, {
        method: 'PUT',
        headers: { authorization: `Basic ${btoa(`1:${first.key}`)}`, 'content-type': 'application/json' },
        body: JSON.stringify({ Now: '2030-01-01' }),
      })
    expect((await move(first)).status).toBe(409)
    await client.end()
    first.child.kill('SIGKILL')
    await first.ended
    expect((await move(await serve(env))).status).toBe(200)
  })

  test('a given key that an account made before the first start keeps from being used is named, whatever the log is to hold', async () => {
    const env = { DATA_DIR: testFolder(), BOOTSTRAP_API_KEY: 'a-key-of-my-own-choice-0123456789', LOG_LEVEL: 'silent' }
    expect((await runProgram(['account', 'create', '--name', 'Early'], env)).code).toBe(0)
    const service = await serve(env, ['--no-worker'])
    expect((await call(service, { account: 1, key: env.BOOTSTRAP_API_KEY }, '/v1/currencies')).status).toBe(401)
    service.child.kill('SIGTERM')
    const { err } = await service.ended
    expect(err).toContain('BOOTSTRAP_API_KEY is a key of no account')
    expect(err).not.toContain(env.BOOTSTRAP_API_KEY)
  })

  test('health, readiness and metrics need no key', async () => {
    const service = await serve({ DATA_DIR: startedFolder() }, ['--no-worker'])
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json', '/docs', '/docs/customers'])
      expect((await fetch(service.address + path)).status, path).toBe(200)
  })
})

describe('a start that cannot be', () => {
  test('names every wrong setting at once, and no secret', async () => {
    const ended = await runProgram(['serve'], {
      PORT: 'many',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'mysql://root:secret@host/db',
      BOOTSTRAP_API_KEY: 'short',
    })
    expect(ended.code).toBe(1)
    for (const name of ['PORT', 'LOG_LEVEL', 'DATABASE_URL', 'BOOTSTRAP_API_KEY'])
      expect(ended.err).toMatch(new RegExp(`^${name} must be .*\\.$`, 'm'))
    expect(ended.err).not.toMatch(/secret|short/)
  })

  test('says that the port is in use before a database is made, and lets go of one that is there', async () => {
    const DATA_DIR = testFolder()
    const other = createServer()
    const port = await new Promise<number>((resolve) =>
      other.listen(0, '127.0.0.1', () => resolve((other.address() as { port: number }).port)),
    )
    const refused = async () =>
      expectOneSentence(
        await runProgram(['serve'], { DATA_DIR, PORT: String(port), LOG_LEVEL: 'warn' }),
        new RegExp(`Port ${port} on 127.0.0.1 is in use: .*PORT`),
      )
    await refused()
    expect(readdirSync(DATA_DIR)).toEqual([])
    const first = await serve({ DATA_DIR }, ['--no-worker'])
    first.child.kill('SIGTERM')
    await first.ended
    await refused()
    other.close()
    await serve({ DATA_DIR }, ['--no-worker'])
  })

  test('says who uses the data folder when a service runs on it already', async () => {
    const DATA_DIR = startedFolder()
    const { child } = await serve({ DATA_DIR }, ['--no-worker'])
    expectOneSentence(
      await runProgram(['serve'], { DATA_DIR, LOG_LEVEL: 'warn' }),
      new RegExp(`process ${child.pid}\\b`),
    )
  })

  test('says that the data folder is none, or cannot be written', async () => {
    const folder = testFolder()
    writeFileSync(join(folder, 'file'), '')
    expectOneSentence(await runProgram(['serve'], { DATA_DIR: join(folder, 'file') }), /is not a folder: set DATA_DIR/)
    expectOneSentence(await runProgram(['serve'], { DATA_DIR: '/sys/perennial' }), /cannot be written .*DATA_DIR/)
  })

  test('says that the database server cannot be reached, without the password', async () => {
    const ended = await runProgram(['serve'], {
      DATA_DIR: testFolder(),
      DATABASE_URL: 'postgres://someone:secret@127.0.0.1:1/billing',
    })
    expectOneSentence(ended, /server at 127\.0\.0\.1:1\/billing cannot be reached .*DATABASE_URL/)
    expect(ended.err).not.toContain('secret')
  })

  test('repeats what a database server answers, with what to do, where that refuses a login or lacks what an account is served from', async () => {
    const { admin, url } = await foreignServer()
    await admin.query('create role billing nologin createrole')
    await admin.query('create database billing owner billing')
    const env = { DATA_DIR: testFolder(), DATABASE_URL: url('billing', 'billing'), LOG_LEVEL: 'warn' }
    const refused = await runProgram(['serve'], env)
    expectOneSentence(refused, /refuses: role "billing" is not permitted to log in\. .*alter role billing login;/)
    expect(refused.err).not.toMatch(/cannot be reached|never-shown/)
    await admin.query('alter role billing login')
    expectOneSentence(
      await runProgram(['serve'], { ...env, DATABASE_URL: url('billing', 'elsewhere') }),
      /refuses: database "elsewhere" does not exist\. .*DATABASE_URL/,
    )
    expect((await runProgram(['migrate'], env)).code).toBe(0)
    const billing = new pg.Client({ connectionString: env.DATABASE_URL })
    await billing.connect()
    await billing.query('revoke select on perennial.customers from perennial_app')
    expectOneSentence(
      await runProgram(['serve'], env),
      /serves no accounts: permission denied for table customers\. .*restore it whole/,
    )
    await billing.query(
      'grant select on perennial.customers to perennial_app; alter table perennial.customers rename to clients',
    )
    expectOneSentence(await runProgram(['serve'], env), /serves no accounts: relation "customers" does not exist\./)
    await billing.query(
      'alter table perennial.clients rename to customers; revoke insert on perennial.payments from perennial_app',
    )
    const lacksRight = /the role perennial_app has no right to insert on payments/
    expectOneSentence(await runProgram(['serve'], env), lacksRight)
    expect(await runProgram(['doctor'], env)).toMatchObject({ code: 1, out: expect.stringMatching(lacksRight) })
    await billing.query('grant insert on perennial.payments to perennial_app; drop table perennial.invoices cascade')
    expectOneSentence(await runProgram(['serve'], env), /serves no accounts: relation "invoices" does not exist: /)
    const doctor = await runProgram(['doctor'], env)
    expect([doctor.code, doctor.out]).toEqual([1, expect.stringMatching(/relation "invoices" does not exist/)])
    expect(doctor.out).not.toContain('cannot be reached')
    await billing.end()
  })

  test('refuses a database of a newer version of the program, and one of another PostgreSQL', async () => {
    const DATA_DIR = startedFolder()
    const service = await serve({ DATA_DIR }, ['--no-worker'])
    const connection = await joinEmbeddedPostgres({ dataDir: DATA_DIR })
    const client = new pg.Client(connection)
    await client.connect()
    await client.query(`insert into perennial.migrations (version, name, hash) values (9999, '9999_future.sql', '')`)
    await client.end()
    service.child.kill('SIGTERM')
    await service.ended
    expectOneSentence(
      await runProgram(['serve'], { DATA_DIR, LOG_LEVEL: 'warn' }),
      /migration 9999.*start a version at least as new/,
    )

    const old = testFolder()
    mkdirSync(join(old, 'postgres'))
    writeFileSync(join(old, 'postgres', 'PG_VERSION'), '14\n')
    // Root's own folder would be refused for being root's.
    if (process.getuid?.() === 0) chownSync(join(old, 'postgres'), 65_534, 65_534)
    expectOneSentence(await runProgram(['serve'], { DATA_DIR: old }), /made by PostgreSQL 14 /)
  })

  test('shows the story of a surprise only to whoever asks for it', async () => {
    const DATA_DIR = testFolder()
    // A folder in the place of the key file is nothing that the program expects.
    mkdirSync(join(DATA_DIR, 'encryption.key'))
    expectOneSentence(
      await runProgram(['serve'], { DATA_DIR, LOG_LEVEL: 'warn' }),
      /unexpected.*EISDIR.*LOG_LEVEL=debug/,
    )
    const { code, err } = await runProgram(['serve'], { DATA_DIR, LOG_LEVEL: 'debug' })
    expect(code).toBe(1)
    expect(err).toMatch(/encryption-key\.ts:\d+/)
  })
})
