import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { paymentOf } from '../money/money.testing.ts'
import { moveTo, shop } from '../../../test/support/shop.ts'

/** Counts of blocks follow what is deleted, without a trigger: each deletion corrects them itself. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

const COUNTED = 100

/** Makes as if the first block of a list, in which all records of this file lie, had been sealed with a hundred records. */
const seal = (client: TestClient, list: string) =>
  owner.query('insert into list_blocks (account_id, list, block, records) values ($1, $2, 0, $3)', [
    client.id,
    list,
    COUNTED,
  ])

async function lessIn(client: TestClient, list: string): Promise<number> {
  const { rows } = await owner.query<{ records: number }>(
    'select records from list_blocks where account_id = $1 and list = $2',
    [client.id, list],
  )
  return COUNTED - (rows[0]?.records ?? NaN)
}

const draftOf = async (client: TestClient, customerID: number) =>
  (await client.post('/v1/invoices', { customerID, isDraft: true, Charges: [{ UnitCostEx: 10 }] })).body.invoiceID

describe('a deleted record leaves the count of its block', () => {
  test('a payment, a draft and a subscription to come', async () => {
    const { client, customerID, add } = await shop(service)
    for (const list of ['payments', 'invoices', 'subscriptions']) await seal(client, list)
    const payment = await client.post('/v1/payments', paymentOf(customerID, 5, { allocations: [] }))
    expect(payment.text).toContain('paymentID')
    const subscription = await add({ StartDate: '2027-02-01' })
    const paths = [
      `/v1/payments/${payment.body.paymentID}`,
      `/v1/invoices/${await draftOf(client, customerID)}`,
      `/v1/subscriptions/${subscription.body.subscriptionID}`,
    ]
    for (const path of paths) expect([path, (await client.delete(path)).status]).toEqual([path, 204])
    for (const list of ['payments', 'invoices', 'subscriptions'])
      expect([list, await lessIn(client, list)]).toEqual([list, 1])
  })

  test('a customer, with its drafts and its subscriptions that have ended', async () => {
    const { client, customerID, add } = await shop(service, { price: 0 })
    for (const list of ['customers', 'invoices', 'subscriptions']) await seal(client, list)
    for (const EndDate of ['2027-01-05', '2027-01-06']) expect((await add({ EndDate })).status).toBe(201)
    await draftOf(client, customerID)
    await moveTo(client, '2027-02-01')
    expect((await client.delete(`/v1/customers/${customerID}`)).status).toBe(204)
    expect([await lessIn(client, 'customers'), await lessIn(client, 'invoices')]).toEqual([1, 1])
    expect(await lessIn(client, 'subscriptions')).toBe(2)
  })

  test('a deletion while its list is being sealed waits, and then corrects what was counted meanwhile', async () => {
    const { client, add } = await shop(service)
    const { subscriptionID } = (await add({ StartDate: '2027-02-01' })).body
    await owner.query('begin')
    await owner.query(`select pg_advisory_xact_lock(hashtextextended('counted subscriptions', 0))`)
    await seal(client, 'subscriptions')
    const deleting = client.delete(`/v1/subscriptions/${subscriptionID}`)
    await waitsForALock()
    await owner.query('commit')
    expect((await deleting).status).toBe(204)
    expect(await lessIn(client, 'subscriptions')).toBe(1)
  })
})

/** Returns once some session of this database waits for a lock. */
async function waitsForALock(): Promise<void> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  // Activity is kept as it was first seen in a transaction; without this it would be asked for ever.
  while ((await owner.query(waiting)).rowCount === 0) await owner.query('select pg_stat_clear_snapshot()')
}
