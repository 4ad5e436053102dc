import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { serveForeignShop } from './foreign-shop.ts'
import { call, runProgram, serve, startedFolder, testFolder } from './program.ts'

/** Findings of the doctor in healthy surroundings, and for each illness that can be made without harm. */

interface Said {
  About: string
  State: 'ok' | 'warn' | 'fail'
  Says: string
  Mend: string | null
}

async function doctor(
  env: Record<string, string>,
  more: readonly string[] = [],
): Promise<{ code: number | null; said: Said[]; text: string }> {
  const { code, out, err } = await runProgram(['doctor', '--json', ...more], env)
  expect(err).toBe('')
  return { code, said: JSON.parse(out) as Said[], text: out }
}

const of = (said: readonly Said[], about: string) => said.filter((one) => one.About === about)

/** Something on a port that is not Perennial; it says what it is told to. */
async function stranger(greeting: string): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(greeting)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }

describe('surroundings that are well', () => {
  test('before the first start everything is fine, and nothing is made', async () => {
    const DATA_DIR = join(testFolder(), 'data')
    const { code, said } = await doctor({ DATA_DIR })
    expect(said.filter(({ State }) => State === 'fail')).toEqual([])
    expect(code).toBe(0)
    expect(of(said, 'DATA_DIR')).toMatchObject([{ State: 'ok' }])
    expect(of(said, 'encryption key')).toMatchObject([{ State: 'ok' }])
    expect(of(said, 'embedded database')).toMatchObject([{ State: 'ok' }])
    expect(existsSync(DATA_DIR)).toBe(false)
  })

  test('beside a running service its database and its address are looked at too', async () => {
    const DATA_DIR = startedFolder()
    const service = await serve({ DATA_DIR }, ['--no-worker'])
    const PORT = new URL(service.address).port
    const { code, said } = await doctor({ DATA_DIR, PORT })
    expect({ code, failed: said.filter(({ State }) => State === 'fail') }).toEqual({ code: 0, failed: [] })
    expect(of(said, 'migrations')).toMatchObject([
      { State: 'ok', Says: expect.stringMatching(/^up to date with \d{4}_\w+\.sql$/) },
    ])
    expect(of(said, 'PORT')).toMatchObject([{ State: 'ok', Says: expect.stringContaining('by Perennial') }])
    expect(of(said, 'database rights')).toMatchObject([{ State: 'ok' }])
    expect(of(said, 'clock')).toMatchObject([{ State: 'ok' }])
    expect(of(said, 'DATABASE_POOL')).toEqual([])
    const several = await doctor({ DATA_DIR, PORT }, ['--workers', '5'])
    expect(of(several.said, 'DATABASE_POOL')).toMatchObject([
      { State: 'warn', Says: expect.stringMatching(/^88 connections \(service and 5 workers, .* of the 87 /) },
    ])

    service.child.kill('SIGTERM')
    await service.ended
    const before = readdirSync(DATA_DIR).toSorted()
    const stopped = await doctor({ DATA_DIR, PORT })
    expect(of(stopped.said, 'embedded database')).toMatchObject([
      { State: 'ok', Says: expect.stringContaining('not running now') },
    ])
    expect(of(stopped.said, 'PORT')).toMatchObject([{ State: 'ok', Says: expect.stringContaining('is free') }])
    expect(readdirSync(DATA_DIR).toSorted()).toEqual(before)

    chmodSync(join(DATA_DIR, 'encryption.key'), 0o644)
    expect(of((await doctor({ DATA_DIR })).said, 'encryption key')).toMatchObject([
      { State: 'warn', Mend: `chmod 600 ${join(DATA_DIR, 'encryption.key')}` },
    ])
    rmSync(join(DATA_DIR, 'encryption.key'))
    const keyless = await doctor({ DATA_DIR })
    expect(of(keyless.said, 'encryption key')).toMatchObject([
      { State: 'fail', Mend: expect.stringContaining('restore') },
    ])
    expect(keyless.code).toBe(1)
    expect(existsSync(join(DATA_DIR, 'encryption.key'))).toBe(false)
  })
})

test('a database that a command made has its key', async () => {
  const DATA_DIR = testFolder()
  expect((await runProgram(['migrate'], { DATA_DIR })).code).toBe(0)
  const { code, said } = await doctor({ DATA_DIR })
  expect(of(said, 'encryption key')).toMatchObject([{ State: 'ok' }])
  expect(code).toBe(0)
})

describe('secrets that can be guessed', () => {
  test('are warned of with the way out, also in the environment of a unit, and are not shown', async () => {
    const folder = testFolder()
    const key = 'ab'.repeat(32)
    const unit = join(folder, 'perennial.service')
    const file = join(folder, 'perennial.env')
    writeFileSync(
      file,
      `# of the unit\nENCRYPTION_KEY=${key}\nexport LOG_LEVEL=loud\nBOOTSTRAP_API_KEY="a-key-of-my-own"\n`,
    )
    writeFileSync(unit, `[Service]\nEnvironment=DATA_DIR=${join(folder, 'data')}\nEnvironmentFile=-${file}\n`)
    for (const [path, env] of [
      [file, { DATA_DIR: join(folder, 'data'), BOOTSTRAP_API_KEY: 'what stands in the file comes before it' }],
      [unit, {}],
    ] as const) {
      const { said, text } = await doctor(env, ['--env-file', path])
      expect(of(said, 'encryption key')).toMatchObject([
        { State: 'warn', Says: expect.stringContaining('repeats a pattern'), Mend: expect.stringContaining('rotate') },
      ])
      expect(of(said, 'BOOTSTRAP_API_KEY')).toMatchObject([
        { State: 'warn', Says: expect.stringContaining('can be guessed'), Mend: expect.stringContaining('revoke') },
      ])
      expect(of(said, 'DATA_DIR')).toMatchObject([{ Says: expect.stringContaining(folder) }])
      for (const secret of [key, 'a-key-of-my-own']) expect(text).not.toContain(secret)
      // The line that systemd passes over counts nowhere, though Node.js would take it.
      expect(of(said, 'LOG_LEVEL')).toEqual([])
      expect(of(said, `${file}:3`)).toMatchObject(path === file ? [{ State: 'warn' }] : [])
    }
    const { code, err } = await runProgram(['doctor', '--env-file', join(folder, 'none')], {})
    // Node.js 20 looks for the file itself.
    expect([code === 0, err]).toEqual([false, expect.stringMatching(/none(: not found| cannot be read)/)])
  })
})

describe('illnesses', () => {
  test('a port that a Perennial of another database serves, whether the own one runs or not', async () => {
    const other = await serve({ DATA_DIR: testFolder() }, ['--no-worker'])
    const PORT = new URL(other.address).port
    const finding = [{ State: 'fail', Says: expect.stringContaining('by a Perennial of another database') }]
    expect(of((await doctor({ DATA_DIR: testFolder(), PORT })).said, 'PORT')).toMatchObject(finding)
    const own = startedFolder()
    await serve({ DATA_DIR: own }, ['--no-worker'])
    expect(of((await doctor({ DATA_DIR: own, PORT })).said, 'PORT')).toMatchObject(finding)
  })

  test('every setting that cannot be read is told, and the rest is looked at all the same', async () => {
    const { code, said } = await doctor({
      DATA_DIR: testFolder(),
      PORT: 'x',
      DATABASE_URL: 'mysql://me:hush-hush@host/db',
      LOG_LEVEL: 'loud',
    })
    expect(code).toBe(1)
    for (const name of ['PORT', 'DATABASE_URL', 'LOG_LEVEL'])
      expect(of(said, name)[0], name).toMatchObject({ State: 'fail', Says: expect.stringContaining('must be') })
    expect(of(said, 'DATA_DIR')).toMatchObject([{ State: 'ok' }])
    expect(JSON.stringify(said)).not.toContain('hush-hush')
  })

  test('names that are nearly settings are told, without their values', async () => {
    const { said, text } = await doctor({
      DATA_DIR: testFolder(),
      DATABASE_URI: 'postgres://me:hush-hush@host/db',
      PERENNIAL_PORT: '81',
      SMTPURL: 'smtp://me:hush-hush@host',
    })
    expect(of(said, 'DATABASE_URI')).toMatchObject([{ State: 'warn', Mend: 'if DATABASE_URL is meant, rename it' }])
    expect(of(said, 'PERENNIAL_PORT')).toMatchObject([{ State: 'warn', Mend: 'if PORT is meant, rename it' }])
    expect(of(said, 'SMTPURL')).toMatchObject([{ State: 'warn', Mend: 'if SMTP_URL is meant, rename it' }])
    expect(of(said, 'PATH')).toEqual([])
    expect(text).not.toContain('hush-hush')
  })

  test('settings that do not go together', async () => {
    const { code, said } = await doctor({
      DATA_DIR: testFolder(),
      HOST: '0.0.0.0',
      TRUST_PROXY: 'true',
      CORS_ORIGIN: '*',
      OUTBOUND_ALLOW: '169.254.0.0/16',
      LOG_LEVEL: 'silent',
    })
    for (const name of ['PUBLIC_URL', 'TRUST_PROXY', 'CORS_ORIGIN', 'OUTBOUND_ALLOW', 'LOG_LEVEL'])
      expect(of(said, name), name).toMatchObject([{ State: 'warn' }])
    expect(code).toBe(0)
  })

  test.each([
    ['is unset', {}],
    ['is the origin of PUBLIC_URL', { WIDGET_ORIGIN: 'https://billing.example' }],
    ['is http', { WIDGET_ORIGIN: 'http://cards.example' }],
  ])('an origin of the capture frames that %s', async (text, env) => {
    const { code, said } = await doctor({ DATA_DIR: testFolder(), PUBLIC_URL: 'https://billing.example/base', ...env })
    expect(of(said, 'WIDGET_ORIGIN')).toMatchObject([{ State: 'warn', Says: expect.stringContaining(text) }])
    expect(code).toBe(0)
  })

  test('no origin of the capture frames is asked for on the machine itself, and one that is right is not told', async () => {
    const widget = async (env: Record<string, string>) =>
      of((await doctor({ DATA_DIR: testFolder(), ...env })).said, 'WIDGET_ORIGIN')
    expect(await widget({})).toEqual([])
    expect(await widget({ PUBLIC_URL: 'http://localhost:3000', WIDGET_ORIGIN: 'http://127.0.0.1:3000' })).toEqual([])
    const apart = { PUBLIC_URL: 'https://billing.example', WIDGET_ORIGIN: 'https://cards.example' }
    expect(await widget(apart)).toEqual([])
  })

  test('a data folder that is none, one that is open, and one with something else in it', async () => {
    const folder = testFolder()
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const none = await doctor({ DATA_DIR: file })
    expect(none.code).toBe(1)
    expect(of(none.said, 'DATA_DIR')).toMatchObject([
      { State: 'fail', Says: expect.stringContaining('is not a folder') },
    ])
    const open = join(folder, 'open')
    mkdirSync(join(open, 'postgres'), { recursive: true })
    writeFileSync(join(open, 'postgres', 'mine.txt'), '')
    writeFileSync(join(open, 'encryption.key'), 'short')
    chmodSync(open, 0o755)
    const { said } = await doctor({ DATA_DIR: open })
    expect(of(said, 'DATA_DIR')).toMatchObject([{ State: 'warn', Mend: `chmod 700 ${open}` }])
    expect(of(said, 'encryption key')).toMatchObject([{ State: 'fail' }])
    expect(of(said, 'embedded database')).toMatchObject([{ State: 'fail' }])
    writeFileSync(join(open, 'postgres', 'PG_VERSION'), '9\n')
    expect(of((await doctor({ DATA_DIR: open })).said, 'embedded database')).toMatchObject([
      { State: 'fail', Says: expect.stringContaining('was made by PostgreSQL 9') },
    ])
  })

  test('an address in use by another program, and one of another machine', async () => {
    const PORT = String(await stranger('hello'))
    const used = await doctor({ DATA_DIR: testFolder(), PORT })
    expect(of(used.said, 'PORT')).toMatchObject([{ State: 'fail', Says: expect.stringContaining('another program') }])
    const foreign = await doctor({ DATA_DIR: testFolder(), HOST: '192.0.2.1' })
    expect(of(foreign.said, 'HOST')).toMatchObject([{ State: 'fail' }])
  })

  test('a mail server that greets, one that is none, and none at all', async () => {
    const url = (port: number) => ({ DATA_DIR: testFolder(), SMTP_URL: `smtp://me:hush-hush@127.0.0.1:${port}` })
    const greeting = await doctor(url(await stranger('220 mail.example ESMTP\r\n')))
    expect(of(greeting.said, 'SMTP_URL')).toMatchObject([{ State: 'ok' }])
    const other = await doctor(url(await stranger('HTTP/1.1 400 Bad Request\r\n')))
    expect(of(other.said, 'SMTP_URL')).toMatchObject([{ State: 'warn' }])
    const gone = await doctor(url(1))
    expect(of(gone.said, 'SMTP_URL')).toMatchObject([{ State: 'fail', Says: expect.stringContaining('ECONNREFUSED') }])
    for (const { text } of [greeting, other, gone]) expect(text).not.toContain('hush-hush')
  })
})

describe('a server given by DATABASE_URL', () => {
  test('is reached, and rights, migrations and durability are told; nothing is changed in it', async () => {
    const postgres = await startEmbeddedPostgres({
      dataDir: join(testFolder(), 'server'),
      log: silent,
      settings: { fsync: 'off' },
    })
    const { host, port } = postgres.connection
    const admin = new pg.Client(postgres.connection)
    await admin.connect()
    onTestFinished(async () => {
      await admin.end()
      await postgres.stop()
    })
    const env = (user: string, database: string) => ({
      DATA_DIR: testFolder(),
      DATABASE_URL: `postgres://${user}:hush-hush@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    })
    await admin.query('create role plain login')
    await admin.query('create role billing login createrole')
    await admin.query('create database billing owner billing')
    const absent = await doctor(env('billing', 'elsewhere'))
    expect(of(absent.said, 'DATABASE_URL')).toMatchObject([
      { State: 'fail', Says: expect.stringContaining('has no such database') },
    ])
    const plain = await doctor(env('plain', 'billing'))
    expect(plain.code).toBe(1)
    expect(of(plain.said, 'database rights').map(({ Mend }) => Mend)).toEqual([
      expect.stringContaining('create role perennial_app nologin'),
      expect.stringContaining('grant create on the database'),
    ])

    const empty = await doctor(env('billing', 'billing'))
    expect(empty.code).toBe(0)
    expect(of(empty.said, 'migrations')).toMatchObject([{ Says: expect.stringContaining('the database is empty') }])
    expect(of(empty.said, 'database durability')).toMatchObject([{ State: 'warn' }])
    const schemas = await admin.query(`select 1 from pg_roles where rolname = 'perennial_app'`)
    expect(schemas.rowCount).toBe(0)

    expect(await runProgram(['migrate'], env('billing', 'billing'))).toMatchObject({ code: 0 })
    const full = await doctor(env('billing', 'billing'))
    expect(of(full.said, 'migrations')).toMatchObject([
      { State: 'ok', Says: expect.stringMatching(/^up to date with \d{4}_\w+\.sql$/) },
    ])
    const inside = new pg.Client({ ...postgres.connection, database: 'billing' })
    await inside.connect()
    await inside.query(
      `delete from perennial.migrations where version = (select max(version) from perennial.migrations)`,
    )
    expect(of((await doctor(env('billing', 'billing'))).said, 'migrations')).toMatchObject([{ State: 'warn' }])
    await inside.query(`insert into perennial.migrations values (9999, '9999_future.sql', '')`)
    const ahead = await doctor(env('billing', 'billing'))
    expect(of(ahead.said, 'migrations')).toMatchObject([
      { State: 'fail', Says: expect.stringContaining('knows migration 9999') },
    ])
    await inside.end()
    for (const { text } of [absent, plain, empty, full, ahead]) expect(text).not.toContain('hush-hush')
  })

  test('that does not run is told', async () => {
    const { code, said, text } = await doctor({
      DATA_DIR: testFolder(),
      DATABASE_URL: 'postgres://me:hush-hush@127.0.0.1:1/db',
    })
    expect(code).toBe(1)
    expect(of(said, 'DATABASE_URL')).toMatchObject([{ State: 'fail', Says: expect.stringContaining('ECONNREFUSED') }])
    expect(text).not.toContain('hush-hush')
  })
})

test('for people it is one line a check', async () => {
  const { out } = await runProgram(['doctor'], { DATA_DIR: testFolder(), PORT: 'x' })
  const lines = out.trimEnd().split('\n')
  expect(lines[0]).toMatch(/^fail {2}PORT: must be a whole number from 0 to 65535, not "x" – /)
  for (const line of lines) expect(line).toMatch(/^(ok {2}|warn|fail) {2}\S.*: /)
})

test('sales of the capture widget that wait for a person are counted, with the way to settle them', async () => {
  const { env, first, rows, account } = await serveForeignShop()
  const [gateway] = (await call(first, first, '/v1/gateways')).body
  const begun = await call(first, first, '/v1/widgets/capturepaymethod/create', {
    VaultingType: 'VaultGateway',
    SaleType: 'VaultSale',
    Amount: 49,
    ExpiresIn: '01:00:00',
    isVaultOnlyOnSuccess: true,
    CurrencyCode: 'USD',
    GatewayToken: gateway.GatewayToken,
    AuthDomain: 'shop.example',
  })
  const id = begun.body.iframeCapturePayID
  const silentFor = (hours: number) =>
    rows(
      `insert into capture_sales (account_id, capture_session_id, gateway_id, currency, amount_minor, begun_at, silent_since, state, next_ask_at)
       select $1, $2, $3, 'USD', 4900, now(), now() - $4::integer * interval '1 hour', 'open', now()
       on conflict (account_id, capture_session_id) where state = 'open' do update set silent_since = excluded.silent_since`,
      [account, id, gateway.gatewayID, hours],
    )
  await silentFor(23)
  expect(of((await doctor(env)).said, 'capture widget')).toEqual([])
  await silentFor(25)
  expect(of((await doctor(env)).said, 'capture widget')).toMatchObject([
    { State: 'warn', Says: expect.stringMatching(/^1 sale waits/), Mend: expect.stringContaining('/sales') },
  ])
})
