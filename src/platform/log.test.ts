import { expect, test } from 'vitest'
import { makeLog } from './log.ts'
import { textCleaner } from './log-cleaning.ts'

function capturing(secrets: readonly string[] = []) {
  const lines: string[] = []
  const log = makeLog('trace', secrets, { write: (line) => void lines.push(line) })
  return { log, text: () => lines.join(''), parsed: () => lines.map((line) => JSON.parse(line)) }
}

test('a line is one JSON object with time, level and words', () => {
  const { log, parsed } = capturing()
  log.info({ run: '7' }, 'billing run done')
  expect(parsed()).toEqual([
    { level: 30, time: expect.stringMatching(/^\d{4}-.*Z$/), run: '7', msg: 'billing run done' },
  ])
})

test.each([
  ['an address with a password', 'cannot reach postgres://bill:hunter2@db.example/x', 'hunter2'],
  ['an address whose password has odd characters', 'smtp://bill:p@ss:w0rd/9@mail.example:587', 'w0rd'],
  ['an Authorization header', 'sent Authorization: Basic MTpob3R0ZXN0X2tleQ==', 'MTpob3R0ZXN0X2tleQ'],
  ['an API key', 'no such key live_3q2-7wQ0aA_9z8yXw7vU6tS5r', '3q2-7wQ0'],
  ['a query string', 'GET /v1/portal?token=abc.def failed', 'abc.def'],
  ['a field of a body', '{"Username":"ann","Password":"horse battery"}', 'battery'],
  ['an assignment', 'password=horse-battery, and so on', 'horse'],
  ['a card number', 'card 4111 1111 1111 1111 declined', '1111 1111'],
  ['a card number without blanks', 'Key (number)=(5555555555554444) exists', '55554444'],
  ['an IBAN', 'account GB82 WEST 1234 5698 7654 32', '5698 7654'],
])('%s is taken out wherever it stands', (_, words, secret) => {
  const { log, text, parsed } = capturing()
  log.warn(words)
  log.warn({ deep: { list: [words] } }, 'inside')
  log.error(new Error(words))
  log.error({ err: new Error('outside', { cause: new Error(words) }) })
  expect(text()).not.toContain(secret)
  expect(parsed()).toHaveLength(4)
})

test('what is no secret stays: instants, identifiers, amounts, unremarkable words', () => {
  const clean = textCleaner([])
  for (const words of [
    '2026-11-21T19:03:34.123Z',
    'run 4111111111111112 of account 12, 1234567890123 minor units, 0.4111111111111111',
    '3f0c1c2e-7a57-4a1c-9f00-1234567890ab',
    'is the password right? no token was sent',
    'http://localhost:3000/v1/customers/7',
  ])
    expect(clean(words)).toBe(words)
})

test('a number that stands by itself leaves valid JSON when it is taken out', () => {
  const { log, parsed } = capturing()
  log.info({ card: 4111111111111111, list: [5555555555554444, 7] }, 'numbers')
  expect(parsed()[0]).toMatchObject({ card: null, list: [null, 7] })
})

test('given secrets are taken out wherever they stand, also where JSON writes them otherwise', () => {
  const { log, text } = capturing(['say "please"', 'please'])
  log.info({ a: 'x say "please" y' }, 'please')
  expect(text()).not.toContain('please')
})

test('an error of the database is told without the row that it is about', () => {
  const { log, text, parsed } = capturing()
  const error = Object.assign(new Error('invalid input syntax for type integer: "12345678"'), {
    severity: 'ERROR',
    code: '22P02',
    detail: 'Key (username)=(ann) already exists.',
    where: "portal parameter $1 = 'ann'",
    table: 'customer_contacts',
    constraint: 'contacts_username',
    input: 'ann',
  })
  log.error({ err: error }, 'a request failed')
  expect(text()).not.toMatch(/12345678|ann\b/)
  expect(parsed()[0].err).toMatchObject({
    message: 'the database refused with 22P02',
    code: '22P02',
    table: 'customer_contacts',
    constraint: 'contacts_username',
    stack: expect.stringMatching(/^\s+at .*log\.test\.ts/),
  })
})

test('an error without words of ours, and one logged with its own message as words, are told the same way', () => {
  const { log, text } = capturing()
  const error = Object.assign(new Error('row (ann, horse)'), { severity: 'ERROR', code: 'P0001' })
  log.error(error)
  log.error({ err: error })
  log.error({ err: error }, error.message)
  expect(text()).not.toContain('horse')
})

test('what an HTTP library hangs on a line, requests and answers, is left out', () => {
  const { log, text } = capturing()
  log.info({ req: { headers: { cookie: 'sesame' } }, res: { body: 'sesame' } }, 'kept short')
  expect(text()).not.toContain('sesame')
})
