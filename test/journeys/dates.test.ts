import { describe, expect, test } from 'vitest'
import { addTax, checkBooks, day, invoicesOf, moveTo, readSubscription, rowsOf, subscribe } from '../support/shop.ts'
import { startTestService } from '../support/app.ts'

/** Stories of one subscription each, from its first day to the last invoice of its time, every amount worked out by hand. */

const service = await startTestService()
const accountAt = (date: string) => service.newAccount({ clockAt: `${date}T08:00:00.000Z` })

describe('leap years', () => {
  test('a yearly plan from 29 February renews on 28 February and is back on the 29th in the next leap year', async () => {
    const client = await accountAt('2028-02-29')
    await subscribe(client, { price: 366, term: 12 })
    expect(await moveTo(client, '2032-03-01')).toMatchObject({ Invoices: 4, Renewals: 4 })
    expect(await rowsOf(client)).toEqual([
      '2028-02-29: 2028-02-29 to 2029-02-27 366 = 366',
      '2029-02-28: 2029-02-28 to 2030-02-27 366 = 366',
      '2030-02-28: 2030-02-28 to 2031-02-27 366 = 366',
      '2031-02-28: 2031-02-28 to 2032-02-28 366 = 366',
      '2032-02-29: 2032-02-29 to 2033-02-27 366 = 366',
    ])
    await checkBooks(service, client)
  })

  test('pieces of a year are parts of the 366 or 365 days that they are cut from', async () => {
    const client = await accountAt('2028-02-20')
    await subscribe(client, { price: 366, term: 12 }, { firstProrataSyncDate: '2028-02-29', EndDate: '2029-03-10' })
    expect(await moveTo(client, '2030-03-01')).toMatchObject({ Expired: 1 })
    expect(await rowsOf(client)).toEqual([
      '2028-02-20: 2028-02-20 to 2028-02-28, 9 of 366 days 9 = 9',
      '2028-02-29: 2028-02-29 to 2029-02-27 366 = 366',
      '2029-02-28: 2029-02-28 to 2029-03-09, 10 of 365 days 10.03 = 10.03',
    ])
    await checkBooks(service, client)
  })
})

describe('trials', () => {
  test('two weeks for a fee, a set-up fee, then a year of months invoiced three days ahead', async () => {
    const client = await accountAt('2027-01-01')
    await addTax(client, 'VAT', { Perc: 0.15 })
    const wish = { setupFee: 10, trialFee: 5, trialPeriod: 14 }
    const { customerID } = await subscribe(client, wish, { numDaysBeforeToInv: 3 })
    expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 12, Renewals: 11 })
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: Set-up fee 10 + Trial fee 5 = 17.25',
      '2027-01-15: 2027-01-15 to 2027-02-14 31 = 35.65',
      '2027-02-12: 2027-02-15 to 2027-03-14 31 = 35.65',
      '2027-03-12: 2027-03-15 to 2027-04-14 31 = 35.65',
      '2027-04-12: 2027-04-15 to 2027-05-14 31 = 35.65',
      '2027-05-12: 2027-05-15 to 2027-06-14 31 = 35.65',
      '2027-06-12: 2027-06-15 to 2027-07-14 31 = 35.65',
      '2027-07-12: 2027-07-15 to 2027-08-14 31 = 35.65',
      '2027-08-12: 2027-08-15 to 2027-09-14 31 = 35.65',
      '2027-09-12: 2027-09-15 to 2027-10-14 31 = 35.65',
      '2027-10-12: 2027-10-15 to 2027-11-14 31 = 35.65',
      '2027-11-12: 2027-11-15 to 2027-12-14 31 = 35.65',
      '2027-12-12: 2027-12-15 to 2028-01-14 31 = 35.65',
    ])
    expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ Balance: 445.05, ActiveSubs: 1 })
    await checkBooks(service, client)
  })

  test('of a month from 31 January ends on 28 February, the day from which renewals then count', async () => {
    const client = await accountAt('2027-01-31')
    const added = await subscribe(client, { trialPeriod: 1, trialPeriodType: 'months' })
    expect([added.comp_Status, day(added.TrialEndDate)]).toEqual(['Trial', '2027-02-28'])
    await moveTo(client, '2027-04-30')
    expect(await rowsOf(client)).toEqual([
      '2027-02-28: 2027-02-28 to 2027-03-27 31 = 31',
      '2027-03-28: 2027-03-28 to 2027-04-27 31 = 31',
      '2027-04-28: 2027-04-28 to 2027-05-27 31 = 31',
    ])
  })

  test('that EndDate cuts off cost their fees and nothing else', async () => {
    const client = await accountAt('2027-01-01')
    const wish = { setupFee: 10, trialFee: 5, trialPeriod: 14 }
    await subscribe(client, wish, { EndDate: '2027-01-15' })
    await subscribe(client, wish, { EndDate: '2027-01-05', isProRata: false })
    expect(await moveTo(client, '2027-06-01')).toMatchObject({ Invoices: 0, Expired: 2 })
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: Set-up fee 10 + Trial fee 5 = 15',
      '2027-01-01: Set-up fee 10 + Trial fee 5 = 15',
    ])
  })

  test('a trial fee without a trial is not charged', async () => {
    const client = await accountAt('2027-01-01')
    await subscribe(client, { setupFee: 10, trialFee: 5 })
    expect(await rowsOf(client)).toEqual(['2027-01-01: Set-up fee 10 + 2027-01-01 to 2027-01-31 31 = 41'])
  })
})

