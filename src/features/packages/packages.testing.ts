import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

/** Packages as tests send them, and subscriptions that name them. */

export const term = (ChargePrice: number, ChargeTerm = 1, ChargeTermType = 'months') => ({
  ChargePrice,
  ChargeTerm,
  ChargeTermType,
})

export const rate = (CurrencyCode = 'USD', changes: object = {}) => ({
  CurrencyCode,
  SetupFee: 10,
  TrialFee: 0,
  TrialPeriod: 0,
  TrialPeriodType: 'days',
  PackageRateTerms: [term(31)],
  ...changes,
})

export const version = (changes: object = {}) => ({
  VersionName: 'First',
  isActive: true,
  isDefault: true,
  packageVersionRates: [rate()],
  ...changes,
})

export async function newGroup(client: TestClient, name = 'Plans'): Promise<number> {
  return (await client.post('/v1/packagegroups', { GroupName: name })).body.packageGroupID
}

export const packageOf = (packageGroupID: number, changes: object = {}) => ({
  packageGroupID,
  packageCode: 'P31',
  Name: 'Plan',
  Descrip: 'A plan',
  isActive: true,
  PackageVersion: version(),
  ...changes,
})

export async function newPackage(client: TestClient, changes: object = {}) {
  const added = await client.post('/v1/packages', packageOf(await newGroup(client), changes))
  expect(added.status).toBe(201)
  return added.body
}

export const fieldsOf = (reply: { body: { Errors: { Field: string }[] } }) =>
  reply.body.Errors.map(({ Field }) => Field).sort()

/** Subscriptions are written straight to the tables: this feature only reads what names a version. */
export async function subscribe(
  service: TestService,
  client: TestClient,
  bought: { packageID: number; packageVersionID: number; packageRateTermID: number },
  changes: { start?: string; end?: string | null; cancelled?: string | null; pendingVersion?: number } = {},
): Promise<void> {
  const customer = await client.post('/v1/customers', { Name: 'Buyer', isCompany: true })
  const start = changes.start ?? '2026-06-01'
  await service.db.transaction(client.id, async (tx) => {
    const added = await tx.one<{ id: bigint }>(sql`
      insert into subscriptions (account_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date,
        end_date, anchor, anchor_day, term, term_type, is_pro_rata, lead_days, cancelled_on, pending_kind, pending_on,
        pending_package_version_id, created_at, last_modified)
      values (${client.id}, ${customer.body.customerID}, ${bought.packageID}, ${bought.packageVersionID}, ${bought.packageRateTermID}, 'USD',
        ${start}, ${changes.end ?? null}, ${start}, 1, 1, 'months', true, 0, ${changes.cancelled ?? null},
        ${changes.pendingVersion === undefined ? null : 'package'}, ${changes.pendingVersion === undefined ? null : '2027-02-01'},
        ${changes.pendingVersion ?? null}, now(), now())
      returning subscription_id as "id"`)
    await tx.rows(sql`
      insert into subscription_billing (account_id, subscription_id, customer_id, next_from)
      values (${client.id}, ${added.id}, ${customer.body.customerID}, ${start}::date)`)
  })
}

export const boughtOf = (body: any, position = 0) => ({
  packageID: body.packageID as number,
  packageVersionID: body.PackageVersions[position].packageVersionID as number,
  packageRateTermID: body.PackageVersions[position].packageVersionRates[0].PackageRateTerms[0]
    .packageRateTermID as number,
})

/** Waits until as many requests of this file's database wait for locks: the ones under test must be the only ones there. */
export async function lockWaits(service: TestService, count: number): Promise<void> {
  for (;;) {
    const { waiting } = await service.db.unscoped.one<{ waiting: number }>(sql`
      select count(distinct l.pid)::int as "waiting" from pg_locks l join pg_stat_activity a on a.pid = l.pid
       where not l.granted and a.datname = current_database()`)
    if (waiting >= count) return
  }
}
