import { expect, test } from 'vitest'
import { addPackage, addTax, moveTo } from '../support/shop.ts'
import { addComponent, modify, TIERS, use as report } from '../../src/features/subscriptions/components.testing.ts'
import { startTestService } from '../support/app.ts'
import { balanceOf, bookOf, done, notesOf, subscribeNew, useOn } from './year.testing.ts'

/** Years in which billing rests, or clocks change: every invoice and credit note, to the cent, worked out by hand. */

const service = await startTestService()

test('suspended from 10 April to 10 June: a month plan with usage and seats, a quarter plan, a year plan', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  await addTax(client, 'VAT', { Perc: 0.15 })
  const month = await addPackage(client, { name: 'Month' })
  const quarter = await addPackage(client, { name: 'Quarter', price: 91, term: 3 })
  const year = await addPackage(client, { name: 'Year', price: 366, term: 12 })
  const messages = await addComponent(client, { name: 'Messages', type: 'metered', scheme: 'tiered', brackets: TIERS })
  const seats = await addComponent(client, { name: 'Seats', term: 3 })
  const componentUsage = [{ componentID: messages.componentID }, { componentID: seats.componentID, NumUnits: 10 }]
  const monthly = await subscribeNew(client, { packageID: month.packageID, componentUsage })
  const { customerID } = monthly
  const add = async (packageID: number, StartDate: string): Promise<number> => {
    const added = await client.post('/v1/subscriptions', { customerID, packageID, StartDate })
    expect(added.status).toBe(201)
    return added.body.subscriptionID
  }
  const quarterly = await add(quarter.packageID, '2027-02-01')
  await add(year.packageID, '2027-05-01')
  await moveTo(client, '2027-04-07')
  const use = (units: number, date: string) => useOn(client, monthly.id, messages.componentID, units, date)
  await use(4, '2027-04-07')
  await moveTo(client, '2027-04-10')
  await done(client.put(`/v1/customers/${customerID}/suspend`))
  expect(await monthly.read()).toMatchObject({ comp_nextInvDate: null, comp_Status: 'Active' })
  await moveTo(client, '2027-05-20')
  await use(6, '2027-05-20')
  const refused = [
    await client.post('/v1/subscriptions', { customerID, packageID: month.packageID }),
    await modify(client, monthly.id, [{ componentID: messages.componentID }, { ...componentUsage[1], NumUnits: 11 }]),
  ]
  expect(refused.map(({ status }) => status)).toEqual([409, 409])
  // The quarter that runs began while nothing was billed: a change would charge for nothing that was invoiced.
  const change = `/v1/subscriptions/${quarterly}/changepackage?preview=true`
  expect((await client.put(change, { packageID: year.packageID, When: 'now' })).status).toBe(200)
  expect(await moveTo(client, '2027-06-10')).toMatchObject({ Invoices: 0 })
  await done(client.put(`/v1/customers/${customerID}/unsuspend`))
  await moveTo(client, '2027-12-31')
  // Of the month plan May and June are dropped; usage of April (4) and May (6) waited. Its seats of the second quarter were charged
  // on 1 April. Of the quarter from 1 May 10 June to 31 July are 21 + 31 = 52 of 92 days: 51.4348; of the year 326 of 366 days.
  expect(await bookOf(client)).toEqual([
    '1 | 2027-01-01 due 2027-01-01 | Month 2027-01-01 to 2027-01-31: 31 + Seats 2027-01-01 to 2027-03-31: 10 × 3.1 = 31 | VAT 9.3 | 71.3 | Past Due',
    '2 | 2027-02-01 due 2027-02-01 | Month 2027-02-01 to 2027-02-28: 31 | VAT 4.65 | 35.65 | Past Due',
    '3 | 2027-02-01 due 2027-02-01 | Quarter 2027-02-01 to 2027-04-30: 91 | VAT 13.65 | 104.65 | Past Due',
    '4 | 2027-03-01 due 2027-03-01 | Month 2027-03-01 to 2027-03-31: 31 | VAT 4.65 | 35.65 | Past Due',
    '5 | 2027-04-01 due 2027-04-01 | Month 2027-04-01 to 2027-04-30: 31 + Seats 2027-04-01 to 2027-06-30: 10 × 3.1 = 31 | VAT 9.3 | 71.3 | Past Due',
    '6 | 2027-06-10 due 2027-06-10 | Messages 2027-04-01 to 2027-04-30: 4 × 5 = 20 + Messages 2027-05-01 to 2027-05-31: 6 × 5 = 30 | VAT 7.5 | 57.5 | Past Due',
    '7 | 2027-06-10 due 2027-06-10 | Quarter 2027-06-10 to 2027-07-31, 52 of 92 days: 51.43 | VAT 7.71 | 59.14 | Past Due',
    '8 | 2027-06-10 due 2027-06-10 | Year 2027-06-10 to 2028-04-30, 326 of 366 days: 326 | VAT 48.9 | 374.9 | Past Due',
    '9 | 2027-07-01 due 2027-07-01 | Month 2027-07-01 to 2027-07-31: 31 + Seats 2027-07-01 to 2027-09-30: 10 × 3.1 = 31 | VAT 9.3 | 71.3 | Past Due',
    '10 | 2027-08-01 due 2027-08-01 | Month 2027-08-01 to 2027-08-31: 31 | VAT 4.65 | 35.65 | Past Due',
    '11 | 2027-08-01 due 2027-08-01 | Quarter 2027-08-01 to 2027-10-31: 91 | VAT 13.65 | 104.65 | Past Due',
    '12 | 2027-09-01 due 2027-09-01 | Month 2027-09-01 to 2027-09-30: 31 | VAT 4.65 | 35.65 | Past Due',
    '13 | 2027-10-01 due 2027-10-01 | Month 2027-10-01 to 2027-10-31: 31 + Seats 2027-10-01 to 2027-12-31: 10 × 3.1 = 31 | VAT 9.3 | 71.3 | Past Due',
    '14 | 2027-11-01 due 2027-11-01 | Month 2027-11-01 to 2027-11-30: 31 | VAT 4.65 | 35.65 | Past Due',
    '15 | 2027-11-01 due 2027-11-01 | Quarter 2027-11-01 to 2028-01-31: 91 | VAT 13.65 | 104.65 | Past Due',
    '16 | 2027-12-01 due 2027-12-01 | Month 2027-12-01 to 2027-12-31: 31 | VAT 4.65 | 35.65 | Past Due',
  ])
  expect(await balanceOf(client, customerID)).toBe(1304.59)
})

