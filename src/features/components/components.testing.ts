import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { boughtOf, newGroup, newPackage, subscribe } from '../packages/packages.testing.ts'

/** Components as tests send them, and subscriptions that name them. */

export const bracket = (Price: number, QtyFrom = 1, QtyTill: number | string | null = null) => ({
  Price,
  QtyFrom,
  QtyTill,
})

export const prices = (CurrencyCode = 'USD', brackets: object[] = [bracket(5, 1, 10), bracket(4, 11)]) => ({
  CurrencyCode,
  ComponentBracketPrices: brackets,
})

export const version = (changes: object = {}) => ({
  VersionName: 'First',
  isActive: true,
  isDefault: true,
  ComponentVersionCurrencies: [prices()],
  ...changes,
})

export const componentOf = (packageGroupID: number, changes: object = {}) => ({
  ComponentCode: 'SEAT',
  Name: 'Seats',
  Type: 'quantity',
  Scheme: 'tiered',
  UnitName: 'per seat',
  packageGroupID,
  Term: 1,
  TermType: 'months',
  Descrip: 'People who may sign in',
  isActive: true,
  ComponentVersion: { VersionName: 'First', ComponentVersionCurrencies: [prices()] },
  ...changes,
})

export async function newComponent(client: TestClient, changes: object = {}) {
  const added = await client.post('/v1/components', componentOf(await newGroup(client, 'Extras'), changes))
  expect(added.status).toBe(201)
  return added.body
}

export async function accountWith(service: TestService, ...codes: string[]): Promise<TestClient> {
  const client = await service.newAccount()
  for (const CurrencyCode of codes) await client.post('/v1/currencies', { CurrencyCode })
  return client
}

/** A row that names a component, written straight to the table: this feature only reads what is in use. */
export const nameComponent = (
  subscription: bigint,
  named: { componentID: number; versionID: number; pendingID?: number },
) => sql`
  insert into subscription_components (account_id, subscription_id, component_id, component_version_id, pending_component_version_id, quantity,
    anchor, anchor_day, stretch, charges_from, next_from, versions)
  select account_id, subscription_id, ${named.componentID}, ${named.versionID}, ${named.pendingID ?? null}::bigint, 0, anchor, anchor_day, stretch,
         start_date, start_date, '[]'
    from subscriptions where subscription_id = ${subscription}
  returning 1`

/** A subscription of a package of its own; an ended one when so wished. */
export async function newSubscription(
  service: TestService,
  client: TestClient,
  changes: { cancelled?: string } = {},
): Promise<bigint> {
  await subscribe(service, client, boughtOf(await newPackage(client)), changes)
  const [row] = await service.db
    .reader(client.id)
    .rows<{ id: bigint }>(sql`select max(subscription_id) as "id" from subscriptions where account_id = ${client.id}`)
  return row?.id as bigint
}

/** Makes a subscription name a component's version, now or by a pending change. */
export async function attach(
  service: TestService,
  client: TestClient,
  named: { componentID: number; versionID: number; pendingID?: number },
  changes: { cancelled?: string } = {},
): Promise<void> {
  const subscription = await newSubscription(service, client, changes)
  await service.db.transaction(client.id, (tx) => tx.rows(nameComponent(subscription, named)))
}
