import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomInt } from 'node:crypto'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { type Reply, startTestService } from '../../../test/support/app.ts'
import { passesLuhn } from '../../kernel/bank-numbers.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { makeLog } from '../../platform/log.ts'

/**
 * No number of a card is anywhere after it was sent: numbers that nobody else has are planted wherever a request can hold one, and the data
 * folder with its write-ahead log, the log of the service and all answers are searched for them.
 */

const lines: string[] = []
const service = await startTestService({ log: makeLog('trace', [], { write: (line) => void lines.push(line) }) })

/** A number of a Visa card that no other test can have written. */
function newNumber(): string {
  const start = `4${Array.from({ length: 14 }, () => randomInt(10)).join('')}`
  const check = [...'0123456789'].find((digit) => passesLuhn(start + digit))
  return start + check
}

const grouped = (number: string, gap: string) => number.match(/\d{4}/g)!.join(gap)

const CARD = { CardType: 'Visa', NameOnCard: 'Ada', LastNameOnCard: 'Lovelace', ExpiryMonth: 11, ExpiryYear: 2027 }
const PATH = '/v1/paymentmethods/creditcard'

/** Every file below a folder but the databases of other tests, as bytes. Files that go away meanwhile hold nothing any more. */
function* filesIn(folder: string, isOther: (path: string) => boolean): Generator<Buffer> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (isOther(path)) continue
    try {
      if (entry.isDirectory()) yield* filesIn(path, isOther)
      else if (entry.isFile()) yield readFileSync(path)
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOENT') throw error
    }
  }
}

/** Everything that the database server keeps: this test's database, and all that databases share, the write-ahead log among it. */
async function* keptBytes(): AsyncGenerator<Buffer> {
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  try {
    // What still lies in memory alone is written out.
    await owner.query('checkpoint')
    const { rows } = await owner.query<{ own: string }>(
      'select oid::text as own from pg_database where datname = current_database()',
    )
    yield* filesIn(
      inject('databaseFolder'),
      (path) => (/\/base\/(\d+)/.exec(path)?.[1] ?? rows[0]?.own) !== rows[0]?.own,
    )
  } finally {
    await owner.end()
  }
}

