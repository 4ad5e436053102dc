import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { insertSubscribers, rateTermOf } from '../../src/features/billing-run/run.testing.ts'
import { openDatabase } from '../../src/platform/database/open-database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import { addPackage } from '../support/shop.ts'
import type { TestClient, TestService } from '../support/app.ts'
import { foreignServer } from './foreign-server.ts'
import { type Answer, call, isReplayed, keyed, ROOT, type Running, startProcess, testFolder } from './program.ts'

/**
 * An upgrade of processes one after the other. The old program is the packed one of test/upgrades that first knew schema numbers; the new one is this, with a
 * migration more where one is to roll and where none is.
 */

type Env = Record<string, string>

/** Makes a folder with a program in it; `run` starts it with words. */
function programIn(folder: string) {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const start = (words: string[], env: Env) =>
    startProcess(process.execPath, [join(folder, 'bin/perennial.js'), ...words], env)
  const serve = async (env: Env) => {
    const running = start(['serve', '--no-worker', '--json'], env)
    const [line] = await running.says(/^\{.*\}$/m)
    return { ...running, address: JSON.parse(line).Address as string }
  }
  const work = async (env: Env) => {
    const running = start(['work', '--json'], env)
    await running.says(/working/)
    return running
  }
  return { start, serve, work, run: (words: string[], env: Env) => start(words, env).ended }
}

function oldProgram() {
  const folder = testFolder()
  execFileSync('tar', ['-xzf', join(ROOT, 'test/upgrades/rolling.program.tgz'), '-C', folder])
  const newest = readdirSync(join(folder, 'db/migrations')).sort().at(-1) ?? ''
  return { ...programIn(folder), knows: Number(newest.slice(0, 4)) }
}

/** Makes this program with further migrations, as a later version. */
function laterProgram(version: string, migrations: Record<string, string>) {
  const folder = testFolder()
  for (const name of ['bin', 'dist', 'web', 'db', 'openapi.json'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  const about = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...about, version }))
  for (const [name, text] of Object.entries(migrations)) writeFileSync(join(folder, 'db/migrations', name), text)
  return programIn(folder)
}

const rollsFor = (least: number) =>
  `-- Adds a column.\n-- least: ${least}\nalter table perennial.customer_notes add column rolled integer;\n`
const CHANGES = 'alter table perennial.customer_notes rename column rolled to renamed;\n'

const stopped: Running[] = []
const signal = ({ child }: Running, name: 'SIGSTOP' | 'SIGCONT') => child.kill(name)
afterEach(() => {
  for (const one of stopped.splice(0)) signal(one, 'SIGCONT')
})
const freeze = (one: Running) => {
  stopped.push(one)
  signal(one, 'SIGSTOP')
}

const CUSTOMERS = 8_100

/** A database with an old program on it, and two accounts of which as many customers are due. */
async function deployment(old: ReturnType<typeof oldProgram>) {
  const { admin, host, port, url } = await foreignServer()
  await admin.query('create database billing')
  const env = { DATABASE_URL: url('postgres', 'billing'), DATA_DIR: testFolder(), LOG_LEVEL: 'info' }
  mkdirSync(env.DATA_DIR, { recursive: true })
  const db = openDatabase({ host, port, user: 'postgres', database: 'billing' }, { role: APP_ROLE, poolSize: 2 })
  const account = async () => {
    const made = await old.run(['account', 'create', '--test', '--clock', '2027-01-31', '--json'], env)
    expect([made.code, made.err]).toEqual([0, ''])
    const { AccountID, ApiKey } = JSON.parse(made.out)
    return { account: AccountID as number, key: ApiKey as string }
  }
  const superuser = new pg.Client({ host, port, user: 'postgres', database: 'billing' })
  superuser.on('error', () => {})
  await superuser.connect()
  const close = async () => {
    await Promise.all([db.close(), superuser.end()])
  }
  return { env, db, superuser, account, close }
}

const codeOf = ({ status, body }: Answer) => [status, body?.Errors?.[0].Code]