describe('a sync date', () => {
  test('in the middle of a month: the first piece by the day, whole months from then on', async () => {
    const client = await accountAt('2027-01-20')
    await subscribe(client, {}, { firstProrataSyncDate: '2027-04-15' })
    await moveTo(client, '2027-05-14')
    expect(await rowsOf(client)).toEqual([
      '2027-01-20: 2027-01-20 to 2027-02-14, 26 of 31 days 26 = 26',
      '2027-02-15: 2027-02-15 to 2027-03-14 31 = 31',
      '2027-03-15: 2027-03-15 to 2027-04-14 31 = 31',
      '2027-04-15: 2027-04-15 to 2027-05-14 31 = 31',
    ])
  })

  test('on a 31st counts back over a short month', async () => {
    const client = await accountAt('2027-02-10')
    await subscribe(client, {}, { firstProrataSyncDate: '2027-03-31' })
    await moveTo(client, '2027-05-01')
    expect(await rowsOf(client)).toEqual([
      '2027-02-10: 2027-02-10 to 2027-02-27, 18 of 28 days 19.93 = 19.93',
      '2027-02-28: 2027-02-28 to 2027-03-30 31 = 31',
      '2027-03-31: 2027-03-31 to 2027-04-29 31 = 31',
      '2027-04-30: 2027-04-30 to 2027-05-30 31 = 31',
    ])
  })

  test('after a trial: the piece begins where the trial ends', async () => {
    const client = await accountAt('2027-01-01')
    await subscribe(client, { trialPeriod: 10 }, { firstProrataSyncDate: '2027-02-01' })
    await moveTo(client, '2027-02-01')
    expect(await rowsOf(client)).toEqual([
      '2027-01-11: 2027-01-11 to 2027-01-31, 21 of 31 days 21 = 21',
      '2027-02-01: 2027-02-01 to 2027-02-28 31 = 31',
    ])
  })

  test('after EndDate: what is left of the first piece', async () => {
    const client = await accountAt('2027-02-11')
    await subscribe(client, { price: 28 }, { firstProrataSyncDate: '2027-03-01', EndDate: '2027-02-20' })
    expect(await moveTo(client, '2027-04-01')).toMatchObject({ Invoices: 0, Expired: 1 })
    expect(await rowsOf(client)).toEqual(['2027-02-11: 2027-02-11 to 2027-02-19, 9 of 28 days 9 = 9'])
  })
})

describe('EndDate', () => {
  test.each([
    [true, '2027-03-11', '2027-03-01: 2027-03-01 to 2027-03-10, 10 of 31 days 10 = 10'],
    [false, '2027-03-11', '2027-03-01: 2027-03-01 to 2027-03-31 31 = 31'],
    [true, '2027-04-01', '2027-03-01: 2027-03-01 to 2027-03-31 31 = 31'],
  ])('isProRata %s, ending on %s: the last invoice', async (isProRata, EndDate, last) => {
    const client = await accountAt('2027-01-01')
    const { subscriptionID } = await subscribe(client, {}, { isProRata, EndDate })
    expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 2, Renewals: 2, Expired: 1 })
    expect((await rowsOf(client)).at(-1)).toBe(last)
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      comp_Status: 'Expired',
      isExpired: true,
      nextRenewDate: null,
    })
    await checkBooks(service, client)
  })
})