test('the number of a card is in no file, log line or answer, wherever it was sent', async () => {
  const client = await service.newAccount()
  const { customerID } = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body
  const name = `Name${randomInt(1e12)}`
  const replies: [string, Reply][] = []
  const planted: string[] = []
  const plant = () => {
    const number = newNumber()
    planted.push(number)
    return number
  }
  const send = async (what: string, body: unknown, headers: Record<string, string> = {}, query = '') => {
    const reply = await client.post(PATH + query, body, headers)
    replies.push([what, reply])
    return reply
  }
  const right = (card: object = {}, more: object = {}) => ({
    customerID,
    isPrimary: false,
    CreditCard: { ...CARD, Number: plant(), NameOnCard: name, ...card },
    ...more,
  })

  // Where it belongs: stored, refused, sent again, sent as a number.
  expect((await send('right', right())).status).toBe(200)
  expect((await send('as a number', right({ Number: Number(plant()) }))).status).toBe(200)
  const kept = right()
  expect((await send('with a key', kept, { 'idempotency-key': 'k' })).status).toBe(200)
  expect((await send('again', kept, { 'idempotency-key': 'k' })).headers['idempotency-replayed']).toBe('true')
  expect((await send('another with the key', right(), { 'idempotency-key': 'k' })).status).toBe(422)
  expect((await send('of the wrong brand', right({ CardType: 'JCB' }))).status).toBe(400)
  expect((await send('expired', right({ ExpiryYear: 2020 }))).status).toBe(400)

  // In every other field, in fields that nobody knows, in names, with gaps, in other types.
  const strict = { prefer: 'handling=strict' }
  for (const headers of [{}, strict] as Record<string, string>[]) {
    const inCard = [...Object.keys(CARD), 'Elsewhere', 'LastFourDigits', 'SecurityCode']
    for (const field of inCard)
      for (const gap of ['', ' ', '-']) {
        const reply = await send(`in CreditCard.${field}`, right({ [field]: grouped(plant(), gap) }), headers)
        expect(reply.body.Errors).toContainEqual({
          Code: 'card_number_misplaced',
          Field: `CreditCard.${field}`,
          Message: expect.any(String),
        })
      }
    for (const field of ['customerID', 'isPrimary', 'Elsewhere', 'BankAccount'])
      for (const value of [plant(), Number(plant()), [plant()], { deep: [{ er: plant() }] }]) {
        const reply = await send(`in ${field}`, right({}, { [field]: value }), headers)
        expect([field, reply.status]).toEqual([field, 400])
      }
    expect((await send('as a name', right({ [plant()]: 'x' }), headers)).status).toBe(400)
    expect((await send('as a name', { ...right(), [plant()]: { y: 1 } }, headers)).status).toBe(400)
    for (const Number of [[plant()], { inner: plant() }, true])
      expect((await send('in another type', right({ Number }), headers)).status).toBe(400)
    expect((await send('as the whole body', JSON.stringify(plant()), headers)).status).toBe(400)
    expect((await send('as a list', [plant()], headers)).status).toBe(400)
  }

  // Malformed, of another type, and beside the body.
  for (const body of [
    `{"CreditCard":{"Number":"${plant()}"`,
    `{"a":${plant()}x}`,
    `"${plant()}`,
    `{"${plant()}`,
    plant() + 'z',
  ])
    expect((await send('malformed', body)).status).toBe(400)
  expect((await send('as text', `${plant()}`, { 'content-type': 'text/plain' })).status).toBe(415)
  expect((await send('as the key', right(), { 'idempotency-key': plant() })).status).toBe(200)
  expect((await send('as a bad key', right(), { 'idempotency-key': `${plant()}\u00e9` })).status).toBe(400)
  const id = plant()
  const named = await send('as the identifier', right(), { 'x-request-id': id })
  expect([named.status, named.headers['x-request-id'] === id]).toEqual([200, false])
  for (const headers of [{}, strict] as Record<string, string>[]) {
    await send('in the query', right(), headers, `?card=${plant()}`)
    await send('as a name in the query', right(), headers, `?${plant()}=1`)
    await send('in a broken query', right(), headers, `?page=${plant()}&%zz`)
  }
  const account = { Method: 'ach', AccountType: 'Checking', AccountNumber: '1', RoutingNumber: '011000015' }
  for (const more of [
    { AccountHolder: plant(), Bank: 'B' },
    { AccountHolder: 'A', Bank: grouped(plant(), ' ') },
  ]) {
    const body = { customerID, isPrimary: false, BankAccount: { ...account, ...more } }
    const reply = await client.post('/v1/paymentmethods/bankaccount', body)
    replies.push(['in a name of a bank account', reply])
    expect(reply.status).toBe(400)
  }

  const wanted = planted.flatMap((number) => [number, grouped(number, ' '), grouped(number, '-')])
  const holds = (text: string) => wanted.filter((number) => text.includes(number))
  for (const [what, { text, headers }] of replies)
    expect([what, holds(text), holds(JSON.stringify(headers))]).toEqual([what, [], []])
  expect(holds(lines.join('\n'))).toEqual([])
  expect(lines.length).toBeGreaterThan(replies.length)

  // The search finds what was written: the name on the card is there, the numbers are not.
  const needles = new Set(planted)
  const found = new Set<string>()
  let bytesRead = 0
  for await (const bytes of keptBytes()) {
    bytesRead += bytes.length
    if (bytes.includes(name)) found.add(name)
    for (const [like] of bytes.toString('latin1').matchAll(/4\d{3}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}/g))
      if (needles.has(like.replaceAll(/\D/g, ''))) found.add(like)
  }
  expect(bytesRead).toBeGreaterThan(1_000_000)
  expect([...found]).toEqual([name])
})

test('an X-Request-Id that could be a card number is kept where no card is sent', async () => {
  const client = await service.newAccount()
  const number = newNumber()
  expect((await client.get('/v1/paymentmethods', undefined, { 'x-request-id': number })).headers['x-request-id']).toBe(
    number,
  )
})