test('old and new processes work on one database: keys are replayed across, a run is led by either and helped by the other, either one is killed, and the old ones come back; what does not roll needs maintenance', async () => {
  const old = oldProgram()
  const rolls = rollsFor(old.knows)
  const rolling = laterProgram('0.8.0', { '9001_rolls.sql': rolls })
  const changing = laterProgram('0.9.0', { '9001_rolls.sql': rolls, '9002_changes.sql': CHANGES })
  const { env, db, superuser, account, close } = await deployment(old)
  const one = await account()
  const oldServe = await old.serve(env)
  const oldWork = await old.work(env)

  // Nothing of the migration is in their way, nor is one that is frozen and live.
  const dry = await rolling.run(['migrate', '--dry-run', '--json'], env)
  const { Pending, CannotRunBeside } = JSON.parse(dry.out)
  expect([Pending.at(-1), CannotRunBeside]).toEqual([{ Name: '9001_rolls.sql', Least: old.knows, IsRolling: true }, []])
  freeze(oldWork)
  const both = await Promise.all([rolling.run(['migrate', '--json'], env), rolling.run(['migrate', '--json'], env)])
  expect(both.map(({ code, err }) => [code, err])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(both.flatMap(({ out }) => JSON.parse(out).Migrated).filter((name) => name === '9001_rolls.sql')).toHaveLength(
    1,
  )
  signal(oldWork, 'SIGCONT')
  const newServe = await rolling.serve(env)
  const newWork = await rolling.work(env)

  // Keys are of the database, whichever version answered first.
  const customer = { Name: 'Ada', LastName: 'Lovelace' }
  for (const [first, second, key] of [
    [oldServe, newServe, 'by the old one'],
    [newServe, oldServe, 'by the new one'],
  ] as const) {
    const made = await call(first, one, '/v1/customers', customer, keyed(key))
    const again = await call(second, one, '/v1/customers', customer, keyed(key))
    expect([made.status, isReplayed(made)]).toEqual([201, false])
    expect([again.status, isReplayed(again), again.body]).toEqual([201, true, made.body])
  }

  // Each leads a run that the other helps with; the leader of the second is killed in it.
  const DONE = /"billing run done"/
  const HELPED = /"slices of a billing run done"/
  for (const [leader, helper, serving, isKilled] of [
    [oldWork, newWork, newServe, false],
    [newWork, oldWork, oldServe, true],
  ] as const) {
    const due = await account()
    const client = {
      id: BigInt(due.account),
      post: (path: string, body: unknown) => call(serving, due, path, body),
      get: (path: string) => call(serving, due, path),
    } as unknown as TestClient
    const rateTermID = rateTermOf(await addPackage(client))
    const wish = { rateTermID, dueOn: '2027-01-31', customers: CUSTOMERS }
    await insertSubscribers({ db } as TestService, client, wish)
    freeze(helper)
    const { body: begun } = await call(serving, due, '/v1/billingruns', {})
    const runsInSlices = async () => (await superuser.query('select from perennial.list_runs_with_parts()')).rowCount
    await expect.poll(runsInSlices, { interval: 20, timeout: 60_000 }).toBe(1)
    signal(helper, 'SIGCONT')
    if (isKilled) {
      leader.child.kill('SIGKILL')
      await leader.ended
    }
    const run = async () => (await call(serving, due, `/v1/billingruns/${begun.billingRunID}`)).body
    await expect.poll(async () => (await run()).State, { interval: 100, timeout: 120_000 }).toBe('done')
    expect(await run()).toMatchObject({ Invoices: CUSTOMERS, Failed: 0 })
    if (!isKilled)
      await expect.poll(() => [DONE.test(leader.said.err), HELPED.test(helper.said.err)]).toEqual([true, true])
    else await expect.poll(() => DONE.test(helper.said.err)).toBe(true)
  }

  // Back: the new one goes, however, and an old one starts on the schema that the new one made.
  newServe.child.kill('SIGKILL')
  await newServe.ended
  const back = await old.serve(env)
  expect((await call(back, one, '/v1/customers', customer)).status).toBe(201)
  for (const program of [old, rolling]) {
    const verified = await program.run(['verify', '--json'], env)
    expect([verified.code, verified.err]).toEqual([0, ''])
  }

  // A migration that changes what they know is refused while they live, by a start too, and they are named.
  const refused = await Promise.all([changing.run(['migrate'], env), changing.run(['serve', '--no-worker'], env)])
  for (const { code, err } of refused) {
    expect([code, err.trim().split('\n').length]).toEqual([1, 1])
    for (const { child } of [oldServe, back, oldWork]) expect(err).toContain(`on ${hostname()}, process ${child.pid}`)
    expect(err).toContain('9002_changes.sql')
  }
  expect((await call(back, one, '/v1/customers')).status).toBe(200)
  // A command that only shows who lives changes nothing.
  const shown = await changing.run(['processes', '--json'], env)
  expect([shown.code, shown.err, JSON.parse(shown.out).length > 0]).toEqual([0, '', true])

  // In maintenance it runs, once all that live have come to rest; a frozen one is not waited for once it does not live any more.
  freeze(oldServe)
  const notSeen = [oldServe, newServe, newWork].map(({ child }) => child.pid)
  await superuser.query(`update perennial.processes set seen_at = seen_at - interval '1 minute' where pid = any($1)`, [
    notSeen,
  ])
  const migrating = changing.start(['migrate', '--maintenance', '--json'], env)
  await expect
    .poll(async () => codeOf(await call(back, one, '/v1/customers')), { interval: 20, timeout: 60_000 })
    .toEqual([503, 'maintenance'])
  const ended = await migrating.ended
  expect([ended.code, JSON.parse(ended.out)]).toEqual([0, { Migrated: ['9002_changes.sql'] }])
  signal(oldServe, 'SIGCONT')
  for (const late of [back, oldServe]) {
    await expect
      .poll(async () => codeOf(await call(late, one, '/v1/customers')), { interval: 20 })
      .toEqual([503, 'outdated'])
    expect((await fetch(`${late.address}/readyz`)).status).toBe(503)
    expect((await fetch(`${late.address}/healthz`)).status).toBe(200)
  }
  // Each writes its state at its next look, which may come after its first answer.
  const states = async () => {
    const listed = JSON.parse((await changing.run(['processes', '--json'], env)).out)
    return new Set(listed.map(({ State }: { State: string }) => State))
  }
  await expect.poll(states, { timeout: 30_000 }).toEqual(new Set(['outdated']))
  await close()
  const tooOld = await old.run(['serve', '--no-worker'], env)
  expect([tooOld.code, tooOld.err]).toEqual([
    1,
    expect.stringMatching(/needs a program that knows migration 9002.*: start version 0\.9\.0 or a newer one\.$/m),
  ])
})
