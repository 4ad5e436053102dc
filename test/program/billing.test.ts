import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { joinEmbeddedPostgres } from '../../src/platform/postgres/join.ts'
import {
  call,
  ROOT,
  runProgram,
  serve,
  type Serving,
  startedFolder,
  startProcess,
  startProgram,
  testFolder,
} from './program.ts'

/** Billing from the command line, beside a service that has no worker and so bills nothing on its own. */

type Credentials = { account: number; key: string }

async function subscribe(service: Serving, credentials: Credentials, code: string, customers: number): Promise<number> {
  const group = await call(service, credentials, '/v1/packagegroups', { GroupName: code })
  const terms = [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }]
  const rate = { CurrencyCode: 'USD', SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days' }
  const plan = await call(service, credentials, '/v1/packages', {
    packageGroupID: group.body.packageGroupID,
    packageCode: code,
    Name: code,
    Descrip: code,
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [{ ...rate, PackageRateTerms: terms }],
    },
  })
  const { packageID } = plan.body
  for (let n = 0; n < customers; n += 1) {
    const customer = await call(service, credentials, '/v1/customers', { Name: 'Ann', LastName: String(n) })
    const { customerID } = customer.body
    expect((await call(service, credentials, '/v1/subscriptions', { customerID, packageID })).status).toBe(201)
  }
  return packageID
}

/** A service with an account on 31 January 2027 that has three subscriptions of 31.00 a month. */
async function shop() {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
  const service = await serve(env, ['--no-worker'])
  const made = await runProgram(['account', 'create', '--test', '--clock', '2027-01-31', '--json'], env)
  const { AccountID, ApiKey } = JSON.parse(made.out)
  const credentials = { account: AccountID, key: ApiKey }
  await subscribe(service, credentials, 'plan', 3)
  const admin = new pg.Client(await joinEmbeddedPostgres({ dataDir: env.DATA_DIR }))
  admin.on('error', () => {})
  await admin.connect()
  onTestFinished(() => admin.end().catch(() => {}))
  const perennial = async (...args: string[]) => {
    const ended = await runProgram([...args, '--account', String(AccountID), '--json'], env)
    return { ...ended, json: ended.out === '' ? undefined : JSON.parse(ended.out) }
  }
  const invoices = async () => (await call(service, credentials, '/v1/invoices')).body
  /** Lets time pass as it does for a live account: without billing. */
  const sleepUntil = (instant: string) =>
    admin.query('update perennial.accounts set clock_at = $1 where account_id = $2', [instant, AccountID])
  return { env, service, credentials, admin, perennial, invoices, sleepUntil }
}

