import { expect, test } from 'vitest'
import { addPackage, addTax, day, moveTo } from '../support/shop.ts'
import { startTestService } from '../support/app.ts'
import { balanceOf, bookOf, done, notesOf, subscribeNew } from './year.testing.ts'

/** Years of plans that change, worked out by hand: every invoice and credit note, to the cent. VAT is 15 %. */

const service = await startTestService()

async function accountAt(date: string) {
  const client = await service.newAccount({ clockAt: `${date}T08:00:00.000Z` })
  await addTax(client, 'VAT', { Perc: 0.15 })
  return client
}

test('yearly plans over 29 February keep their version until they change to the new one, now or at renewal', async () => {
  const client = await accountAt('2027-03-01')
  const { packageID } = await addPackage(client, { price: 1200, term: 12 })
  const ada = await subscribeNew(client, { packageID })
  const bob = await subscribeNew(client, { packageID })
  await moveTo(client, '2027-12-31')
  const dearer = {
    VersionName: 'second',
    isActive: true,
    isDefault: true,
    packageVersionRates: [
      {
        CurrencyCode: 'USD',
        SetupFee: 0,
        TrialFee: 0,
        TrialPeriod: 0,
        TrialPeriodType: 'days',
        PackageRateTerms: [{ ChargePrice: 1500, ChargeTerm: 12, ChargeTermType: 'months' }],
      },
    ],
  }
  expect((await client.post(`/v1/packages/${packageID}/versions`, dearer)).body.isDefault).toBe(true)
  expect((await ada.read()).packageVersionNumber).toBe(1)
  // 31 December to 29 February are 1 + 31 + 29 = 61 of 366 days, a sixth: 200.00 back, 250.00 anew.
  await done(client.put(`${ada.path}/changepackage`, { packageID, When: 'now' }))
  await moveTo(client, '2028-02-29')
  const cyd = await subscribeNew(client, { packageID })
  await moveTo(client, '2028-06-01')
  await done(client.put(`${bob.path}/changepackage`, { packageID, packageVersionNumber: 2 }))
  expect(day((await bob.read()).futureChange.Date)).toBe('2029-03-01')
  await moveTo(client, '2029-03-01')
  expect(await bookOf(client)).toEqual([
    '1 | 2027-03-01 due 2027-03-01 | Plan 2027-03-01 to 2028-02-29: 1200 | VAT 180 | 1380 less 230 | Past Due',
    '2 | 2027-03-01 due 2027-03-01 | Plan 2027-03-01 to 2028-02-29: 1200 | VAT 180 | 1380 | Past Due',
    '3 | 2027-12-31 due 2027-12-31 | Plan 2027-12-31 to 2028-02-29, 61 of 366 days: 250 | VAT 37.5 | 287.5 | Past Due',
    '4 | 2028-02-29 due 2028-02-29 | Plan 2028-02-29 to 2029-02-27: 1500 | VAT 225 | 1725 | Past Due',
    '5 | 2028-03-01 due 2028-03-01 | Plan 2028-03-01 to 2029-02-28: 1500 | VAT 225 | 1725 | Past Due',
    '6 | 2028-03-01 due 2028-03-01 | Plan 2028-03-01 to 2029-02-28: 1200 | VAT 180 | 1380 | Past Due',
    '7 | 2029-02-28 due 2029-02-28 | Plan 2029-02-28 to 2030-02-27: 1500 | VAT 225 | 1725 | Past Due',
    '8 | 2029-03-01 due 2029-03-01 | Plan 2029-03-01 to 2030-02-28: 1500 | VAT 225 | 1725 | Due',
    '9 | 2029-03-01 due 2029-03-01 | Plan 2029-03-01 to 2030-02-28: 1500 | VAT 225 | 1725 | Due',
  ])
  expect(await notesOf(service, client)).toEqual(['CN-1 | 2027-12-31 for 1 | 200.00 + 30.00 = 230.00'])
  expect(await balanceOf(client, ada.customerID)).toBe(1380 - 230 + 287.5 + 1725 + 1725)
  expect(await balanceOf(client, bob.customerID)).toBe(1380 + 1380 + 1725)
  expect(await balanceOf(client, cyd.customerID)).toBe(1725 + 1725)
  expect(await bob.read()).toMatchObject({ packageVersionNumber: 2, isFutureChange: false, futureChange: null })
})

