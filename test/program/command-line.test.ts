import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { call, runProgram, serve, startedFolder, testFolder } from './program.ts'

/** Asks until it is so; whoever asks later than this many milliseconds from now must find it so. */
async function within(ms: number, isSo: () => Promise<boolean>): Promise<void> {
  const from = Date.now()
  for (let askedAt = from; !(await isSo()); askedAt = Date.now()) expect(askedAt - from).toBeLessThan(ms)
}

describe('beside a running service', () => {
  test('an account made on the command line is served at once, and a revoked key stops within a second', async () => {
    const env = { DATA_DIR: startedFolder() }
    const service = await serve(env, ['--no-worker'])
    const made = await runProgram(
      ['account', 'create', '--test', '--clock', '2027-01-31', '--currency', 'zar', '--name', 'Ice & Co', '--json'],
      env,
    )
    expect(made).toMatchObject({ code: 0, err: '' })
    const { AccountID, ApiKey } = JSON.parse(made.out)
    const credentials = { account: AccountID, key: ApiKey }
    expect((await call(service, credentials, '/v1/currencies')).body).toMatchObject([{ CurrencyCode: 'ZAR' }])
    expect(JSON.parse((await runProgram(['account', 'list', '--json'], env)).out)).toMatchObject([
      { AccountID: 1, Mode: 'test', Clock: null },
      { AccountID, Name: 'Ice & Co', Mode: 'test', CurrencyCode: 'ZAR', Clock: '2027-01-31T00:00:00.000Z' },
    ])

    const reading = await runProgram(['key', 'create', '--account', String(AccountID), '--read-only', '--json'], env)
    const { ApiKeyID, ApiKey: readKey } = JSON.parse(reading.out)
    const reader = { account: AccountID, key: readKey }
    expect((await call(service, reader, '/v1/currencies')).status).toBe(200)
    expect((await call(service, reader, '/v1/currencies', { CurrencyCode: 'EUR' })).status).toBe(403)
    expect(await runProgram(['key', 'revoke', String(ApiKeyID), '--account', String(AccountID)], env)).toMatchObject({
      code: 0,
    })
    await within(1000, async () => (await call(service, reader, '/v1/currencies')).status === 401)
  })

  test('what runs and what waits is listed, of the service too', async () => {
    const env = { DATA_DIR: startedFolder() }
    const service = await serve(env, ['--no-worker'])
    expect(await runProgram(['running'], env)).toMatchObject({ code: 0, out: 'Nothing long runs.\n' })
    const credentials = { account: service.account, key: service.key }
    expect((await call(service, credentials, '/v1/billingruns', {})).status).toBe(201)
    // Nobody is there to work on it.
    expect(await runProgram(['running'], env)).toMatchObject({
      code: 0,
      out: 'Nothing long runs.\nWaiting: billing runs (1).\n',
    })
    expect(JSON.parse((await runProgram(['running', '--json'], env)).out)).toEqual({
      Running: [],
      Waiting: { clock: 0, export: 0, bank_file: 0, billing_run: 1, verification: 0, backup: 0 },
    })
  })

  test('a key is made strict, and tolerant again, each with a line that says what it means', async () => {
    const env = { DATA_DIR: startedFolder() }
    const service = await serve(env, ['--no-worker'])
    const strict = await runProgram(['key', 'create', '--strict'], env)
    expect(strict).toMatchObject({ code: 0, out: /^Strict: .* refused \(400\), unless .*handling=lenient\.$/m })
    const credentials = { account: service.account, key: /API key {3}(\S+)/.exec(strict.out)![1]! }
    const status = async () => (await call(service, credentials, '/v1/currencies?colour=red')).status
    expect(await status()).toBe(400)
    expect(await runProgram(['key', 'set', '2', '--tolerant'], env)).toMatchObject({
      code: 0,
      out: /^Tolerant: .* Perennial-Ignored\.\n$/,
    })
    await within(1000, async () => (await status()) === 200)
    expect(JSON.parse((await runProgram(['key', 'set', '2', '--strict', '--json'], env)).out)).toEqual({
      AccountID: service.account,
      ApiKeyID: 2,
      isStrict: true,
    })
    expect(JSON.parse((await runProgram(['key', 'list', '--json'], env)).out)).toMatchObject([
      { ApiKeyID: 1, isStrict: false },
      { ApiKeyID: 2, isStrict: true },
    ])
    expect(await runProgram(['key', 'set', '9', '--strict'], env)).toMatchObject({ code: 1, err: /has no API key 9/ })
    for (const options of [[], ['--strict', '--tolerant']])
      expect(await runProgram(['key', 'set', '2', ...options], env)).toMatchObject({ code: 2, err: /--tolerant/ })
  })

  test('accounts begin where ACCOUNT_ID_START says, and keys of one are not taken for keys of another', async () => {
    const env = { DATA_DIR: testFolder(), ACCOUNT_ID_START: '7000' }
    const service = await serve(env, ['--no-worker'])
    const { AccountID } = JSON.parse((await runProgram(['account', 'create', '--json'], env)).out)
    expect([service.account, AccountID]).toEqual([7000, 7001])
    expect((await call(service, { account: AccountID, key: service.key }, '/v1/currencies')).status).toBe(401)
    const wrong = await runProgram(['key', 'revoke', '1', '--account', String(AccountID), '--force'], env)
    expect(wrong).toMatchObject({ code: 1, err: `Account ${AccountID} has no API key 1.\n` })
  })
})