describe('billing run', () => {
  test('a dry run tells what would be billed and bills nothing; the run bills just that, and a second one nothing', async () => {
    const { perennial, invoices, sleepUntil } = await shop()
    await sleepUntil('2027-04-01T12:00:00Z')
    const dry = await perennial('billing', 'run', '--dry-run')
    expect(dry).toMatchObject({ code: 0, err: '' })
    expect(dry.json).toMatchObject([
      {
        billingRunID: null,
        Until: '2027-04-01',
        Done: 3,
        Invoices: 6,
        Totals: [{ CurrencyCode: 'USD', Total: '186.00' }],
      },
    ])
    expect(await invoices()).toHaveLength(3)

    const run = await perennial('billing', 'run')
    expect(run).toMatchObject({ code: 0, json: [{ Done: 3, Invoices: 6, Failed: 0 }] })
    expect(await invoices()).toHaveLength(9)
    expect((await perennial('billing', 'run')).json).toMatchObject([{ Done: 0, Invoices: 0, Failed: 0 }])
  })

  test('one subscription that cannot be billed is listed and answered with 3, the others are billed', async () => {
    const { service, credentials, admin, perennial, sleepUntil } = await shop()
    const broken = await subscribe(service, credentials, 'broken', 1)
    await sleepUntil('2027-03-01T00:00:00Z')
    await admin.query(
      `update perennial.package_rate_terms t set price = 9999999999999 from perennial.package_rates r, perennial.package_versions v
        where r.package_rate_id = t.package_rate_id and v.package_version_id = r.package_version_id and v.package_id = $1`,
      [broken],
    )
    for (const flags of [['--dry-run'], []]) {
      const { code, json } = await perennial('billing', 'run', ...flags)
      expect({ code, json }).toMatchObject({ code: 3, json: [{ Done: 4, Invoices: 3, Failed: 1 }] })
      expect(json[0].Failures).toMatchObject([{ DueDate: '2027-02-28', Reason: expect.stringMatching(/\.$/) }])
    }
  })

  test('days that have not come yet are refused, and nothing is billed', async () => {
    const { perennial, invoices } = await shop()
    const { code, err } = await perennial('billing', 'run', '--until', '2027-02-28')
    expect({ code, err: JSON.parse(err).Errors[0].Message }).toEqual({
      code: 1,
      err: '--until may be at most today, and that is 2027-01-31.',
    })
    expect(await invoices()).toHaveLength(3)
  })

  test('a terminal sees a bar, a pipe sees results alone', async () => {
    const { env, credentials, sleepUntil } = await shop()
    await sleepUntil('2027-04-01T12:00:00Z')
    const words = ['billing', 'run', '--account', String(credentials.account)]
    if (spawnSync('script', ['--version']).status === 0) {
      const command = [process.execPath, join(ROOT, 'bin', 'perennial.js'), ...words, '--dry-run'].join(' ')
      const terminal = await startProcess('script', ['-qec', command, '/dev/null'], { ...env, TERM: 'xterm' }).ended
      expect(terminal).toMatchObject({ code: 0 })
      expect(terminal.out).toMatch(/={30} 100% 3 of 3/)
    }
    expect(await runProgram(words, env)).toMatchObject({
      code: 0,
      err: '',
      out: `Account ${credentials.account}, until 2027-04-01: made 6 invoices for 3 due records, 0 failed.\n`,
    })
  })
})

describe('clock advance', () => {
  test('lives through the days of a test account, and leaves a live one alone', async () => {
    const { env, perennial, invoices } = await shop()
    const moved = await perennial('clock', 'advance', '--to', '2027-04-01')
    expect(moved).toMatchObject({
      code: 0,
      json: { From: '2027-01-31T00:00:00.000Z', Now: '2027-04-01T00:00:00.000Z', Days: 60, Invoices: 6, Failed: [] },
    })
    expect(await invoices()).toHaveLength(9)
    expect((await perennial('clock', 'advance', '--to', '2027-03-01')).code).toBe(1)

    const { AccountID } = JSON.parse((await runProgram(['account', 'create', '--live', '--json'], env)).out)
    const live = await runProgram(['clock', 'advance', '--account', String(AccountID), '--to', '2099-01-01'], env)
    expect(live).toMatchObject({ code: 1, err: 'A live account follows real time; its clock cannot be moved.\n' })
  })
})

describe('work', () => {
  test('a worker of its own takes up a run that the service was asked for, and ends with 0', async () => {
    const { env, service, credentials, invoices, sleepUntil } = await shop()
    await sleepUntil('2027-03-01T00:00:00Z')
    const worker = startProgram(['work'], env)
    await worker.says(/Perennial works/)
    const { body: asked } = await call(service, credentials, '/v1/billingruns', {})
    for (;;) {
      const { body: run } = await call(service, credentials, `/v1/billingruns/${asked.billingRunID}`)
      if (run.State !== 'done') continue
      expect(run).toMatchObject({ Invoices: 3, Failed: 0 })
      break
    }
    expect(await invoices()).toHaveLength(6)
    worker.child.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  test('without a service and without a server there is nothing to work on', async () => {
    const { code, err } = await runProgram(['work'], { DATA_DIR: testFolder() })
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringMatching(/^No service runs on .*DATABASE_URL/) })
  })
})
