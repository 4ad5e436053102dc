import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addPackage, invoicesOf, moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { insertSubscribers, rateTermOf } from '../billing-run/run.testing.ts'

const service = await startTestService()

test('pages of a customer have what runs kept with shapes and what was written by hand, each once and in order, from both ends', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const rateTermID = rateTermOf(await addPackage(client))
  await insertSubscribers(service, client, { rateTermID, dueOn: '2027-01-01', customers: 2 })
  const [{ customerID }] = (await client.get('/v1/customers')).body
  for (const day of ['2027-01-02', '2027-02-02', '2027-03-02', '2027-04-02', '2027-05-02']) {
    await moveTo(client, day)
    for (const isDraft of day < '2027-04' ? [true, false] : []) {
      const Charges = [{ Line: 'By hand', UnitCostEx: 5 }]
      const added = await client.post('/v1/invoices', { customerID, CurrencyCode: 'USD', isDraft, Charges })
      expect(added.status, added.text).toBe(201)
    }
  }
  const stored = await service.db.reader(client.id).rows<{ id: bigint; isKept: boolean }>(sql`
    select invoice_id as "id", template_id is not null as "isKept" from invoices where account_id = ${client.id} and customer_id = ${BigInt(customerID)} order by 1`)
  expect(stored.map(({ isKept }) => (isKept ? 'k' : 'r')).join('')).toBe('rrrkrrkrrkk')
  const ids = stored.map(({ id }) => Number(id))
  expect(await invoicesOf(client, '')).toHaveLength(16)

  for (const [sort, expected] of [
    ['id', ids],
    ['-id', ids.toReversed()],
  ] as const)
    for (const size of [1, 2, 3, 4, 11, 100]) {
      const found: number[] = []
      for (let page = 1; found.length < ids.length; page += 1) {
        const answer = await client.get(
          `/v1/invoices?customerID=${customerID}&page=${page}&page_size=${size}&total=true&sort=${sort}`,
        )
        expect(answer.headers['total-count']).toBe(String(ids.length))
        const onPage = answer.body.map(({ invoiceID }: any) => invoiceID)
        expect(onPage).toEqual(expected.slice(found.length, found.length + size))
        found.push(...onPage)
      }
    }
  const drafts = await client.get(`/v1/invoices?customerID=${customerID}&status=Draft&page_size=2&sort=-id`)
  expect(drafts.body.map(({ invoiceID }: any) => invoiceID)).toEqual([ids[7], ids[4]])
})
