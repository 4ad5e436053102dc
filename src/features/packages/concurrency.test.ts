import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { lockWaits, newGroup, newPackage, packageOf, rate, term, version } from './packages.testing.ts'

const service = await startTestService()

test('a subscription that is added while a price changes is sold what the version says afterwards', async () => {
  const client = await service.newAccount()
  const { packageID, PackageVersions } = await newPackage(client)
  const customer = await client.post('/v1/customers', { Name: 'Buyer', isCompany: true })
  const versionId = BigInt(PackageVersions[0].packageVersionID)
  const { request } = await service.db.transaction(client.id, async (tx) => {
    await tx.rows(sql`select 1 from packages where package_id = ${packageID} for update`)
    await tx.rows(sql`select 1 from package_versions where package_version_id = ${versionId} for update`)
    const adding = client.post('/v1/subscriptions', { customerID: customer.body.customerID, packageID })
    await lockWaits(service, 1)
    await tx.rows(
      sql`update package_rates set setup_fee_minor = 0, trial_fee_minor = 500, trial_period = 14 where package_version_id = ${versionId}`,
    )
    await tx.rows(sql`update package_rate_terms set price = 77 where package_rate_id in (
      select package_rate_id from package_rates where package_version_id = ${versionId})`)
    await tx.rows(sql`update package_versions set name = 'Edited' where package_version_id = ${versionId}`)
    return { request: adding }
  })
  const added = await request
  expect([added.status, added.body.TrialEndDate, added.body.comp_Status]).toEqual([
    201,
    '2027-01-15T00:00:00Z',
    'Trial',
  ])
  const [invoice] = (await client.get(`/v1/customers/${customer.body.customerID}/invoices`)).body
  expect(invoice.Total).toBe(5)
})

test('a version is edited after the subscription that was being added to it, and finds it in use', async () => {
  const client = await service.newAccount()
  const { packageID } = await newPackage(client)
  const customer = await client.post('/v1/customers', { Name: 'Buyer', isCompany: true })
  const changed = version({ packageVersionRates: [rate('USD', { PackageRateTerms: [term(99)] })] })
  const [added, edited, removed] = await Promise.all([
    client.post('/v1/subscriptions', { customerID: customer.body.customerID, packageID }),
    client.put(`/v1/packages/${packageID}/versions/1`, changed),
    client.delete(`/v1/packages/${packageID}`),
  ])
  // Whoever comes first, what was sold is what the version says.
  const read = await client.get(`/v1/packages/${packageID}`)
  const price = read.body.PackageVersions?.[0].packageVersionRates[0].PackageRateTerms[0].ChargePrice
  if (removed.status === 204) expect([read.status, added.status >= 400]).toEqual([404, true])
  else if (added.status === 201) {
    const [invoice] = (await client.get(`/v1/customers/${customer.body.customerID}/invoices`)).body
    expect([10 + price, edited.status === 204 ? 99 : 31]).toEqual([invoice.Total, price])
  }
})

test('a group that is deleted while a package enters it takes the package or refuses it, and never loses it', async () => {
  const client = await service.newAccount()
  const group = await newGroup(client)
  const [added, deleted] = await Promise.all([
    client.post('/v1/packages', packageOf(group)),
    client.delete(`/v1/packagegroups/${group}`),
  ])
  expect([
    [201, 409],
    [400, 204],
  ]).toContainEqual([added.status, deleted.status])
})
