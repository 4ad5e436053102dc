import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { openDatabase } from '../../platform/database/open-database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Money with so many allocations that it is read and sent some at a time. */

const service = await startTestService()
const owner = openDatabase(service.connection, { role: undefined, poolSize: 1, lanes: 1 })
afterAll(() => owner.close())

async function newCustomer(client: TestClient): Promise<number> {
  return (await client.post('/v1/customers', { Name: 'Much Ltd', isCompany: true })).body.customerID
}

interface Join {
  given: readonly [kind: 'payment' | 'negative_adjustment', id: number]
  owed: readonly [kind: 'invoice' | 'positive_adjustment', id: number]
}

/** Allocates 0.01 of one record to another so many times: a request could do so a thousand times. */
async function allocate(client: TestClient, customerID: number, { given, owed }: Join, times: number): Promise<void> {
  await owner.unscoped.rows(sql`
    insert into perennial.allocations (account_id, customer_id, given_kind, given_id, owed_kind, owed_id, amount_minor, dated,
      is_service_made, created_at)
    select ${client.id}, ${customerID}::bigint, ${given[0]}, ${given[1]}::bigint, ${owed[0]}, ${owed[1]}::bigint, 1, '2027-01-01', false, now()
      from generate_series(1, ${times}::int) n`)
}

/** The records of a list, asked for one by one. */
async function oneByOne(client: TestClient, path: string, count: number): Promise<string> {
  const texts = []
  for (let page = 1; page <= count; page += 1)
    texts.push((await client.get(`${path}?page_size=1&page=${page}`)).text.slice(1, -1))
  return `[${texts.join(',')}]`
}

describe('a page of money with many allocations', () => {
  // Some fill a portion together, one fills it alone, one is longer than a look-up, and some have none.
  const COUNTS = [900, 900, 900, 1000, 1000, 5000, 0, 1, 2, 0]

  test.each([
    ['/v1/payments', 'payment', 'paymentID', { Method: 'eft' }],
    ['/v1/credits', 'negative_adjustment', 'creditNoteID', {}],
  ] as const)('has all of them, to the byte as one by one: %s', async (path, kind, id, more) => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const base = { customerID, Amount: 1000, CurrencyCode: 'USD', Date: '2027-01-01', Allocations: [], ...more }
    const ids: number[] = []
    for (const [index, count] of COUNTS.entries()) {
      const numbered = kind === 'payment' ? base : { ...base, CreditNumber: `C${index}` }
      ids.push((await client.post(path, numbered)).body[id])
      await allocate(client, customerID, { given: [kind, ids[index]!], owed: ['invoice', 7] }, count)
    }
    const page = await client.get(path)
    expect([page.status, page.headers['content-length']]).toEqual([200, undefined])
    expect(page.body.map(({ Allocations }: { Allocations: object[] }) => Allocations.length)).toEqual(COUNTS)
    expect(page.text === (await oneByOne(client, path, COUNTS.length))).toBe(true)
    const single = await client.get(`${path}/${ids[5]}`)
    expect(single.text === JSON.stringify(page.body[5])).toBe(true)
  })
})

describe('a positive adjustment that many payments pay', () => {
  const TIMES = 6000

  test('is answered whole, in pieces, with the ETag that an edit compares', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const added = await client.post('/v1/adjustment/add', {
      customerID,
      Type: 'positive',
      AdjustmentType: 'interest',
      Amount: 1000,
      Date: '2027-01-01',
      DueDate: '2027-01-31',
      Ref: '"R" é',
    })
    const id = added.body.AdjustmentID as number
    const path = `/v1/adjustment/get?type=positive&adjustmentID=${id}&customerID=${customerID}`
    expect((await client.get(path)).headers['etag']).toBe(added.headers['etag'])
    const payment = { customerID, Amount: 1000, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft' }
    const { paymentID } = (await client.post('/v1/payments', { ...payment, Allocations: [] })).body
    await allocate(client, customerID, { given: ['payment', paymentID], owed: ['positive_adjustment', id] }, TIMES)
    await owner.unscoped.rows(sql`
      update perennial.positive_adjustments set paid_minor = ${TIMES} where account_id = ${client.id} and positive_adjustment_id = ${id}`)
    await owner.unscoped.rows(sql`
      update perennial.payments set applied_minor = ${TIMES} where account_id = ${client.id} and payment_id = ${paymentID}`)

    const long = await client.get(path)
    expect([long.status, long.headers['content-length'], long.body.isSuccess, long.body.type]).toEqual([
      200,
      undefined,
      true,
      'positive',
    ])
    const { allocations, ...adjustment } = long.body.adjustment
    expect(adjustment).toMatchObject({
      positiveAdjustmentID: id,
      Amount: 1000,
      Status: 'Partially Paid',
      Ref: '"R" é',
    })
    expect([
      allocations.length,
      new Set(allocations.map((a: { allocationID: number }) => a.allocationID)).size,
    ]).toEqual([TIMES, TIMES])
    expect(allocations[0]).toMatchObject({ objectID: paymentID, amountApplied: 0.01, isAdjustment: false })

    expect((await client.get(path.replace(`customerID=${customerID}`, 'customerID=99999'))).status).toBe(404)
    const body = {
      AdjustmentID: id,
      Type: 'positive',
      AdjustmentType: 'interest',
      customerID,
      Amount: 1000,
      Date: '2027-01-01',
      DueDate: '2027-01-31',
      Memo: 'edited',
    }
    const edit = (etag: string) => client.put('/v1/adjustment/edit', body, { 'if-match': etag })
    expect((await edit(added.headers['etag'] ?? '')).status).toBe(412)
    expect((await edit(long.headers['etag'] ?? '')).status).toBe(204)
  })
})