describe('without a running service', () => {
  test('a command starts the database for its own duration, and leaves it to the next', async () => {
    const env = { DATA_DIR: testFolder() }
    expect(JSON.parse((await runProgram(['migrate', '--json'], env)).out).Migrated).toContain('0001_schema.sql')
    expect(await runProgram(['migrate'], env)).toMatchObject({ code: 0, out: 'The database is up to date.\n' })
    expect(await runProgram(['account', 'list', '--json'], env)).toMatchObject({ code: 0, out: '[]\n' })
    expect(await runProgram(['key', 'list'], env)).toMatchObject({ code: 1, err: /account create/ })
  })
})

describe('where there is no database', () => {
  test.each([
    [['account', 'list']],
    [['key', 'list']],
    [['key', 'create']],
    [['key', 'revoke', '1']],
    [['gateway', 'test']],
    [['verify']],
    [['billing', 'run']],
    [['clock', 'advance', '--to', '2027-02-01']],
  ])('%j makes none, and names the folder and the setting', async (args) => {
    const DATA_DIR = join(testFolder(), 'mistyped')
    const { code, out, err } = await runProgram(args, { DATA_DIR })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toBe(
      `There is no database in ${DATA_DIR}: set DATA_DIR to the folder that the service uses, or make a database there with "perennial serve" or "perennial account create".\n`,
    )
    expect(existsSync(DATA_DIR)).toBe(false)
  })

  test('what makes something makes it with its key, and says so', async () => {
    const DATA_DIR = join(testFolder(), 'new')
    const { code, out, err } = await runProgram(['account', 'create', '--json'], { DATA_DIR })
    expect(JSON.parse(out)).toMatchObject({ AccountID: 1 })
    expect({ code, err }).toEqual({
      code: 0,
      err: `There is no database in ${DATA_DIR} (DATA_DIR) yet: one is made.\n`,
    })
    expect(existsSync(join(DATA_DIR, 'encryption.key'))).toBe(true)
    expect(await runProgram(['account', 'list'], { DATA_DIR })).toMatchObject({ code: 0, err: '' })
  })
})

describe('what the program answers to the shell', () => {
  test.each([
    ['an unknown command', ['bill']],
    ['no command', []],
    ['an unknown option', ['account', 'list', '--all']],
    ['a day that is none', ['account', 'create', '--test', '--clock', '2027-02-30']],
    ['a clock for a live account', ['account', 'create', '--clock', '2027-02-28']],
    ['both modes', ['account', 'create', '--live', '--test']],
    ['a currency that is none', ['account', 'create', '--currency', 'XYZ']],
    ['an account that is no number', ['key', 'list', '--account', 'first']],
    ['a key that is missing', ['key', 'revoke']],
  ])('%s is wrong usage: 2, and nothing is started', async (_, args) => {
    const { code, out } = await runProgram(args, { DATA_DIR: '/nowhere/at/all' })
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })

  test('with --json wrong usage is told as the interface tells errors, and by nothing else', async () => {
    const { code, out, err } = await runProgram(['account', 'create', '--clock', '3000-01-01', '--test', '--json'], {})
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(JSON.parse(err)).toEqual({
      Errors: [{ Message: expect.stringContaining('of the years 1900 to 2999'), Code: 'wrong_usage', Field: null }],
    })
  })

  test('help and version end with 0', async () => {
    for (const args of [['--help'], ['--version'], ['account', 'create', '--help'], ['help', 'key']])
      expect((await runProgram(args, {})).code, args.join(' ')).toBe(0)
  })

  test('with --json a failure is told as the interface tells errors, on stderr', async () => {
    const { code, out, err } = await runProgram(['account', 'list', '--json'], { DATA_DIR: testFolder(), PORT: 'x' })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(JSON.parse(err)).toEqual({
      Errors: [{ Message: expect.stringMatching(/^PORT must be/), Code: 'setting_invalid', Field: null }],
    })
  })
})
