import { expect, test } from 'vitest'
import { addPackage, addTax, moveTo } from '../support/shop.ts'
import { addComponent, modify, TIERS } from '../../src/features/subscriptions/components.testing.ts'
import { startTestService } from '../support/app.ts'
import { balanceOf, bookOf, done, notesOf, subscribeNew, useOn } from './year.testing.ts'

/** Years of seats and usage, worked out by hand: every invoice and credit note, to the cent. */

const service = await startTestService()

async function accountAt(date: string, Perc: number) {
  const client = await service.newAccount({ clockAt: `${date}T08:00:00.000Z` })
  await addTax(client, 'VAT', { Perc })
  return client
}

test('messages in tiers with late, corrected and bulk reports, until the plan is cancelled and one more report arrives', async () => {
  const client = await accountAt('2027-01-01', 0.1)
  const { packageID } = await addPackage(client, { price: 20 })
  // 1–10 at 5, 11 and more at 4.
  const wish = { name: 'Messages', type: 'metered', scheme: 'tiered', brackets: TIERS } as const
  const { componentID } = await addComponent(client, wish)
  const { id, path, customerID } = await subscribeNew(client, { packageID, componentUsage: [{ componentID }] })
  const use = (units: number, date: string) => useOn(client, id, componentID, units, date)
  await moveTo(client, '2027-01-20')
  await use(5, '2027-01-10')
  await use(3, '2027-01-20')
  await moveTo(client, '2027-02-03')
  await use(5, '2027-01-31') // 13 in January: 62, of which 40 are invoiced.
  await moveTo(client, '2027-02-28')
  await use(12, '2027-02-28')
  await moveTo(client, '2027-04-15')
  await use(-3, '2027-02-28') // 9 in February: 45, of which 58 are invoiced.
  await moveTo(client, '2027-05-20')
  await use(30, '2027-05-20')
  await moveTo(client, '2027-06-02')
  await use(-30, '2027-05-20') // None in May: more back than July's 20, so it becomes a credit for the invoice of 1 June.
  await moveTo(client, '2027-08-31')
  const entry = (UsageKey: string, NumUnits: number) => ({ subscriptionID: id, componentID, UsageKey, NumUnits })
  const Usage = [entry('a', 6), entry('b', 7), entry('c', 8), entry('b', 7)]
  expect((await client.post('/v1/usage', { Usage })).body).toEqual({ Recorded: 3, Duplicates: 1 })
  await moveTo(client, '2027-09-30')
  await use(2.5, '2027-09-30')
  await moveTo(client, '2027-10-31T23:59:59Z')
  await use(5, '2027-10-31T23:59:58Z')
  await moveTo(client, '2027-12-10')
  await use(3, '2027-12-10')
  await moveTo(client, '2027-12-15')
  await use(1, '2027-11-03')
  await moveTo(client, '2027-12-20')
  await done(client.put(`${path}/cancel/norefund`, {}))
  await moveTo(client, '2027-12-28')
  await use(2, '2027-12-18') // 5 in December: 25, of which 15 are invoiced. The next run is that of the same day.
  await moveTo(client, '2027-12-31')
  expect(await bookOf(client)).toEqual([
    '1 | 2027-01-01 due 2027-01-01 | Plan 2027-01-01 to 2027-01-31: 20 | VAT 2 | 22 | Past Due',
    '2 | 2027-02-01 due 2027-02-01 | Plan 2027-02-01 to 2027-02-28: 20 + Messages 2027-01-01 to 2027-01-31: 8 × 5 = 40 | VAT 6 | 66 | Past Due',
    '3 | 2027-03-01 due 2027-03-01 | Plan 2027-03-01 to 2027-03-31: 20 + Messages 2027-02-01 to 2027-02-28: 10 × 5 = 50 + Messages 2027-02-01 to 2027-02-28: 2 × 4 = 8 + Messages 2027-01-01 to 2027-01-31, late: 8 → 13 units: 22 | VAT 10 | 110 | Past Due',
    '4 | 2027-04-01 due 2027-04-01 | Plan 2027-04-01 to 2027-04-30: 20 | VAT 2 | 22 | Past Due',
    '5 | 2027-05-01 due 2027-05-01 | Plan 2027-05-01 to 2027-05-31: 20 + Messages 2027-02-01 to 2027-02-28, late: 12 → 9 units: -13 | VAT 0.7 | 7.7 | Past Due',
    '6 | 2027-06-01 due 2027-06-01 | Plan 2027-06-01 to 2027-06-30: 20 + Messages 2027-05-01 to 2027-05-31: 10 × 5 = 50 + Messages 2027-05-01 to 2027-05-31: 20 × 4 = 80 | VAT 15 | 165 less 143 | Past Due',
    '7 | 2027-07-01 due 2027-07-01 | Plan 2027-07-01 to 2027-07-31: 20 | VAT 2 | 22 | Past Due',
    '8 | 2027-08-01 due 2027-08-01 | Plan 2027-08-01 to 2027-08-31: 20 | VAT 2 | 22 | Past Due',
    '9 | 2027-09-01 due 2027-09-01 | Plan 2027-09-01 to 2027-09-30: 20 + Messages 2027-08-01 to 2027-08-31: 10 × 5 = 50 + Messages 2027-08-01 to 2027-08-31: 11 × 4 = 44 | VAT 11.4 | 125.4 | Past Due',
    '10 | 2027-10-01 due 2027-10-01 | Plan 2027-10-01 to 2027-10-31: 20 + Messages 2027-09-01 to 2027-09-30: 2.5 × 5 = 12.5 | VAT 3.25 | 35.75 | Past Due',
    '11 | 2027-11-01 due 2027-11-01 | Plan 2027-11-01 to 2027-11-30: 20 + Messages 2027-10-01 to 2027-10-31: 5 × 5 = 25 | VAT 4.5 | 49.5 | Past Due',
    '12 | 2027-12-01 due 2027-12-01 | Plan 2027-12-01 to 2027-12-31: 20 | VAT 2 | 22 | Past Due',
    '13 | 2027-12-20 due 2027-12-20 | Messages 2027-12-01 to 2027-12-19: 3 × 5 = 15 + Messages 2027-11-01 to 2027-11-30, late: 0 → 1 unit: 5 | VAT 2 | 22 | Past Due',
    '14 | 2027-12-28 due 2027-12-28 | Messages 2027-12-01 to 2027-12-19, late: 3 → 5 units: 10 | VAT 1 | 11 | Past Due',
  ])
  expect(await notesOf(service, client)).toEqual(['CN-1 | 2027-07-01 for 6 | 130.00 + 13.00 = 143.00'])
  expect(await balanceOf(client, customerID)).toBe(559.35)
  const used = (await client.get(`${path}/usage?from=2027-01-01&to=2027-12-31`)).body
  expect(used.reduce((sum: number, { NumUnits }: any) => sum + NumUnits, 0)).toBe(56.5)
  // Each report names the invoice that charged it; what became a credit has none.
  expect(used.map(({ invoiceID }: any) => invoiceID)).toEqual([2, 2, 3, 3, 5, 6, null, 9, 9, 9, 10, 11, 13, 13, 14])
})