test('a trial, an upgrade now, a downgrade at renewal that is dropped, a cancellation pro rata', async () => {
  const client = await accountAt('2027-01-01')
  const small = await addPackage(client, { name: 'Small', setupFee: 10, trialFee: 5, trialPeriod: 14 })
  const big = await addPackage(client, { name: 'Big', price: 62, setupFee: 99, trialPeriod: 30 })
  const ada = await subscribeNew(client, { packageID: small.packageID })
  expect(await ada.read()).toMatchObject({ comp_Status: 'Trial', nextRenewDate: '2027-01-15T00:00:00Z' })
  await moveTo(client, '2027-03-01')
  // 1 to 14 March are 14 of the 28 days from 15 February: half of 31.00 back, half of 62.00 anew. 15 % of 15.50 is 2.325.
  await done(client.put(`${ada.path}/changepackage`, { packageID: big.packageID, When: 'now' }))
  expect(await ada.read()).toMatchObject({ PackageName: 'Big', nextRenewDate: '2027-03-15T00:00:00Z' })
  await moveTo(client, '2027-04-20')
  await done(client.put(`${ada.path}/changepackage`, { packageID: small.packageID }))
  expect((await ada.read()).futureChange).toMatchObject({ Kind: 'package', Date: '2027-05-15T00:00:00Z' })
  await moveTo(client, '2027-05-14')
  await done(client.delete(`${ada.path}/futurechanges`))
  await moveTo(client, '2027-12-01')
  // 1 to 14 December are 14 of 30 days: 62 × 14/30 = 28.9333; 15 % of 28.93 is 4.3395.
  await done(client.put(`${ada.path}/cancel/prorata`, { Reason: 'moved' }))
  expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 0 })
  expect(await bookOf(client)).toEqual([
    '1 | 2027-01-01 due 2027-01-01 | Set-up fee: 10 + Trial fee: 5 | VAT 2.25 | 17.25 | Past Due',
    '2 | 2027-01-15 due 2027-01-15 | Small 2027-01-15 to 2027-02-14: 31 | VAT 4.65 | 35.65 | Past Due',
    '3 | 2027-02-15 due 2027-02-15 | Small 2027-02-15 to 2027-03-14: 31 | VAT 4.65 | 35.65 less 17.83 | Past Due',
    '4 | 2027-03-01 due 2027-03-01 | Big 2027-03-01 to 2027-03-14, 14 of 28 days: 31 | VAT 4.65 | 35.65 | Past Due',
    '5 | 2027-03-15 due 2027-03-15 | Big 2027-03-15 to 2027-04-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '6 | 2027-04-15 due 2027-04-15 | Big 2027-04-15 to 2027-05-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '7 | 2027-05-15 due 2027-05-15 | Big 2027-05-15 to 2027-06-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '8 | 2027-06-15 due 2027-06-15 | Big 2027-06-15 to 2027-07-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '9 | 2027-07-15 due 2027-07-15 | Big 2027-07-15 to 2027-08-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '10 | 2027-08-15 due 2027-08-15 | Big 2027-08-15 to 2027-09-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '11 | 2027-09-15 due 2027-09-15 | Big 2027-09-15 to 2027-10-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '12 | 2027-10-15 due 2027-10-15 | Big 2027-10-15 to 2027-11-14: 62 | VAT 9.3 | 71.3 | Past Due',
    '13 | 2027-11-15 due 2027-11-15 | Big 2027-11-15 to 2027-12-14: 62 | VAT 9.3 | 71.3 less 33.27 | Past Due',
  ])
  expect(await notesOf(service, client)).toEqual([
    'CN-1 | 2027-03-01 for 3 | 15.50 + 2.33 = 17.83',
    'CN-2 | 2027-12-01 for 13 | 28.93 + 4.34 = 33.27',
  ])
  // 17.25 + 3 × 35.65 + 9 × 71.30 = 765.90, less 51.10.
  expect(await balanceOf(client, ada.customerID)).toBe(714.8)
  expect(await ada.read()).toMatchObject({
    comp_Status: 'Cancelled',
    CancelReason: 'moved',
    EndDate: '2027-12-01T00:00:00Z',
  })
})

