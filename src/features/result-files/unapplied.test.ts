import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { report, workAt } from '../gateway-reports/reports.testing.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'

const service = await startTestService()

test('a report of a gateway that cannot be applied is listed once for a person, who closes it', async () => {
  const shop = await chargedPayment(service)
  const { client } = shop
  const sent = [
    { id: 'one', about: 'charge' as const, reference: '999999999' },
    { id: 'two', about: 'refund' as const, reference: '999999998' },
    { id: 'three', about: 'charge' as const, reference: String(shop.id) },
  ]
  for (const one of sent) expect((await report(service, shop, one)).status).toBe(200)
  await workAt(service, client)
  await workAt(service, client)
  const files = (await client.get('/v1/resultfiles')).body
  const event = {
    Sha256: null,
    Format: 'event',
    OtherAccounts: null,
    Files: null,
    Warnings: null,
    isToBeSentAgain: false,
    Payments: null,
    Matched: 0,
    Applied: 0,
    AlreadyKnown: 0,
    Unmatched: 1,
    Open: 1,
  }
  expect(files).toEqual([
    { resultFileID: expect.any(Number), ...event },
    { resultFileID: expect.any(Number), ...event },
  ])
  const [first, second] = files
  const { Lines } = (await client.get(`/v1/resultfiles/${first.resultFileID}`)).body
  const today = (await client.get('/v1/clock')).body.Now.slice(0, 10)
  expect(Lines).toEqual([
    {
      lineID: expect.any(Number),
      Kind: 'other',
      Date: `${today}T00:00:00Z`,
      Amount: null,
      CurrencyCode: null,
      Reference: 'The gateway reports charge 999999999, which is none of this service.',
      Name: null,
      Code: 'charge',
      State: 'open',
      isCredit: null,
      EntryAmount: null,
      sameAs: null,
      paymentID: null,
      invoiceID: null,
      invoiceNum: null,
    },
  ])
  expect((await client.get(`/v1/resultfiles/${second.resultFileID}`)).body.Lines).toMatchObject([{ Code: 'refund' }])
  const path = `/v1/resultfiles/${first.resultFileID}/lines/${Lines[0].lineID}`
  const { customerID } = shop
  for (const wrong of [{ paymentID: Number(shop.id) }, { customerID }])
    expect((await client.put(path, wrong)).status).toBe(409)
  expect((await client.put(path, { isClosed: true })).status).toBe(204)
})