test('an account in New York: reports and changes fall on the days of its own wall clock, in summer and in winter', async () => {
  // 1 March begins in New York.
  const client = await service.newAccount({ clockAt: '2027-03-01T05:00:00.000Z' })
  await done(client.put('/v1/account', { TimeZone: 'America/New_York' }))
  await addTax(client, 'Sales', { Perc: 0.08875 })
  const small = await addPackage(client, { name: 'Small' })
  const big = await addPackage(client, { name: 'Big', price: 62 })
  const calls = await addComponent(client, { name: 'Calls', type: 'metered', brackets: [[0.25, null]] })
  const componentUsage = [{ componentID: calls.componentID }]
  const { id, path, customerID } = await subscribeNew(client, { packageID: small.packageID, componentUsage })
  const call = (units: number, moment: string) => useOn(client, id, calls.componentID, units, moment)
  // The day on which clocks go forward has 23 hours and is one day: 14 to 31 March are 18 of 31.
  await moveTo(client, '2027-03-14T06:59:59Z')
  await done(client.put(`${path}/changepackage`, { packageID: big.packageID, When: 'now' }))
  await moveTo(client, '2027-04-01T03:59:59Z')
  await call(10, '2027-04-01T03:59:59Z') // 31 March, 23:59:59 in summer time.
  expect(await moveTo(client, '2027-04-01T04:00:00Z')).toMatchObject({ Invoices: 1 })
  await call(4, '2027-04-01T04:00:00Z')
  await moveTo(client, '2027-11-07T07:30:00Z')
  await call(2, '2027-11-07T01:30:00-04:00') // The hour that comes twice: both are 7 November.
  await call(2, '2027-11-07T01:30:00-05:00')
  await call(8, '2027-11-01T03:59:59Z') // 31 October, late.
  await call(1, '2027-11-01T04:00:00Z')
  await moveTo(client, '2027-12-01T04:59:59Z')
  await call(20, '2027-12-01T04:59:59Z') // 30 November, 23:59:59 in winter time.
  await moveTo(client, '2027-12-01T05:00:00Z')
  expect((await report(client, id, { componentID: calls.componentID, NumUnits: 1, Date: '2027-12-02' })).status).toBe(
    400,
  )
  await moveTo(client, '2028-02-29T12:00:00Z')
  expect(await notesOf(service, client)).toEqual(['CN-1 | 2027-03-14 for 1 | 18.00 + 1.60 = 19.60'])
  // 8.875 % of 31 is 2.75125, of 36 3.195, of 64.5 5.724375, of 63 5.59125, of 62 5.5025, of 70.25 6.2346875.
  const month = (number: number, from: string, until: string, isPast = true): string =>
    `${number} | ${from} due ${from} | Big ${from} to ${until}: 62 | Sales 5.5 | 67.5 | ${isPast ? 'Past Due' : 'Due'}`
  expect(await bookOf(client)).toEqual([
    '1 | 2027-03-01 due 2027-03-01 | Small 2027-03-01 to 2027-03-31: 31 | Sales 2.75 | 33.75 less 19.6 | Past Due',
    '2 | 2027-03-14 due 2027-03-14 | Big 2027-03-14 to 2027-03-31, 18 of 31 days: 36 | Sales 3.2 | 39.2 | Past Due',
    '3 | 2027-04-01 due 2027-04-01 | Big 2027-04-01 to 2027-04-30: 62 + Calls 2027-03-01 to 2027-03-31: 10 × 0.25 = 2.5 | Sales 5.72 | 70.22 | Past Due',
    '4 | 2027-05-01 due 2027-05-01 | Big 2027-05-01 to 2027-05-31: 62 + Calls 2027-04-01 to 2027-04-30: 4 × 0.25 = 1 | Sales 5.59 | 68.59 | Past Due',
    month(5, '2027-06-01', '2027-06-30'),
    month(6, '2027-07-01', '2027-07-31'),
    month(7, '2027-08-01', '2027-08-31'),
    month(8, '2027-09-01', '2027-09-30'),
    month(9, '2027-10-01', '2027-10-31'),
    month(10, '2027-11-01', '2027-11-30'),
    '11 | 2027-12-01 due 2027-12-01 | Big 2027-12-01 to 2027-12-31: 62 + Calls 2027-11-01 to 2027-11-30: 25 × 0.25 = 6.25 + Calls 2027-10-01 to 2027-10-31, late: 0 → 8 units: 2 | Sales 6.23 | 76.48 | Past Due',
    month(12, '2028-01-01', '2028-01-31'),
    month(13, '2028-02-01', '2028-02-29'),
  ])
  expect(await balanceOf(client, customerID)).toBe(33.75 - 19.6 + 39.2 + 70.22 + 68.59 + 8 * 67.5 + 76.48)
})
