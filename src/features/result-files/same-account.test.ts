import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, differencesOf } from '../../../test/support/shop.ts'
import { bank, entryXml, statementXml } from './result-files.testing.ts'

/** Several gateways that collect for one account, as of the schemes CORE and B2B: a statement is sent to each of them. */

const service = await startTestService()

type Bank = Awaited<ReturnType<typeof bank>>

const coreAndB2b = async (lines = 1): Promise<[Bank, Bank]> => {
  const core = await bank(service, lines, { settings: {} })
  return [core, await bank(service, lines, { settings: { Scheme: 'B2B' }, client: core.client })]
}
const counts = ({ body: { Matched, Applied, AlreadyKnown, Unmatched } }: any) => [
  Matched,
  Applied,
  AlreadyKnown,
  Unmatched,
]
const statusOf = async ({ client, sent }: Bank) =>
  Promise.all(sent.map(async ({ paymentId }) => (await client.get(`/v1/payments/${paymentId}`)).body.Status))
const linesOf = async ({ client }: Bank, { body }: any) =>
  (await client.get(`/v1/resultfiles/${body.resultFileID}`)).body.Lines
const booking = ({ token }: Bank, more: object) =>
  entryXml({ isCredit: true, amount: 11_500n, batch: { payments: `${token.replaceAll('-', '')}-1` }, ...more })

test('a credit of a statement that both are sent is listed once', async () => {
  const [core, b2b] = await coreAndB2b()
  const file = statementXml([entryXml({ isCredit: true, amount: 500n, text: 'Thanks', bankReference: 'A' })])
  expect(counts(await core.send(file))).toEqual([0, 0, 0, 1])
  expect(counts(await b2b.send(file))).toEqual([0, 0, 1, 0])
})

test('each applies what its own batches are named by, also where the other has read it before', async () => {
  const [core, b2b] = await coreAndB2b(2)
  const entries = [core, b2b].flatMap((shop, n) => [
    entryXml({ reference: shop.reference(shop.sent[0]!), isCredit: true, bankReference: `S${n}` }),
    entryXml({ reference: shop.reference(shop.sent[1]!), code: 'AC04', bankReference: `R${n}` }),
  ])
  const file = statementXml(entries)
  const first = await core.send(file)
  expect(counts(first)).toEqual([2, 2, 0, 2])
  const second = await b2b.send(file)
  expect(counts(second)).toEqual([2, 2, 2, 0])
  for (const shop of [core, b2b]) expect(await statusOf(shop)).toEqual(['Allocated', 'Failed'])
  expect(counts(await core.send(statementXml(entries, { message: 'camt.054' })))).toEqual([0, 0, 4, 0])
  expect(await differencesOf(service, core.client)).toEqual([])
})

test.each([
  ['with a family', { family: 'IDDT' }],
  ['without a family', {}],
])(
  'a booking of a whole collection of the other one, %s, is nobody’s credit, and settles it once',
  async (_name, family) => {
    const [core, b2b] = await coreAndB2b()
    const file = statementXml([booking(b2b, { ...family, bankReference: 'B' })])
    const first = await core.send(file)
    expect(counts(first)).toEqual([0, 0, 0, 1])
    const [line] = await linesOf(core, first)
    expect(line).toMatchObject({ Kind: 'other', State: 'open' })
    const customerID = await addCustomer(core.client, { CurrencyCode: 'EUR' })
    const path = `/v1/resultfiles/${first.body.resultFileID}/lines/${line.lineID}`
    expect((await core.client.put(path, { customerID })).status).toBe(409)
    expect(counts(await b2b.send(file))).toEqual([1, 1, 0, 0])
    expect([await statusOf(core), await statusOf(b2b)]).toEqual([['Pending'], ['Allocated']])
  },
)

test('the settlement of a payment of the other one is nobody’s credit', async () => {
  const [core, b2b] = await coreAndB2b()
  const file = statementXml([entryXml({ reference: b2b.reference(b2b.sent[0]!), isCredit: true })])
  const [line] = await linesOf(core, await core.send(file))
  expect(line).toMatchObject({ Kind: 'other' })
})

test('references of another account are others, whichever gateway reads them', async () => {
  const core = await bank(service, 0, { settings: {} })
  const [dutch, german] = [
    await bank(service, 0, { client: core.client }),
    await bank(service, 0, { client: core.client }),
  ] as const
  const credit = [entryXml({ isCredit: true, amount: 500n, text: 'Thanks', bankReference: 'A' })]
  expect(counts(await core.send(statementXml(credit)))).toEqual([0, 0, 0, 1])
  expect(counts(await dutch.send(statementXml(credit, { iban: 'NL91ABNA0417164300' })))).toEqual([0, 0, 0, 1])
  expect(counts(await german.send(statementXml(credit, { iban: 'de89 3704 0044 0532 0130 00' })))).toEqual([0, 0, 1, 0])
})
