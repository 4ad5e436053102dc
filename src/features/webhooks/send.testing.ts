import type { TestClient } from '../../../test/support/app.ts'
import { newPackage, rate, version } from '../packages/packages.testing.ts'

/** Lets the runs of a moved clock issue two invoices of one customer. */
export async function issuedByRuns(client: TestClient): Promise<void> {
  const PackageVersion = version({ packageVersionRates: [rate('USD', { SetupFee: 0 })] })
  const { packageID } = await newPackage(client, { PackageVersion })
  const customer = { Name: 'Acme', isCompany: true, PaymentMethod: 'eft' }
  const { customerID } = (await client.post('/v1/customers', customer)).body
  const wish = { customerID, packageID, Term: 1, TermType: 'months', StartDate: '2027-02-01' }
  await client.post('/v1/subscriptions', wish)
  await client.put('/v1/clock', { Now: '2027-03-15' })
}