test('seats go up, down, up, away, come back and end with a rise that is owed', async () => {
  const client = await accountAt('2027-01-01', 0.15)
  const { packageID } = await addPackage(client, {})
  const { componentID } = await addComponent(client)
  const wish = { packageID, componentUsage: [{ componentID, NumUnits: 5 }] }
  const { id, path, customerID } = await subscribeNew(client, wish)
  const seats = async (date: string, NumUnits: number, more: object = {}) => {
    await moveTo(client, date)
    await done(modify(client, id, NumUnits === 0 ? [] : [{ componentID, NumUnits }], more))
  }
  await seats('2027-01-11', 10) // 5 × 3.10 × 21/31 = 10.50, with the next invoice.
  await seats('2027-01-15', 4)
  await seats('2027-01-20', 8) // Ten are charged already.
  await seats('2027-03-10', 12, { When: 'now' }) // 4 × 3.10 × 22/31 = 8.80, at once.
  await seats('2027-03-20', 2)
  await seats('2027-04-16', 3) // 3.10 × 15/30.
  await seats('2027-06-10', 0)
  await seats('2027-08-11', 6) // From none: 6 × 3.10 × 21/31 = 12.60.
  await seats('2027-09-21', 10) // 4 × 3.10 × 10/30 = 4.1333.
  await seats('2027-11-16', 20) // 31.00 × 15/30, but only five of those days are used: 5.1667.
  await moveTo(client, '2027-11-21')
  // Ten of thirty days of the plan and of ten seats come back: 10.33 twice; 15 % of 20.66 is 3.099.
  await done(client.put(`${path}/cancel/prorata`, {}))
  expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 0 })
  expect(await bookOf(client)).toEqual([
    '1 | 2027-01-01 due 2027-01-01 | Plan 2027-01-01 to 2027-01-31: 31 + Seats 2027-01-01 to 2027-01-31: 5 × 3.1 = 15.5 | VAT 6.98 | 53.48 | Past Due',
    '2 | 2027-02-01 due 2027-02-01 | Plan 2027-02-01 to 2027-02-28: 31 + Seats 2027-02-01 to 2027-02-28: 8 × 3.1 = 24.8 + Seats 2027-01-11 to 2027-01-31, 21 of 31 days, 5 → 10 units: 10.5 | VAT 9.95 | 76.25 | Past Due',
    '3 | 2027-03-01 due 2027-03-01 | Plan 2027-03-01 to 2027-03-31: 31 + Seats 2027-03-01 to 2027-03-31: 8 × 3.1 = 24.8 | VAT 8.37 | 64.17 | Past Due',
    '4 | 2027-03-10 due 2027-03-10 | Seats 2027-03-10 to 2027-03-31, 22 of 31 days, 8 → 12 units: 8.8 | VAT 1.32 | 10.12 | Past Due',
    '5 | 2027-04-01 due 2027-04-01 | Plan 2027-04-01 to 2027-04-30: 31 + Seats 2027-04-01 to 2027-04-30: 2 × 3.1 = 6.2 | VAT 5.58 | 42.78 | Past Due',
    '6 | 2027-05-01 due 2027-05-01 | Plan 2027-05-01 to 2027-05-31: 31 + Seats 2027-05-01 to 2027-05-31: 3 × 3.1 = 9.3 + Seats 2027-04-16 to 2027-04-30, 15 of 30 days, 2 → 3 units: 1.55 | VAT 6.28 | 48.13 | Past Due',
    '7 | 2027-06-01 due 2027-06-01 | Plan 2027-06-01 to 2027-06-30: 31 + Seats 2027-06-01 to 2027-06-30: 3 × 3.1 = 9.3 | VAT 6.05 | 46.35 | Past Due',
    '8 | 2027-07-01 due 2027-07-01 | Plan 2027-07-01 to 2027-07-31: 31 | VAT 4.65 | 35.65 | Past Due',
    '9 | 2027-08-01 due 2027-08-01 | Plan 2027-08-01 to 2027-08-31: 31 | VAT 4.65 | 35.65 | Past Due',
    '10 | 2027-09-01 due 2027-09-01 | Plan 2027-09-01 to 2027-09-30: 31 + Seats 2027-09-01 to 2027-09-30: 6 × 3.1 = 18.6 + Seats 2027-08-11 to 2027-08-31, 21 of 31 days, 0 → 6 units: 12.6 | VAT 9.33 | 71.53 | Past Due',
    '11 | 2027-10-01 due 2027-10-01 | Plan 2027-10-01 to 2027-10-31: 31 + Seats 2027-10-01 to 2027-10-31: 10 × 3.1 = 31 + Seats 2027-09-21 to 2027-09-30, 10 of 30 days, 6 → 10 units: 4.13 | VAT 9.92 | 76.05 | Past Due',
    '12 | 2027-11-01 due 2027-11-01 | Plan 2027-11-01 to 2027-11-30: 31 + Seats 2027-11-01 to 2027-11-30: 10 × 3.1 = 31 | VAT 9.3 | 71.3 less 23.76 | Past Due',
    '13 | 2027-11-21 due 2027-11-21 | Seats 2027-11-16 to 2027-11-20, 5 of 30 days, 10 → 20 units: 5.17 | VAT 0.78 | 5.95 | Past Due',
  ])
  expect(await notesOf(service, client)).toEqual(['CN-1 | 2027-11-21 for 12 | 20.66 + 3.10 = 23.76'])
  expect(await balanceOf(client, customerID)).toBe(613.65)
})
