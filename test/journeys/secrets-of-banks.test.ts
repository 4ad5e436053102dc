import { randomInt } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { account } from '../../src/features/batches/batches.testing.ts'
import { entryXml, statementXml } from '../../src/features/result-files/result-files.testing.ts'
import { startReceiver, timed } from '../../src/features/webhooks/webhooks.testing.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { KeyRing } from '../../src/platform/envelope/key-ring.ts'
import { envelopeUnder } from '../../src/platform/envelope/open.ts'
import { rotateKeys } from '../../src/platform/envelope/rotation.ts'
import { makeLog } from '../../src/platform/log.ts'
import { TEST_KEY } from '../support/envelope.ts'

/**
 * Secrets of banks and webhooks: Settings, bank numbers, files, result lines and the secrets that sign events are nowhere but sealed, what was
 * sealed for one row opens for no other, and a rotation of keys leaves out none of them.
 */

const log: string[] = []
const { service, work } = await timed({ log: makeLog('trace', [], { write: (line) => void log.push(line) }) })
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()

/** A right IBAN that nobody else has. */
function newIban(country: 'DE' | 'NL'): string {
  const digits = (count: number) => Array.from({ length: count }, () => randomInt(10)).join('')
  const own = country === 'DE' ? digits(18) : `ABNA${digits(10)}`
  const numeric = [...`${own}${country}00`].map((c) => Number.parseInt(c, 36)).join('')
  return `${country}${String(98n - (BigInt(numeric) % 97n)).padStart(2, '0')}${own}`
}

/** Every row of every table as a text. */
async function rowsOfDatabase(): Promise<string[]> {
  const tables = await owner.query<{ name: string }>(
    `select format('%I', table_name) as name from information_schema.tables where table_schema = 'perennial' and table_type = 'BASE TABLE'`,
  )
  const rows: string[] = []
  for (const { name } of tables.rows) {
    const found = await owner.query<{ row: string }>(`select t::text as row from perennial.${name} t`)
    rows.push(...found.rows.map(({ row }) => `${name} ${row}`))
  }
  return rows
}

