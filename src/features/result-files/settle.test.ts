import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf, moveTo } from '../../../test/support/shop.ts'
import { instantOf } from '../../kernel/zone.ts'
import { sql } from '../../platform/database/sql.ts'
import { NO_LINES_OF_SERVICE } from '../batches/hooks.ts'
import { deleteOldBankReferences, deleteOldResultLines } from './queries.ts'
import { bank, entryXml, IBAN, statementXml } from './result-files.testing.ts'
import { settlingDuty } from './settle.ts'

/** Gateways of type sepa-file: their account, and debits that no booking confirms. The batches debit on Monday 25 January 2027. */

const service = await startTestService()

type Bank = Awaited<ReturnType<typeof bank>>

const download = ({ client, batchId }: Bank) =>
  service.db.transaction(client.id, (tx) =>
    tx.rows(sql`
      update payment_batches set downloaded_on = '2027-01-22' where account_id = ${client.id} and batch_id = ${batchId}`),
  )
const statusesOf = ({ client, sent }: Bank) =>
  Promise.all(sent.map(async ({ paymentId }) => (await client.get(`/v1/payments/${paymentId}`)).body.Status))

test('a statement of another account than the gateway collects for is 409, and nothing of it is read', async () => {
  const shop = await bank(service, 1, { settings: {} })
  const entry = entryXml({ reference: shop.reference(shop.sent[0]!), code: 'AC04' })
  const other = await shop.send(statementXml([entry], { iban: 'NL91ABNA0417164300' }))
  expect([other.status, other.body.Errors[0].Field]).toEqual([409, 'gatewayID'])
  expect(await statusesOf(shop)).toEqual(['Pending'])
  expect((await shop.client.get('/v1/resultfiles')).body).toEqual([])
  expect((await shop.send(statementXml([entry], { iban: IBAN }))).status).toBe(201)
  expect(await statusesOf(shop)).toEqual(['Failed'])
})

test('a statement that names no account may be of another, and is 409 where the gateway has one', async () => {
  const shop = await bank(service, 1, { settings: {} })
  const entry = entryXml({ reference: shop.reference(shop.sent[0]!), code: 'AC04' })
  const nameless = (file: string) => file.replace(/<Acct>.*?<\/Acct>/, '')
  const files = [
    nameless(statementXml([entry])),
    nameless(statementXml([])),
    nameless(statementXml([entry], { message: 'camt.054' })),
  ]
  for (const file of files) {
    const reply = await shop.send(file)
    expect([reply.status, reply.body.Errors[0].Code, reply.body.Errors[0].Field]).toEqual([
      409,
      'other_account',
      'gatewayID',
    ])
  }
  expect(await statusesOf(shop)).toEqual(['Pending'])
  const manual = await bank(service, 0)
  for (const file of files) expect((await manual.send(file)).status).toBe(201)
})

test('a downloaded file counts as received five TARGET days after its debits, and a later return reverses that', async () => {
  const shop = await bank(service, 3, { settings: {} })
  await download(shop)
  const [one, two] = shop.sent.map((line) => shop.reference(line)) as [string, string]
  await shop.send(statementXml([entryXml({ reference: one, code: 'AC04', on: '2027-01-27' })]))
  await moveTo(shop.client, '2027-01-31')
  expect(await statusesOf(shop)).toEqual(['Failed', 'Pending', 'Pending'])
  await moveTo(shop.client, '2027-02-03')
  expect(await statusesOf(shop)).toEqual(['Failed', 'Allocated', 'Allocated'])
  const settled = (await shop.client.get('/v1/ledger/entries')).body.filter((e: any) => e.Event === 'payment_settled')
  for (const { Date } of settled) expect(Date).toBe('2027-02-01T00:00:00Z')
  await shop.send(statementXml([entryXml({ reference: two, code: 'MD06', on: '2027-02-20' })]))
  expect(await statusesOf(shop)).toEqual(['Failed', 'Failed', 'Allocated'])
  expect(await differencesOf(service, shop.client)).toEqual([])
})

test.each<[string, object, boolean]>([
  ['waits for bookings', { SettleAfterDays: null }, true],
  ['was never downloaded', {}, false],
])('a file that %s is not settled by itself', async (_name, settings, isDownloaded) => {
  const shop = await bank(service, 1, { settings })
  if (isDownloaded) await download(shop)
  await moveTo(shop.client, '2027-03-01')
  expect(await statusesOf(shop)).toEqual(['Pending'])
})

test('the worker settles for accounts on real time, twice at once without doing it twice', async () => {
  const shop = await bank(service, 2, { settings: { SettleAfterDays: 0 } })
  await download(shop)
  const { id } = shop.client
  await service.db.transaction(id, (tx) => tx.rows(sql`update accounts set clock_at = null where account_id = ${id}`))
  const log = { error: expect.fail } as any
  const realClock = () => Date.parse('2027-02-10T12:00:00Z')
  const duty = settlingDuty({ ...service.calling, linesOfService: NO_LINES_OF_SERVICE })
  await Promise.all([1, 2].map(() => duty.run({ db: service.db, log, realClock }, () => {})))
  expect(await statusesOf(shop)).toEqual(['Allocated', 'Allocated'])
})

test('lines are forgotten after a time and their file is not; so are references of the bank', async () => {
  const shop = await bank(service, 0)
  const entry = entryXml({ isCredit: true, text: 'Thanks', bankReference: 'A' })
  const { body } = await shop.send(statementXml([entry]))
  const forget = async (at: string) => {
    await deleteOldResultLines(service.db.unscoped, instantOf(Date.parse(at)))
    await deleteOldBankReferences(service.db.unscoped, instantOf(Date.parse(at)))
    return (await shop.client.get(`/v1/resultfiles/${body.resultFileID}`)).body
  }
  expect((await forget('2027-01-20T00:00:00Z')).Lines).toHaveLength(1)
  expect(await forget('2027-01-21T00:00:00Z')).toEqual({ ...body, isToBeSentAgain: false, Open: 0, Lines: [] })
  expect((await shop.send(statementXml([entry]))).status).toBe(200)
  const noted = await shop.send(statementXml([entry], { message: 'camt.054' }))
  expect([noted.body.AlreadyKnown, noted.body.Unmatched]).toEqual([0, 1])
})

test('making a customer anonymous empties the texts of lines about him, and of no other', async () => {
  const shop = await bank(service, 2)
  const entries = shop.sent.map((line, n) =>
    entryXml({ reference: shop.reference(line), code: 'AC04', amount: 11_800n, original: 11_500n, name: `Name ${n}` }),
  )
  const { body } = await shop.send(statementXml([...entries, entryXml({ name: 'Nobody', text: 'Rent' })]))
  const { customerID } = shop.sent[0]!
  await shop.client.put(`/v1/customers/${customerID}/archive`)
  const reply = await shop.client.post(`/v1/customers/${customerID}/anonymise`, {})
  expect(reply.status, reply.text).toBe(204)
  const { Lines } = (await shop.client.get(`/v1/resultfiles/${body.resultFileID}`)).body
  expect(Lines.map(({ Name, Reference }: any) => [Name, Reference])).toEqual([
    [null, null],
    ['Name 1', shop.reference(shop.sent[1]!)],
    ['Nobody', 'Rent'],
  ])
})
