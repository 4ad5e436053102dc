import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../support/app.ts'

const service = await startTestService()

/** A package of 31.00 a month with VAT, as a small shop would set it up. */
async function shop(
  client: TestClient,
  terms = [{ ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' }],
  rate: object = {},
) {
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const group = await client.post('/v1/packagegroups', { GroupName: 'Plans' })
  const added = await client.post('/v1/packages', {
    packageGroupID: group.body.packageGroupID,
    packageCode: 'P31',
    Name: 'Plan 31',
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
          PackageRateTerms: terms,
          ...rate,
        },
      ],
    },
  })
  expect(added.text).toContain('packageID')
  const customer = await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace' })
  return { packageID: added.body.packageID, customerID: customer.body.customerID }
}

const lines = (invoices: any[]) =>
  invoices.map((invoice) => [
    invoice.InvoiceDate.slice(0, 10),
    invoice.Charges.map((charge: any) => `${charge.Descrip} ${charge.AmountEx}`).join('; '),
    invoice.Total,
  ])

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
  const { body: invoices } = await client.get(`/v1/invoices?customerID=${customerID}`)
  expect(lines(invoices)).toEqual([
    ['2027-01-31', '2027-01-31 to 2027-02-27 31', 35.65],
    ['2027-02-28', '2027-02-28 to 2027-03-30 31', 35.65],
    ['2027-03-31', '2027-03-31 to 2027-04-29 31', 35.65],
    ['2027-04-30', '2027-04-30 to 2027-05-30 31', 35.65],
    ['2027-05-31', '2027-05-31 to 2027-06-29 31', 35.65],
    ['2027-06-30', '2027-06-30 to 2027-07-30 31', 35.65],
    ['2027-07-31', '2027-07-31 to 2027-08-30 31', 35.65],
    ['2027-08-31', '2027-08-31 to 2027-09-29 31', 35.65],
    ['2027-09-30', '2027-09-30 to 2027-10-30 31', 35.65],
    ['2027-10-31', '2027-10-31 to 2027-11-29 31', 35.65],
    ['2027-11-30', '2027-11-30 to 2027-12-30 31', 35.65],
    ['2027-12-31', '2027-12-31 to 2028-01-30 31', 35.65],
  ])
  expect(invoices.map((invoice: any) => invoice.invoiceNum)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  const customer = await client.get(`/v1/customers/${customerID}`)
  expect(customer.body).toMatchObject({ Balance: 427.8, ActiveSubs: 1 })
})
