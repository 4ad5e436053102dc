import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../support/app.ts'
import { bookOf, notesOf } from './year.testing.ts'

const service = await startTestService()

/** A package of 29.99 a month with VAT, and a customer with thirty days to pay, as a small shop would set them up. */
async function shop(client: TestClient) {
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const group = await client.post('/v1/packagegroups', { GroupName: 'Plans' })
  const added = await client.post('/v1/packages', {
    packageGroupID: group.body.packageGroupID,
    packageCode: 'P30',
    Name: 'Plan 30',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [
        {
          CurrencyCode: 'USD',
          SetupFee: 0,
          TrialFee: 0,
          TrialPeriod: 0,
          TrialPeriodType: 'days',
          PackageRateTerms: [{ ChargePrice: 29.99, ChargeTerm: 1, ChargeTermType: 'months' }],
        },
      ],
    },
  })
  expect(added.text).toContain('packageID')
  const customer = await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace', PaymentTermDays: 30 })
  return { packageID: added.body.packageID, customerID: customer.body.customerID }
}

test('a monthly plan from 31 January is billed on the last days of the months of its year', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-31T08:00:00.000Z' })
  const { packageID, customerID } = await shop(client)
  const added = await client.post('/v1/subscriptions', { customerID, packageID })
  expect(added.status).toBe(201)
  expect(added.body).toMatchObject({
    comp_Status: 'Active',
    nextRenewDate: '2027-02-28T00:00:00Z',
    lastInvDate: '2027-01-31T00:00:00Z',
  })
  const moved = await client.put('/v1/clock', { Now: '2028-01-30T12:00:00Z' })
  expect(moved.status).toBe(200)
  expect(moved.body).toMatchObject({ Invoices: 11, Renewals: 11, Expired: 0, Failed: [], Days: 364 })
  // 15 % of 29.99 is 4.4985. Thirty days to pay: the last invoice is due today, and not past due.
  expect(await bookOf(client)).toEqual([
    '1 | 2027-01-31 due 2027-03-02 | Plan 30 2027-01-31 to 2027-02-27: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '2 | 2027-02-28 due 2027-03-30 | Plan 30 2027-02-28 to 2027-03-30: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '3 | 2027-03-31 due 2027-04-30 | Plan 30 2027-03-31 to 2027-04-29: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '4 | 2027-04-30 due 2027-05-30 | Plan 30 2027-04-30 to 2027-05-30: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '5 | 2027-05-31 due 2027-06-30 | Plan 30 2027-05-31 to 2027-06-29: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '6 | 2027-06-30 due 2027-07-30 | Plan 30 2027-06-30 to 2027-07-30: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '7 | 2027-07-31 due 2027-08-30 | Plan 30 2027-07-31 to 2027-08-30: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '8 | 2027-08-31 due 2027-09-30 | Plan 30 2027-08-31 to 2027-09-29: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '9 | 2027-09-30 due 2027-10-30 | Plan 30 2027-09-30 to 2027-10-30: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '10 | 2027-10-31 due 2027-11-30 | Plan 30 2027-10-31 to 2027-11-29: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '11 | 2027-11-30 due 2027-12-30 | Plan 30 2027-11-30 to 2027-12-30: 29.99 | VAT 4.5 | 34.49 | Past Due',
    '12 | 2027-12-31 due 2028-01-30 | Plan 30 2027-12-31 to 2028-01-30: 29.99 | VAT 4.5 | 34.49 | Due',
  ])
  expect(await notesOf(service, client)).toEqual([])
  const customer = await client.get(`/v1/customers/${customerID}`)
  expect(customer.body).toMatchObject({ Balance: 413.88, ActiveSubs: 1 })
})
