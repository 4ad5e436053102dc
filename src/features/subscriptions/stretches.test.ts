import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer, moveTo, rowsOf } from '../../../test/support/shop.ts'

/** A period that a change cut off is never billed or credited again, whatever becomes of the terms after it. */

const service = await startTestService()

/** A quarter of 90.00, or ten days of 10.00, from 1 January 2027 until 1 March. */
async function quarterUntilMarch() {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const { packageGroupID } = (await client.post('/v1/packagegroups', { GroupName: 'Plans' })).body
  const quarter = { ChargePrice: 90, ChargeTerm: 3, ChargeTermType: 'months' }
  const tenDays = { ChargePrice: 10, ChargeTerm: 10, ChargeTermType: 'days' }
  const rate = { SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days' }
  const added = await client.post('/v1/packages', {
    packageGroupID,
    packageCode: 'P',
    Name: 'Plan',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: {
      VersionName: '1',
      isActive: true,
      isDefault: true,
      packageVersionRates: [{ CurrencyCode: 'USD', ...rate, PackageRateTerms: [quarter, tenDays] }],
    },
  })
  const customerID = await addCustomer(client)
  const wish = { customerID, packageID: added.body.packageID, Term: 3, TermType: 'months', EndDate: '2027-03-01' }
  const { subscriptionID } = (await client.post('/v1/subscriptions', wish)).body
  const put = async (what: string, body: object) =>
    expect((await client.put(`/v1/subscriptions/${subscriptionID}/${what}`, body)).text).toBe('')
  const pause = (word: string) => client.put(`/v1/customers/${customerID}/${word}`)
  return { client, put, pause }
}

const BEGINNING = [
  '2027-01-01: 2027-01-01 to 2027-02-28, 59 of 90 days 59 = 59',
  '2027-01-11: 2027-01-11 to 2027-01-20 10 = 10',
  '2027-01-21: 2027-01-21 to 2027-01-30 10 = 10',
  '2027-01-31: 2027-01-31 to 2027-02-09 10 = 10',
]

test('an end that moves later charges the running period alone, not the quarter that ten days had replaced', async () => {
  const { client, put } = await quarterUntilMarch()
  await moveTo(client, '2027-01-11')
  await put('changeterm', { Term: 10, TermType: 'days', When: 'now' })
  await moveTo(client, '2027-02-12')
  await put('changeterm', { Term: 3, TermType: 'months' })
  await moveTo(client, '2027-02-25')
  await put('changeenddate', { EndDate: null })
  // From 20 February 9 of 89 days, then the other 80.
  expect(await rowsOf(client)).toEqual([
    ...BEGINNING,
    '2027-02-10: 2027-02-10 to 2027-02-19 10 = 10',
    '2027-02-20: 2027-02-20 to 2027-02-28, 9 of 89 days 9.1 = 9.1',
    '2027-02-25: 2027-03-01 to 2027-05-19, 80 of 89 days 80.9 = 80.9',
  ])
})

test('nor where a suspension dropped the period that would be running', async () => {
  const { client, put, pause } = await quarterUntilMarch()
  await moveTo(client, '2027-01-11')
  await put('changeterm', { Term: 10, TermType: 'days', When: 'now' })
  await moveTo(client, '2027-02-08')
  await pause('suspend')
  await moveTo(client, '2027-02-12')
  await pause('unsuspend')
  await put('changeenddate', { EndDate: null })
  await moveTo(client, '2027-02-20')
  expect(await rowsOf(client)).toEqual([...BEGINNING, '2027-02-20: 2027-02-20 to 2027-03-01 10 = 10'])
})