describe('lead days and payment terms', () => {
  test('a renewal is invoiced ahead and falls due after its own first day', async () => {
    const client = await accountAt('2027-01-01')
    await subscribe(client, {}, { numDaysBeforeToInv: 7 }, { PaymentTermDays: 14 })
    await moveTo(client, '2027-03-01')
    const rows = (await invoicesOf(client)).map(({ InvoiceDate, DueDate }) => [day(InvoiceDate), day(DueDate)])
    expect(rows).toEqual([
      ['2027-01-01', '2027-01-15'],
      ['2027-01-25', '2027-02-15'],
      ['2027-02-22', '2027-03-15'],
    ])
  })

  test('more of them than a period has days: never before the period before begins', async () => {
    const client = await accountAt('2027-01-01')
    await subscribe(client, {}, { numDaysBeforeToInv: 40 })
    await moveTo(client, '2027-02-28')
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
      '2027-01-01: 2027-02-01 to 2027-02-28 31 = 31',
      '2027-02-01: 2027-03-01 to 2027-03-31 31 = 31',
    ])
    const [, ahead] = await invoicesOf(client)
    expect(day(ahead.DueDate)).toBe('2027-02-01')
  })

  test('the first period after a trial and a future start come on their own days', async () => {
    const client = await accountAt('2027-01-01')
    await subscribe(client, { trialPeriod: 20 }, { StartDate: '2027-02-01', numDaysBeforeToInv: 30 })
    await moveTo(client, '2027-02-22')
    expect(await rowsOf(client)).toEqual([
      '2027-02-21: 2027-02-21 to 2027-03-20 31 = 31',
      '2027-02-21: 2027-03-21 to 2027-04-20 31 = 31',
    ])
  })
})

describe('the past', () => {
  test('a start in the past bills what has passed, each period by itself, today, and goes on in its own days', async () => {
    const client = await accountAt('2027-01-20')
    await subscribe(client, { setupFee: 7 }, { StartDate: '2026-11-15' }, { PaymentTermDays: 5 })
    await moveTo(client, '2027-02-15')
    expect(await rowsOf(client)).toEqual([
      '2027-01-20: Set-up fee 7 + 2026-11-15 to 2026-12-14 31 = 38',
      '2027-01-20: 2026-12-15 to 2027-01-14 31 = 31',
      '2027-01-20: 2027-01-15 to 2027-02-14 31 = 31',
      '2027-02-15: 2027-02-15 to 2027-03-14 31 = 31',
    ])
    expect((await invoicesOf(client)).map(({ DueDate }) => day(DueDate))).toEqual([
      '2027-01-25',
      '2027-01-25',
      '2027-01-25',
      '2027-02-20',
    ])
    await checkBooks(service, client)
  })

  test('one that is over already is billed whole and expired at once', async () => {
    const client = await accountAt('2027-01-20')
    const added = await subscribe(client, {}, { StartDate: '2026-11-01', EndDate: '2026-12-11' })
    expect(added).toMatchObject({ comp_Status: 'Expired', lastInvDate: '2027-01-20T00:00:00Z', nextRenewDate: null })
    expect(await rowsOf(client)).toEqual([
      '2027-01-20: 2026-11-01 to 2026-11-30 31 = 31',
      '2027-01-20: 2026-12-01 to 2026-12-10, 10 of 31 days 10 = 10',
    ])
  })
})

test('a cancellation is dropped in May and taken in September: nine months are billed', async () => {
  const client = await accountAt('2027-01-01')
  const { subscriptionID, customerID } = await subscribe(client, {})
  const path = `/v1/subscriptions/${subscriptionID}`
  await moveTo(client, '2027-05-10')
  await client.put(`${path}/cancel/renewal`, { Reason: 'too dear' })
  expect(await readSubscription(client, subscriptionID)).toMatchObject({
    isFutureChange: true,
    nextRenewDate: '2027-06-01T00:00:00Z',
  })
  await moveTo(client, '2027-05-31')
  await client.delete(`${path}/futurechanges`)
  await moveTo(client, '2027-09-30')
  await client.put(`${path}/cancel/renewal`)
  expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 0, Expired: 0 })
  const rows = await rowsOf(client)
  expect(rows).toHaveLength(9)
  expect(rows.at(-1)).toBe('2027-09-01: 2027-09-01 to 2027-09-30 31 = 31')
  expect(await readSubscription(client, subscriptionID)).toMatchObject({
    comp_Status: 'Cancelled',
    EndDate: '2027-10-01T00:00:00Z',
  })
  expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ Balance: 279, ActiveSubs: 0 })
  await checkBooks(service, client)
})
