/**
 * Makes a dump of a database as a program of another time left it, for the tests of upgrades. Usage: npx tsx test/upgrades/make-dump.ts FOLDER NAME, where
 * FOLDER is that program's worktree, built; it needs `pg_dump` of PostgreSQL 15 and npm ci --prefix test/postgres-versions. README.md says what comes of it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/platform/postgres/supervisor.ts'
import { surroundingsOfOlder } from '../support/older-postgres.ts'
import type { Ask, SentFile } from './firm.ts'
import { mandates, many } from './lives.ts'
import { living, placeholders, references } from './stories.ts'

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const [folder = '', name = ''] = process.argv.slice(2)
const program = resolve(folder)
const here = new URL('.', import.meta.url).pathname
const KEY = '5a'.repeat(31) + '5b'
const READ_AGAIN = [
  '/v1/account',
  '/v1/clock',
  '/v1/invoices',
  '/v1/payments',
  '/v1/credits',
  '/v1/customers',
  '/v1/subscriptions',
  '/v1/recurring-invoices',
  '/v1/paymentmethods',
  '/v1/batches',
  '/v1/resultfiles',
  '/v1/ledger/balances',
  '/v1/ledger/entries',
  '/v1/events',
  '/v1/outbox',
  '/v1/webhooks',
  '/v1/exports',
  '/v1/gateways',
  '/v1/packages',
  '/v1/components',
  '/v1/tax',
  '/v1/customfields',
  '/v1/glcodes',
  '/v1/reports/trialbalance',
  '/v1/reports/ageing',
]

interface Account {
  account: number
  key: string
}

const data = mkdtempSync(join(tmpdir(), 'perennial-dump-'))
chmodSync(data, 0o755)
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
const server = await startEmbeddedPostgres({ dataDir: data, log: silent, ...surroundingsOfOlder('15', data) })
const { host, port, user } = server.connection
const started: ChildProcess[] = []

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: join(data, 'program'),
    DATABASE_URL: `postgres://${user}@localhost:${port}/billing?host=${encodeURIComponent(host)}`,
    ENCRYPTION_KEY: KEY,
    BOOTSTRAP_ACCOUNT_MODE: 'live',
    BOOTSTRAP_ACCOUNT_NAME: 'Live',
    BOOTSTRAP_CURRENCY: 'EUR',
    LOG_LEVEL: 'warn',
  }
}

const words = (...args: string[]) => [join(program, 'bin/perennial.js'), ...args, '--json']

const run = (...args: string[]): Json =>
  JSON.parse(
    execFileSync(process.execPath, words(...args), { env: environment(), cwd: program, encoding: 'utf8' })
      .trim()
      .split('\n')
      .at(-1) ?? '',
  )

async function serve(...args: string[]) {
  const child = spawn(process.execPath, words('serve', ...args), {
    env: environment(),
    cwd: program,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  started.push(child)
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  return { told: JSON.parse(line) as Json, stop }
}

const askAs = (
  address: string,
  { account, key }: Account,
): Ask & { reply: (...sent: Parameters<Ask>) => Promise<Json> } => {
  const reply = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(address + path, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
        ...(headers['origin'] ? { origin: address } : {}),
      },
      redirect: 'manual',
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = text !== '' && (response.headers.get('content-type') ?? '').includes('json')
    return { status: response.status, body: isJson ? JSON.parse(text) : undefined, text }
  }
  const ask = async (...sent: Parameters<Ask>) => {
    const answer = await reply(...sent)
    if (answer.status >= 400) throw new Error(`${sent[0]} ${sent[1]} ${answer.status} ${answer.text}`)
    return answer.body ?? answer
  }
  return Object.assign(ask, { reply })
}

async function make(): Promise<void> {
  const service = await serve()
  const { Address: address } = service.told
  const live: Account = { account: service.told.AccountID, key: service.told.ApiKey }
  const account = (label: string, clock: string, currency: string): Account => {
    const { AccountID, ApiKey } = run(
      'account',
      'create',
      '--test',
      '--clock',
      clock,
      '--currency',
      currency,
      '--name',
      label,
    )
    return { account: AccountID, key: ApiKey }
  }
  const { recordExamples, FIRST_DAY } = await import(join(program, 'scripts/recording.ts'))
  const accounts = {
    live,
    demo: account('Demo', `${FIRST_DAY}T00:00:00Z`, 'EUR'),
    placeholders: account('Placeholders', '2027-01-04T08:00:00Z', 'EUR'),
    references: account('References', '2027-01-04T08:00:00Z', 'EUR'),
    alike: account('Alike', '2027-01-01T08:00:00Z', 'USD'),
  }
  const asking = (one: Account) => askAs(address, one)
  console.log('the demo')
  await recordExamples(asking(accounts.demo).reply)
  console.log('bank files')
  const files: SentFile[] = [
    ...(await placeholders(asking(accounts.placeholders), accounts.placeholders.account)),
    ...(await references(asking(accounts.references), accounts.references.account)),
    ...(await living(asking(live), live.account)),
  ]
  console.log('customers who are alike')
  await many(asking(accounts.alike))
  await mandates(asking(accounts.demo), address)
  await service.stop()
  await night()

  const reading = await serve('--no-worker')
  const answers: Record<string, Record<string, Json>> = {}
  for (const [label, one] of Object.entries(accounts)) {
    const ask = askAs(reading.told.Address, one)
    const read: Record<string, Json> = {}
    for (const path of READ_AGAIN)
      read[path] = await ask(
        'GET',
        path === '/v1/account' || path === '/v1/clock' || path.includes('report') ? path : `${path}?page_size=200`,
      )
    answers[label] = read
  }
  await reading.stop()
  const verified = run('verify')
  console.log(JSON.stringify(verified))
  const at = new Date().toISOString()
  const sql = execFileSync(
    'pg_dump',
    [
      '--host',
      host,
      '--port',
      String(port),
      '--username',
      user,
      '--schema',
      'perennial',
      '--inserts',
      '--rows-per-insert=100',
      'billing',
    ],
    { encoding: 'utf8', maxBuffer: 2 ** 28 },
  )
  writeFileSync(join(here, `${name}.sql.gz`), gzipSync(plain(sql), { level: 9 }))
  const beside = { MadeAt: at, EncryptionKey: KEY, Accounts: accounts, Files: files, Answers: answers }
  writeFileSync(join(here, `${name}.json.gz`), gzipSync(JSON.stringify(beside), { level: 9 }))
  await sayWhatIsEmpty()
}

/** Lets the program sum its ledger by day, count its lists and verify and seal every account, as a night of its worker does. */
async function night(): Promise<void> {
  const { openDatabase } = await import(join(program, 'src/platform/database/open-database.ts'))
  const { sumDays } = await import(join(program, 'src/features/ledger/mark-queries.ts'))
  const { verifyNightly } = await import(join(program, 'src/checks.ts'))
  const db = openDatabase({ host, port, user, database: 'billing' }, { role: 'perennial_app', poolSize: 4 })
  // The first look notes what has been drawn, a later one finds that nobody draws any more.
  for (let idle = 0; idle < 2;) idle = (await sumDays(db.unscoped)) ? 0 : idle + 1
  const realClock = () => Date.parse(`${new Date().toISOString().slice(0, 10)}T02:10:00Z`)
  const report = (...told: unknown[]) => console.log(...told)
  await verifyNightly(
    { db, realClock, onDifference: report, onVerified: () => {}, onSealed: () => {}, onFailed: report },
    () => {},
  )
  await db.close()
}

/** Commands of psql that its dumps begin and end with, which a driver does not know. */
const plain = (sql: string): string => sql.replaceAll(/^\\(?:un)?restrict .*\n/gm, '')

async function sayWhatIsEmpty(): Promise<void> {
  const client = new pg.Client({ host, port, user, database: 'billing' })
  await client.connect()
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'perennial' order by 1`,
  )
  for (const { name: table } of rows) {
    const { rows: counted } = await client.query<{ n: string }>(`select count(*) as n from perennial.${table}`)
    if (counted[0]?.n === '0') console.log(`empty: ${table}`)
  }
  await client.end()
}

try {
  const admin = new pg.Client({ host, port, user, database: 'postgres' })
  await admin.connect()
  await admin.query('create database billing')
  await admin.end()
  await make()
} finally {
  for (const child of started) child.kill('SIGKILL')
  await server.stop()
  rmSync(data, { recursive: true, force: true })
}
