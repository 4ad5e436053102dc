import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../database/open-database.ts'
import { sendUncount } from '../database/housekeeping.ts'
import { sql, type Statement } from '../database/sql.ts'
import { inPage, onward } from './paging.ts'

const service = await startTestService({ publicUrl: 'https://billing.example/base/' })
const relative = await startTestService()

/** Makes customers by the thousand, as the owner. */
async function fill(account: bigint, customers: number): Promise<pg.Client> {
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  await owner.query(
    `insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
       auto_send_statement, is_collection_hold)
     select $1, 'C' || n, true, 'Customer ' || n, 'USD', now(), false, 'cash', true, false, false from generate_series(1, $2::int) n`,
    [account, customers],
  )
  return owner
}

const ids = (reply: { body: { customerID: number }[] }) => reply.body.map(({ customerID }) => customerID)

describe('lists', () => {
  test('sizes are 100 by default and 200 at most; anything but a positive whole number is refused', async () => {
    const client = await service.newAccount()
    const owner = await fill(client.id, 201)
    await owner.end()
    expect(ids(await client.get('/v1/customers'))).toHaveLength(100)
    expect(ids(await client.get('/v1/customers?page_size=100000'))).toHaveLength(200)
    expect(ids(await client.get('/v1/customers?page_size=007&page=01'))).toHaveLength(7)
    for (const bad of ['0', '-1', '1.5', 'x', '', '1e3', '%00'])
      for (const name of ['page', 'page_size']) {
        const refused = await client.get(`/v1/customers?${name}=${bad}`)
        expect([refused.status, refused.body.Errors?.[0].Field], `${name}=${bad}`).toEqual([400, name])
      }
    const both = await client.get('/v1/customers?page=0&page_size=0&comp_status=Gone')
    expect(both.body.Errors.map((error: { Field: string }) => error.Field)).toEqual([
      'page',
      'page_size',
      'comp_status',
    ])
  })

  test('a page of a usual size of a whole list is planned once a connection; where a list is filtered the planner knows the limit', async () => {
    const client = await service.newAccount()
    const owner = await fill(client.id, 3000)
    await owner.query('analyze customers')
    const pageOf = (isWhole: boolean, size: number) => {
      const start = { fromId: 0n, skip: 0, isWhole }
      return sql`
        select * from customers where account_id = ${client.id} ${onward(start, 'customer_id')} order by customer_id ${inPage(start, size + 1)}`
    }
    const plansOf = async ({ name, text, values }: Statement) => {
      for (let times = 0; times < 20; times += 1) await owner.query({ name, text, values: [...values] })
      const { rows } = await owner.query('select custom_plans::int from pg_prepared_statements where name = $1', [name])
      return rows[0].custom_plans
    }
    for (const size of [10, 100]) expect(await plansOf(pageOf(true, size))).toBe(5)
    expect(await plansOf(pageOf(true, 77))).toBe(20)
    await owner.end()
    expect(pageOf(true, 200)).toMatchObject({ text: expect.stringMatching(/ limit 201$/), values: [client.id, 0n] })
    expect(pageOf(false, 200)).toMatchObject({
      text: expect.stringMatching(/ limit \$4$/),
      values: [client.id, 0n, 0, 201],
    })
  })

  test('Link names the next page only when it holds something, the one before from page 2 on', async () => {
    const client = await service.newAccount()
    const owner = await fill(client.id, 6)
    await owner.end()
    const link = async (query: string) => (await client.get(`/v1/customers${query}`)).headers['link']
    expect(await link('')).toBeUndefined()
    expect(await link('?page_size=6')).toBeUndefined()
    expect(await link('?page_size=4&Email=')).toBe(
      '<https://billing.example/base/v1/customers?page_size=4&Email=&page=2>; rel="next"',
    )
    expect(await link('?page=2&page_size=2')).toBe(
      '<https://billing.example/base/v1/customers?page=3&page_size=2>; rel="next", <https://billing.example/base/v1/customers?page=1&page_size=2>; rel="prev"',
    )
    expect(await link('?page=3&page_size=2')).toBe(
      '<https://billing.example/base/v1/customers?page=2&page_size=2>; rel="prev"',
    )
    const past = await client.get('/v1/customers?page=900000000000000&page_size=4')
    expect(past.body).toEqual([])
    expect(past.headers['link']).toBe('<https://billing.example/base/v1/customers?page=2&page_size=4>; rel="prev"')
    expect(
      (await client.get('/v1/customers?page=1&page_size=999&comp_status=Archived')).headers['link'],
    ).toBeUndefined()
    expect((await client.get('/v1/customers?page=5&comp_status=Archived')).headers['link']).toBeUndefined()
  })

  test('lists run from the newest where asked, with the same links; other orders are refused', async () => {
    const client = await service.newAccount()
    await (await fill(client.id, 5)).end()
    const all = ids(await client.get('/v1/customers'))
    const newest = await client.get('/v1/customers?sort=-id&page=2&page_size=2')
    expect(ids(newest)).toEqual([all[2], all[1]])
    expect(newest.headers['link']).toBe(
      '<https://billing.example/base/v1/customers?sort=-id&page=3&page_size=2>; rel="next", <https://billing.example/base/v1/customers?sort=-id&page=1&page_size=2>; rel="prev"',
    )
    expect(ids(await client.get('/v1/customers?sort=-id'))).toEqual(all.toReversed())
    expect(ids(await client.get('/v1/customers?sort=id'))).toEqual(all)
    const countries = await client.get('/v1/countries?sort=-id&total=true')
    expect(countries.body.at(-1).countryID).toBe((await client.get('/v1/countries')).body[0].countryID)
    expect(countries.headers['total-count']).toBe(String(countries.body.length))
    for (const [query, name] of [
      ['sort=name', 'sort'],
      ['sort=-ID', 'sort'],
      ['total=2', 'total'],
    ]) {
      const refused = await client.get(`/v1/customers?${query}`)
      expect([refused.status, refused.body.Errors?.[0].Field], query).toEqual([400, name])
    }
  })

  test('behind a record that is named a list goes on by records, in both directions, to its end', async () => {
    const client = await service.newAccount()
    await (await fill(client.id, 9)).end()
    const all = ids(await client.get('/v1/customers'))
    for (const [sort, order] of [
      ['', all],
      ['&sort=-id', all.toReversed()],
    ] as const) {
      const found: number[] = []
      let next = `/v1/customers?page=3&page_size=2${sort}&after=${order[2]}`
      for (let pages = 0; next !== ''; pages += 1) {
        expect(pages).toBeLessThan(4)
        const reply = await client.get(next)
        found.push(...ids(reply))
        const link = reply.headers['link'] ?? ''
        expect(link).not.toMatch(/rel="prev"|[?&]page=/)
        next = /<https:\/\/billing.example\/base([^>]+)>; rel="next"/.exec(link)?.[1] ?? ''
      }
      expect(found).toEqual(order.slice(3))
    }
  })

  test('without a public address links are relative', async () => {
    const client = await relative.newAccount()
    for (const Name of ['a', 'b']) await client.post('/v1/customers', { Name, isCompany: true })
    expect((await client.get('/v1/customers?page_size=1')).headers['link']).toBe(
      '</v1/customers?page_size=1&page=2>; rel="next"',
    )
  })

  test('paging values are accepted and ignored by what is no list', async () => {
    const client = await service.newAccount()
    expect((await client.post('/v1/customers?page=0&page_size=x', { Name: 'a', isCompany: true })).status).toBe(201)
  })

  test('following next shows every record once, in the order of creation, at any depth and around what was deleted', async () => {
    const [client, neighbour] = [await service.newAccount(), await service.newAccount()]
    const before = await fill(neighbour.id, 2500)
    await before.end()
    const owner = await fill(client.id, 13_000)
    // Two steps, as the worker takes them: the second seals what no running transaction can add to any more.
    await owner.query(`select seal_list('customers')`)
    const sealed = await owner.query<{ seal_list: number }>(`select seal_list('customers')`)
    expect(sealed.rows[0]?.seal_list).toBeGreaterThan(2)
    await service.db.transaction(client.id, async (tx) => {
      const deleted = await tx.rows<{ id: bigint }>(sql`
        delete from customers where account_id = ${client.id} and (customer_id % 3 = 0 or customer_id between 6000 and 6500)
        returning customer_id as "id"`)
      sendUncount(
        tx,
        'customers',
        deleted.map(({ id }) => id),
      )
    })
    const { rows } = await owner.query<{ id: string }>(
      `select customer_id as id from customers where account_id = $1 order by customer_id`,
      [client.id],
    )
    await owner.end()
    const expected = rows.map(({ id }) => Number(id))
    const size = 200
    const pages = Math.ceil(expected.length / size)
    for (const page of [1, 2, 20, 21, 22, 30, pages - 1, pages]) {
      const reply = await client.get(`/v1/customers?page=${page}&page_size=${size}`)
      expect(ids(reply), `page ${page}`).toEqual(expected.slice((page - 1) * size, page * size))
      expect(reply.headers['link']?.includes('rel="next"')).toBe(page < pages)
    }
    const past = await client.get(`/v1/customers?page=${pages + 100}&page_size=${size}`)
    expect(past.body).toEqual([])
    expect(past.headers['link']).toContain(`page=${pages}&`)
    const reversed = expected.toReversed()
    for (const page of [1, 2, 5, 6, 20, 21, 22, 30, pages - 1, pages]) {
      const reply = await client.get(`/v1/customers?page=${page}&page_size=${size}&sort=-id`)
      expect(ids(reply), `page ${page} from the newest`).toEqual(reversed.slice((page - 1) * size, page * size))
      expect(reply.headers['link']?.includes('rel="next"')).toBe(page < pages)
    }
    expect((await client.get(`/v1/customers?page=${pages + 9}&sort=-id&page_size=${size}`)).body).toEqual([])
    const total = async (query: string) => (await client.get(`/v1/customers?${query}`)).headers['total-count']
    expect(await total('total=true&page_size=1')).toBe(String(expected.length))
    expect(await total('total=false')).toBeUndefined()
    // Of a filtered list no more than ten thousand are counted.
    expect(await total('comp_status=Archived&total=true')).toBe('0')
    const crowded = await service.newAccount()
    await (await fill(crowded.id, 10_001)).end()
    const crowd = (query: string) => crowded.get(`/v1/customers?${query}`).then(({ headers }) => headers['total-count'])
    expect(await crowd('comp_status=Active&total=true')).toBe('10000+')
    expect(await crowd('total=true')).toBe('10001')
  })
})
