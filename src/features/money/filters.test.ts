import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { creditOf, moneyShop } from './money.testing.ts'
import { GIVEN_STATUSES } from './types.ts'

const service = await startTestService()

/** The identifiers of a list by the Status that its records show, and by the filter that finds them. */
async function bothWays(client: TestClient, path: string, id: string) {
  const all: Record<string, unknown>[] = (await client.get(path)).body
  const shown: Record<string, unknown[]> = {}
  const found: Record<string, unknown[]> = {}
  for (const status of GIVEN_STATUSES) {
    shown[status] = all.filter(({ Status }) => Status === status).map((record) => record[id])
    const filtered = (await client.get(`${path}?status=${status}`)).body as Record<string, unknown>[]
    found[status] = filtered.map((record) => record[id])
  }
  return { shown, found }
}

test('the filter by status finds the payments that show it, in every state that a payment can have', async () => {
  const { client, customerID } = await moneyShop(service, 0)
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  await owner.query(
    `insert into payments (account_id, customer_id, paid_at, dated, currency, amount_minor, applied_minor, method, origin, settled_on, failed_on,
       fail_reason, created_at)
     select $1, $2, '2027-01-01', '2027-01-01', 'USD', 100, applied, 'eft', origin, settled, failed,
            case when failed is not null then 'bounced' end, '2027-01-01'
       from unnest(array[0, 40, 100]) applied, unnest(array['recorded', 'gateway', 'batch']) origin,
            unnest(array[null, date '2027-01-02']) settled, unnest(array[null, date '2027-01-03']) failed
      where (origin <> 'recorded' or settled is null) and (failed is null or applied = 0)`,
    [client.id, customerID],
  )
  await owner.end()
  const { shown, found } = await bothWays(client, '/v1/payments', 'paymentID')
  expect(found).toEqual(shown)
  expect(GIVEN_STATUSES.filter((status) => found[status]!.length === 0)).toEqual([])
})

test('the filter by status finds the credit notes that show it, and none that wait or fail', async () => {
  const { client, customerID, invoices } = await moneyShop(service, 2)
  for (const [index, amountApplied] of [40, 100].entries())
    await client.post(
      '/v1/credits',
      creditOf(customerID, 100, { Allocations: [{ invoiceID: invoices[index], amountApplied }] }),
    )
  await client.post('/v1/credits', creditOf(customerID, 100))
  const { shown, found } = await bothWays(client, '/v1/credits', 'creditNoteID')
  expect(found).toEqual(shown)
  expect(GIVEN_STATUSES.map((status) => found[status]!.length)).toEqual([0, 1, 1, 1, 0])
})