/** A gateway with a batch that has left, a webhook, and a line of a result file, each with secrets of its own. */
async function secretsOf(shop: Awaited<ReturnType<typeof account>>, url: string, n: number) {
  const { client, must } = shop
  const secrets = { creditor: newIban('DE'), payer: newIban('NL'), stranger: `Stranger${randomInt(1e12)}` }
  const creditor = {
    CreditorName: `Creditor${randomInt(1e12)}`,
    CreditorIBAN: secrets.creditor,
    CreditorBIC: 'COBADEFFXXX',
    CreditorIdentifier: 'DE98ZZZ09999999999',
  }
  const gateway = await must('post', '/v1/gateways', { GatewayType: 'sepa-file', Settings: creditor })
  const { customerID } = await must('post', '/v1/customers', { Name: `P${n}`, isCompany: true, CurrencyCode: 'EUR' })
  const BankAccount = {
    Method: 'sepa',
    AccountType: 'Current',
    AccountHolder: 'Ada',
    Bank: 'A bank',
    IBAN: secrets.payer,
    BIC: 'ABNANL2A',
    MandateReference: `M-${n}`,
    MandateDate: '2026-12-01',
  }
  const added = await client.post(
    '/v1/paymentmethods/bankaccount',
    { customerID, isPrimary: true, BankAccount },
    { 'idempotency-key': `m${n}` },
  )
  const { paymentMethodID } = added.body
  const batch = { CurrencyCode: 'EUR', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-05' }
  const { BatchToken } = await must('post', '/v1/batches', batch)
  await must('post', '/v1/batches/payments', {
    BatchToken,
    customerID,
    paymentMethodID,
    Amount: 115,
    isAutoApply: true,
  })
  await must('put', '/v1/batches/submit', { BatchToken, ActionDate: batch.ActionDate })
  await shop.build()
  const hook = await client.post(
    '/v1/webhooks',
    { Url: url, Types: ['customer.*', 'batch.*', 'gateway.*', 'payment_method.*'] },
    { 'idempotency-key': `w${n}` },
  )
  const { webhookID } = hook.body
  const rotated = await must('put', `/v1/webhooks/${webhookID}/rotate`, { Hours: 24 })
  const credit = entryXml({ isCredit: true, name: secrets.stranger, text: 'Thanks', family: 'RCDT', subFamily: 'ESCT' })
  const sent = await client.request(
    'POST',
    `/v1/resultfiles?gatewayID=${gateway.gatewayID}`,
    statementXml([credit], { iban: secrets.creditor }),
    { 'content-type': 'application/xml' },
  )
  expect([sent.status, sent.body.Unmatched]).toEqual([201, 1])
  const paths = {
    number: `/v1/paymentmethods/${paymentMethodID}`,
    file: `/v1/batches/${BatchToken}/file`,
    line: `/v1/resultfiles/${sent.body.resultFileID}`,
  }
  return {
    ...paths,
    gatewayID: gateway.gatewayID as number,
    webhookID: webhookID as number,
    answers: [JSON.stringify(gateway), added.text, sent.text],
    words: [
      ...Object.values(secrets),
      creditor.CreditorName,
      hook.body.Secret.slice(6),
      rotated.Secret.slice(6),
    ] as string[],
  }
}

/** Columns of what is sealed, with the column that orders their rows. */
const SEALED = [
  ['gateways', 'settings', 'gateway_id', 'settings is not null'],
  ['payment_methods', 'number', 'payment_method_id', 'number is not null'],
  ['payment_batches', 'sealed_file', 'batch_id', 'sealed_file is not null'],
  ['webhooks', 'sealed_secret', 'webhook_id', 'true'],
  ['webhooks', 'sealed_old_secret', 'webhook_id', 'true'],
  ['result_lines', 'sealed_texts', 'result_line_id', 'true'],
] as const

test('secrets are nowhere in the clear, open for their own row alone, and move to a new key all of them', async () => {
  const receiver = await startReceiver()
  const shop = await account(service)
  const { client, must } = shop
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  const both = [await secretsOf(shop, receiver.url, 1), await secretsOf(shop, receiver.url, 2)] as const
  const words = both.flatMap((one) => one.words)

  // Who may read them does.
  for (const one of both) {
    const [creditor = '', payer = '', stranger = ''] = one.words
    expect((await client.get(one.number)).text).toContain(payer)
    const file = (await client.get(one.file)).text
    expect([file.includes(creditor), file.includes(payer)]).toEqual([true, true])
    expect((await client.get(one.line)).text).toContain(stranger)
  }
  // Refusals repeat none.
  const [iban = ''] = both[0].words
  const wrong = await client.put(`/v1/gateways/${both[0].gatewayID}`, { Settings: { CreditorBIC: iban } })
  expect(wrong.status).toBe(400)
  await must('post', '/v1/customers', { Name: 'Acme', isCompany: true })
  await work()
  expect(receiver.received.length).toBeGreaterThan(0)

  const events = JSON.stringify((await client.get('/v1/events?page_size=200')).body)
  const told = [
    wrong.text,
    events,
    ...log,
    ...both.flatMap(({ answers }) => answers),
    ...receiver.received.map(({ text }) => text),
  ]
  const kept = await rowsOfDatabase()
  expect(log).not.toEqual([])
  expect(kept.some((row) => row.startsWith('result_lines '))).toBe(true)
  for (const word of words) {
    const hex = Buffer.from(word).toString('hex')
    expect(told.filter((text) => text.includes(word))).toEqual([])
    expect(kept.filter((row) => row.includes(word) || row.includes(hex))).toEqual([])
  }

  // What is sealed for one row does not open for another, nor when a bit of it has changed.
  const contents = async () =>
    Promise.all(
      SEALED.map(async ([table, column, id, where]) => {
        const { rows } = await owner.query(
          `select ${id} as id, ${column} as sealed from perennial.${table} where account_id = $1 and ${where} order by 1`,
          [String(client.id)],
        )
        expect(rows).toHaveLength(2)
        return { table, column, id, rows: rows as { id: string; sealed: Buffer }[] }
      }),
    )
  const right = await contents()
  const write = async (change: (sealed: readonly Buffer[]) => readonly Buffer[]) => {
    for (const { table, column, id, rows } of right)
      for (const [index, sealed] of change(rows.map((row) => row.sealed)).entries())
        await owner.query(`update perennial.${table} set ${column} = $1 where account_id = $2 and ${id} = $3`, [
          sealed,
          String(client.id),
          rows[index]?.id,
        ])
  }
  const flipped = (sealed: Buffer) => {
    const changed = Buffer.from(sealed)
    changed[changed.length - 1]! ^= 1
    return changed
  }
  for (const change of [
    (sealed: readonly Buffer[]) => sealed.toReversed(),
    (sealed: readonly Buffer[]) => sealed.map(flipped),
  ]) {
    await write(change)
    const before = receiver.received.length
    for (const one of both) {
      const replies = [
        await client.get(one.number),
        await client.get(one.file),
        await client.get(one.line),
        await client.put(`/v1/gateways/${one.gatewayID}`, { Settings: { CutOff: '15:00' } }),
      ]
      expect(replies.map(({ status }) => status)).toEqual([500, 500, 500, 500])
      for (const { text } of replies) for (const word of words) expect(text).not.toContain(word)
    }
    await must('post', '/v1/customers', { Name: 'Acme', isCompany: true })
    await work().catch(() => {})
    expect(receiver.received).toHaveLength(before)
  }
  await write((sealed) => sealed)
  for (const word of words) expect(log.filter((line) => line.includes(word))).toEqual([])
  expect((await client.get(both[0].number)).status).toBe(200)

  // A rotation wraps every data key anew; what is read under the new one alone is what was read before.
  const [oldRing, newRing] = [new KeyRing(TEST_KEY), new KeyRing(Buffer.alloc(32, 8))]
  const opened = async (ring: KeyRing) => {
    const envelope = await envelopeUnder(service.db.unscoped, ring)
    return (await contents()).flatMap(({ table, column, rows }) =>
      rows.map(({ id, sealed }) => {
        const by = table === 'result_lines' ? envelope.under('result line') : envelope
        return by.open(client.id, { table, column, row: BigInt(id) }, sealed).toString()
      }),
    )
  }
  const plain = await opened(oldRing)
  await rotateKeys(service.db.unscoped, new KeyRing(Buffer.alloc(32, 8), TEST_KEY))
  expect((await rowsOfDatabase()).filter((row) => row.includes(oldRing.ids[0]!))).toEqual([])
  expect(await opened(newRing)).toEqual(plain)
  await expect(opened(oldRing)).rejects.toThrow()
  await owner.end()
})
