import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ConfigFailure, envExample, readConfig, secretsIn, shownSettings } from './config.ts'

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigFailure) return error.problems
    throw error
  }
}

describe('an environment', () => {
  test('that is empty gives the defaults of the service', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      dataDir: './data',
      databaseUrl: undefined,
      smtpUrl: undefined,
      encryptionKeys: undefined,
      logLevel: 'info',
      bootstrapAccountMode: 'test',
      bootstrapCurrency: 'USD',
      rateLimitPerMinute: 0,
      slowRequestMs: 1000,
      corsOrigin: undefined,
      trustProxy: false,
      databasePool: 8,
    })
  })

  test('with empty variables is like one without them', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '', HOST: ' ', ENCRYPTION_KEY: '' })).toEqual(readConfig({}))
  })

  test('is read into values of the right type', () => {
    expect(
      readConfig({
        HOST: '::1',
        PORT: '0',
        PUBLIC_URL: 'https://billing.example/base/',
        TRUST_PROXY: '10.0.0.0/8, ::1',
        CORS_ORIGIN: 'https://a.example,https://b.example:8443',
        DATABASE_POOL: '3',
        OUTBOUND_ALLOW: '10.0.0.0/8, ::1',
      }),
    ).toMatchObject({
      host: '::1',
      port: 0,
      publicUrl: 'https://billing.example/base',
      trustProxy: ['10.0.0.0/8', '::1'],
      corsOrigin: ['https://a.example', 'https://b.example:8443'],
      databasePool: 3,
      outboundAllow: [
        [{ octets: [10, 0, 0, 0] }, 8],
        [{ parts: [0, 0, 0, 0, 0, 0, 0, 1] }, 128],
      ],
    })
  })

  test('with several mistakes is refused with all of them at once', () => {
    const problems = problemsOf({ PORT: '99999', LOG_LEVEL: 'loud', BOOTSTRAP_CURRENCY: 'XXX', DATABASE_POOL: '0' })
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual([
      'PORT',
      'LOG_LEVEL',
      'BOOTSTRAP_CURRENCY',
      'DATABASE_POOL',
    ])
  })

  test.each([
    ['HOST', '1.2.3'],
    ['HOST', 'http://localhost'],
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['PORT', '1e3'],
    ['PUBLIC_URL', 'billing.example'],
    ['PUBLIC_URL', 'ftp://billing.example'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['DATABASE_URL', 'postgres://one:5432,two:many/x'],
    ['DATABASE_URL', 'postgres://bill:p@w1#x@host/books'],
    ['DATABASE_URL', 'postgres://bill:p/w@host/books'],
    ['DATABASE_URL', 'postgres://bill:12/w@host/books'],
    ['DATABASE_URL', 'postgres://bill:12?w@host/books'],
    ['DATABASE_URL', 'postgres://one,two/x?target_session_attrs=standby'],
    ['SMTP_URL', 'localhost:25'],
    ['ENCRYPTION_KEY', 'abc'],
    ['ENCRYPTION_KEY', '0'.repeat(63)],
    ['ENCRYPTION_KEY', `${'0'.repeat(64)},`],
    ['ENCRYPTION_KEY', `,${'0'.repeat(64)}`],
    ['ENCRYPTION_KEY', `${'a'.repeat(64)},${'A'.repeat(64)}`],
    ['ENCRYPTION_KEY', ['1', '2', '3'].map((digit) => digit.repeat(64)).join()],
    ['LOG_LEVEL', 'INFO'],
    ['ACCOUNT_ID_START', '0'],
    ['ACCOUNT_ID_START', '1000000000'],
    ['ACCOUNT_ID_START', '5.5'],
    ['BOOTSTRAP_ACCOUNT_MODE', 'Live'],
    ['BOOTSTRAP_ACCOUNT_NAME', 'x'.repeat(256)],
    ['BOOTSTRAP_CURRENCY', 'usd'],
    ['BOOTSTRAP_API_KEY', 'has a space'],
    ['BOOTSTRAP_API_KEY', 'short'],
    ['RATE_LIMIT_PER_MINUTE', 'none'],
    ['CORS_ORIGIN', 'shop.example'],
    ['TRUST_PROXY', 'yes'],
    ['DATABASE_POOL', '51'],
    ['OUTBOUND_ALLOW', '10.0.0.0/33'],
    ['OUTBOUND_ALLOW', 'intranet'],
    ['GATEWAY_ENDPOINTS', 'http://127.0.0.1:4010'],
    ['GATEWAY_ENDPOINTS', 'paypal=http://127.0.0.1:4010'],
    ['GATEWAY_ENDPOINTS', 'sandbox=http://127.0.0.1:4010'],
    ['GATEWAY_ENDPOINTS', 'stripe=https://127.0.0.1:4010'],
    ['GATEWAY_ENDPOINTS', 'stripe=http://127.0.0.1:4010/v1'],
    ['GATEWAY_ENDPOINTS', 'stripe=http://a:b@127.0.0.1:4010'],
    ['GATEWAY_ENDPOINTS', 'stripe=http://127.0.0.1:1,stripe=http://127.0.0.1:2'],
    ['GATEWAY_ENDPOINTS', 'stripe=http://127.0.0.1:4010'],
  ])('with %s=%s is refused', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name} must be `))])
  })

  test('may name simulators of gateways, within the networks of the operator', () => {
    const within = { OUTBOUND_ALLOW: '127.0.0.0/8' }
    expect(readConfig({ ...within, GATEWAY_ENDPOINTS: 'stripe=http://127.0.0.1:4010' }).gatewayEndpoints).toEqual({
      stripe: 'http://127.0.0.1:4010',
    })
    expect(problemsOf({ ...within, GATEWAY_ENDPOINTS: 'stripe=http://10.0.0.1:4010' })).toEqual([
      expect.stringMatching(/^GATEWAY_ENDPOINTS must be .* OUTBOUND_ALLOW/),
    ])
    // A name is judged by what it leads to, with each connection.
    expect(problemsOf({ ...within, GATEWAY_ENDPOINTS: 'stripe=http://simulator:4010' })).toEqual([])
  })

  test('with a bad secret is refused without showing it', () => {
    const secret = 'hunter2hunter2 '
    const problems = problemsOf({
      DATABASE_URL: `mysql://user:${secret}@host`,
      SMTP_URL: `http://user:${secret}@host`,
      ENCRYPTION_KEY: `${secret}x`,
      BOOTSTRAP_API_KEY: `${secret}x`,
      PUBLIC_URL: `ftp://user:${secret}@host`,
    })
    expect(problems).toHaveLength(5)
    expect(problems.join('\n')).not.toContain('hunter2')
  })
})