/** Months invoiced seven days ahead until July is; due on the first day of their month. */
const aheadUntilJuly = (last: { june: string; july: string }, number: (month: number) => number): string[] => [
  `${number(1)} | 2027-01-01 due 2027-01-01 | Plan 2027-01-01 to 2027-01-31: 31 | VAT 4.65 | 35.65 | Past Due`,
  `${number(2)} | 2027-01-25 due 2027-02-01 | Plan 2027-02-01 to 2027-02-28: 31 | VAT 4.65 | 35.65 | Past Due`,
  `${number(3)} | 2027-02-22 due 2027-03-01 | Plan 2027-03-01 to 2027-03-31: 31 | VAT 4.65 | 35.65 | Past Due`,
  `${number(4)} | 2027-03-25 due 2027-04-01 | Plan 2027-04-01 to 2027-04-30: 31 | VAT 4.65 | 35.65 | Past Due`,
  `${number(5)} | 2027-04-24 due 2027-05-01 | Plan 2027-05-01 to 2027-05-31: 31 | VAT 4.65 | 35.65 | Past Due`,
  `${number(6)} | 2027-05-25 due 2027-06-01 | Plan 2027-06-01 to 2027-06-30: 31 | VAT 4.65 | 35.65${last.june}`,
  `${number(7)} | 2027-06-24 due 2027-07-01 | Plan 2027-07-01 to 2027-07-31: 31 | VAT 4.65 | 35.65${last.july}`,
]

test('three cancellations on 26 June, after July was invoiced ahead; one of them comes back in September', async () => {
  const client = await accountAt('2027-01-01')
  const { packageID } = await addPackage(client, {})
  const lead = { packageID, numDaysBeforeToInv: 7 }
  const prorata = await subscribeNew(client, lead)
  const norefund = await subscribeNew(client, lead)
  const fullcredit = await subscribeNew(client, lead)
  await moveTo(client, '2027-06-26')
  for (const [{ path }, kind] of [
    [prorata, 'prorata'],
    [norefund, 'norefund'],
    [fullcredit, 'fullcredit'],
  ] as const)
    await done(client.put(`${path}/cancel/${kind}`, {}))
  await moveTo(client, '2027-09-10')
  await done(client.put(`${norefund.path}/reactivate`, {}))
  expect(await moveTo(client, '2027-12-31')).toMatchObject({ Invoices: 3 })
  const three = (first: number) => (month: number) => first + 3 * (month - 1)
  // 26 to 30 June are 5 of 30 days: 5.1667, and 15 % of 5.17 is 0.7755. July comes back whole.
  expect(await bookOf(client, `subscriptionID=${prorata.id}`)).toEqual(
    aheadUntilJuly({ june: ' less 5.95 | Past Due', july: ' less 35.65 | Paid' }, three(1)),
  )
  expect(await bookOf(client, `subscriptionID=${norefund.id}`)).toEqual([
    ...aheadUntilJuly({ june: ' | Past Due', july: ' less 35.65 | Paid' }, three(2)),
    '22 | 2027-09-10 due 2027-09-10 | Plan 2027-09-10 to 2027-10-09: 31 | VAT 4.65 | 35.65 | Past Due',
    '23 | 2027-10-03 due 2027-10-10 | Plan 2027-10-10 to 2027-11-09: 31 | VAT 4.65 | 35.65 | Past Due',
    '24 | 2027-11-03 due 2027-11-10 | Plan 2027-11-10 to 2027-12-09: 31 | VAT 4.65 | 35.65 | Past Due',
    '25 | 2027-12-03 due 2027-12-10 | Plan 2027-12-10 to 2028-01-09: 31 | VAT 4.65 | 35.65 | Past Due',
  ])
  expect(await bookOf(client, `subscriptionID=${fullcredit.id}`)).toEqual(
    aheadUntilJuly({ june: ' less 35.65 | Paid', july: ' less 35.65 | Paid' }, three(3)),
  )
  expect(await notesOf(service, client)).toEqual([
    'CN-1 | 2027-06-26 for 16 | 5.17 + 0.78 = 5.95',
    'CN-2 | 2027-06-26 for 19 | 31.00 + 4.65 = 35.65',
    'CN-3 | 2027-06-26 for 20 | 31.00 + 4.65 = 35.65',
    'CN-4 | 2027-06-26 for 18 | 31.00 + 4.65 = 35.65',
    'CN-5 | 2027-06-26 for 21 | 31.00 + 4.65 = 35.65',
  ])
  // Six, ten and five months of 35.65 are left, less the five days of June.
  expect(await balanceOf(client, prorata.customerID)).toBe(207.95)
  expect(await balanceOf(client, norefund.customerID)).toBe(356.5)
  expect(await balanceOf(client, fullcredit.customerID)).toBe(178.25)
})
