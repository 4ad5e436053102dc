import { expect, test } from 'vitest'
import { checkBooks, invoicesOf, moveTo, readSubscription, rowsOf, subscribe } from '../support/shop.ts'
import { startTestService } from '../support/app.ts'

/** Accounts that live in time zones: their days decide, and no change of clocks or zones moves one. */

const service = await startTestService()

async function accountIn(TimeZone: string, clockAt: string) {
  const client = await service.newAccount({ clockAt })
  expect((await client.put('/v1/account', { TimeZone })).status).toBe(204)
  return client
}

test('the day of the zone decides, also where clocks change: New York over its year', async () => {
  const client = await accountIn('America/New_York', '2027-02-01T04:59:00.000Z')
  const added = await subscribe(client, {})
  expect(added.StartDate).toBe('2027-01-31T00:00:00-05:00')
  await moveTo(client, '2027-12-31T12:00:00Z')
  const dates = (await invoicesOf(client)).map(({ InvoiceDate }) => InvoiceDate)
  expect(dates).toEqual([
    '2027-01-31T00:00:00-05:00',
    '2027-02-28T00:00:00-05:00',
    '2027-03-31T00:00:00-04:00',
    '2027-04-30T00:00:00-04:00',
    '2027-05-31T00:00:00-04:00',
    '2027-06-30T00:00:00-04:00',
    '2027-07-31T00:00:00-04:00',
    '2027-08-31T00:00:00-04:00',
    '2027-09-30T00:00:00-04:00',
    '2027-10-31T00:00:00-04:00',
    '2027-11-30T00:00:00-05:00',
    '2027-12-31T00:00:00-05:00',
  ])
})

test('an invoice comes with the first moment of its day and not before', async () => {
  const client = await accountIn('Asia/Kolkata', '2027-01-01T00:00:00.000Z')
  await subscribe(client, {})
  expect(await moveTo(client, '2027-01-31T18:29:59Z')).toMatchObject({ Invoices: 0, Days: 30 })
  expect(await moveTo(client, '2027-01-31T18:30:00Z')).toMatchObject({ Invoices: 1, Days: 1 })
})

test('a day whose midnight does not exist is a day like any other', async () => {
  const client = await accountIn('America/Sao_Paulo', '2018-11-02T12:00:00.000Z')
  await subscribe(client, { price: 1, termType: 'days' })
  await moveTo(client, '2018-11-05T12:00:00Z')
  const dates = (await invoicesOf(client)).map(({ InvoiceDate }) => InvoiceDate)
  expect(dates.map((date) => date.slice(0, 10))).toEqual(['2018-11-02', '2018-11-03', '2018-11-04', '2018-11-05'])
  // Read back as an instant it falls on its own day.
  const found = await client.get(
    `/v1/invoices?startDate=${encodeURIComponent(dates[2])}&endDate=${encodeURIComponent(dates[2])}`,
  )
  expect(found.body).toHaveLength(1)
})

test('a change of the zone moves no date, and a day that comes twice is billed once', async () => {
  const client = await accountIn('Asia/Tokyo', '2027-01-31T15:30:00.000Z')
  const { subscriptionID } = await subscribe(client, {})
  expect((await readSubscription(client, subscriptionID)).StartDate).toBe('2027-02-01T00:00:00+09:00')
  await moveTo(client, '2027-02-28T15:30:00Z')
  expect(await rowsOf(client)).toHaveLength(2)
  // It is 1 March in Tokyo and 28 February in Honolulu: the same 1 March comes again.
  await client.put('/v1/account', { TimeZone: 'Pacific/Honolulu' })
  expect(await readSubscription(client, subscriptionID)).toMatchObject({
    StartDate: '2027-02-01T00:00:00-10:00',
    lastRenewDate: '2027-03-01T00:00:00-10:00',
    nextRenewDate: '2027-04-01T00:00:00-10:00',
  })
  expect(await moveTo(client, '2027-03-02T00:00:00Z')).toMatchObject({ Invoices: 0 })
  expect(await moveTo(client, '2027-04-01T09:59:59Z')).toMatchObject({ Invoices: 0 })
  expect(await moveTo(client, '2027-04-01T10:00:00Z')).toMatchObject({ Invoices: 1 })
  expect(await rowsOf(client)).toEqual([
    '2027-02-01: 2027-02-01 to 2027-02-28 31 = 31',
    '2027-03-01: 2027-03-01 to 2027-03-31 31 = 31',
    '2027-04-01: 2027-04-01 to 2027-04-30 31 = 31',
  ])
  await checkBooks(service, client)
})

test('a day that a change of the zone skips is caught up on the next', async () => {
  const client = await accountIn('Pacific/Honolulu', '2027-01-01T12:00:00.000Z')
  await subscribe(client, {})
  await moveTo(client, '2027-01-31T12:00:00Z')
  // In Auckland it is 1 February already.
  await client.put('/v1/account', { TimeZone: 'Pacific/Auckland' })
  expect(await moveTo(client, '2027-02-01T12:00:00Z')).toMatchObject({ Invoices: 1 })
  expect((await rowsOf(client)).at(-1)).toBe('2027-02-01: 2027-02-01 to 2027-02-28 31 = 31')
})