test.each(['hex', 'base64', 'base64url'] as const)('an encryption key may be written as %s', (form) => {
  const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7 + 3))
  expect(readConfig({ ENCRYPTION_KEY: key.toString(form) }).encryptionKeys).toEqual([key])
})

test('two encryption keys are named with the newer first, and neither may stand in a log', () => {
  const [newer, older] = ['1'.repeat(64), '2'.repeat(64)]
  const env = { ENCRYPTION_KEY: `${newer}, ${older}` }
  expect(readConfig(env).encryptionKeys).toEqual([Buffer.alloc(32, 0x11), Buffer.alloc(32, 0x22)])
  expect(secretsIn(env)).toEqual(expect.arrayContaining([newer, older]))
})

test('.env.example lists every variable with its default, and reads as an empty environment', () => {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  expect(text).toBe(envExample())
  const lines = text.split('\n').filter((line) => line.includes('=') && !line.startsWith('#'))
  const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
  expect(readConfig(env)).toEqual(readConfig({}))
})

test('a secret may lie in a file; what is set itself comes first, and a file that cannot be read is told without what it holds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-config-'))
  const file = join(folder, 'url')
  writeFileSync(file, 'postgres://bill:p%40ss-word@db/x\n')
  try {
    expect(readConfig({ DATABASE_URL_FILE: file }).databaseUrl).toBe('postgres://bill:p%40ss-word@db/x')
    expect(readConfig({ DATABASE_URL: 'postgres://b@db/y', DATABASE_URL_FILE: file }).databaseUrl).toBe(
      'postgres://b@db/y',
    )
    expect(secretsIn({ DATABASE_URL_FILE: file, PORT: '1' })).toEqual([
      'postgres://bill:p%40ss-word@db/x',
      'p%40ss-word',
      'p@ss-word',
    ])
    expect(secretsIn({ DATABASE_URL: 'postgres://b:p%40ss@one:1,two:2/x' })).toContain('p@ss')
    expect(problemsOf({ DATABASE_URL_FILE: `${file}.gone`, ENCRYPTION_KEY_FILE: file })).toEqual([
      'DATABASE_URL_FILE must be the path of a file that can be read.',
      'ENCRYPTION_KEY must be 32 bytes as 64 hex digits or as base64, or two different keys as new,old.',
    ])
    // What is no secret is not read from files.
    expect(readConfig({ PORT_FILE: file }).port).toBe(3000)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('settings are shown if they are not the default: addresses without user and password, of other secrets the name alone', () => {
  const env = {
    PORT: '3000',
    HOST: '0.0.0.0',
    LOG_LEVEL: '',
    MAIL_FROM: 'billing@example.com',
    DATABASE_URL: 'postgres://bill:hunter2@one:5432,two:5433/billing?sslmode=require',
    SMTP_URL: 'smtps://mailer:hunter3@mail.example:465',
    BOOTSTRAP_API_KEY: 'hunter4-hunter4-hunter4-hunter4-x',
  }
  expect(shownSettings(env)).toEqual({
    settings: {
      HOST: '0.0.0.0',
      MAIL_FROM: 'billing@example.com',
      DATABASE_URL: 'one:5432/billing or two:5433/billing',
      SMTP_URL: 'mail.example:465',
    },
    secrets: ['BOOTSTRAP_API_KEY'],
  })
})
