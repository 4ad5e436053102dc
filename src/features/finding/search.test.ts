import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage } from '../../../test/support/shop.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { BY_ROWS, type Queryable } from '../../platform/database/database.ts'
import type { Statement } from '../../platform/database/sql.ts'
import { listPayments } from '../money/payment-queries.ts'
import { searchRecords } from './search.ts'
import { clientConfig } from '../../platform/database/open-database.ts'

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

const add = async (client: TestClient, body: object): Promise<number> =>
  (await client.post('/v1/customers', { isCompany: true, ...body })).body.customerID

const finder =
  (client: TestClient) =>
  async (q: string, more: object = {}) => {
    const query = new URLSearchParams({ q, ...more })
    const reply = await client.get(`/v1/customers?${query}`)
    expect(reply.status, q).toBe(200)
    return reply.body.map(({ customerID }: { customerID: number }) => customerID) as number[]
  }

describe('searching customers', () => {
  test('finds by the beginnings of words in every field named, whatever case, accents and signs', async () => {
    const [client, neighbour] = [await service.newAccount(), await service.newAccount()]
    const zoe = await add(client, {
      Name: 'Zoë',
      LastName: "O'Neill-Groß",
      isCompany: false,
      Company: 'Müller & Söhne',
      Reference: 'K-1042',
      Email: 'zoe.n@post.example.org',
      VatNo: 'DE 136 695 976',
      Tel: '+49 (30) 123-45',
    })
    const anna = await add(client, { Name: 'Anna Zoller' })
    await add(neighbour, { Name: 'Zoë' })
    const find = finder(client)
    for (const q of [
      'zoe',
      'ZOË',
      "o'neill",
      'ONEILL',
      'neill',
      'gross',
      'muller',
      'söhne mull',
      'k1042',
      '1042',
      'K-10',
    ])
      expect(await find(q), q).toEqual([zoe])
    for (const q of [
      'zoe.n@post',
      'post.example',
      'post',
      'DE136695976',
      '136 695',
      '49301',
      '+49 (30)',
      'zo neil k10 mül de136',
    ])
      expect(await find(q), q).toEqual([zoe])
    expect(await find('zo')).toEqual([zoe, anna])
    expect(await find('zo', { sort: '-id' })).toEqual([anna, zoe])
    expect(await find('zo', { page: 2, page_size: 1 })).toEqual([anna])
    expect(await find('zo', { comp_status: 'Active', page: 2, page_size: 1 })).toEqual([anna])
    expect(await find('zo', { comp_status: 'Archived' })).toEqual([])
    for (const q of ['oneilx', 'zoe anna', 'uller', 'zoë%']) expect(await find(q), q).toEqual(q === 'zoë%' ? [zoe] : [])
    await client.put(`/v1/customers/${zoe}/archive`)
    expect(await find('zoe')).toEqual([zoe])
    const counted = await client.get('/v1/customers?q=zo&total=true')
    expect(counted.headers['total-count']).toBe('2')
  })

  test('follows edits, and forgets who is deleted or made anonymous', async () => {
    const client = await service.newAccount()
    const [one, two, three] = [
      await add(client, { Name: 'Alpha' }),
      await add(client, { Name: 'Alpine' }),
      await add(client, { Name: 'Alps', Email: 'x@alps.example' }),
    ]
    const find = finder(client)
    expect(await find('alp')).toEqual([one, two, three])
    await client.put(`/v1/customers/${one}`, { Name: 'Beta', isCompany: true })
    expect([await find('alp'), await find('beta')]).toEqual([[two, three], [one]])
    expect((await client.delete(`/v1/customers/${two}`)).status).toBe(204)
    expect(await find('alp')).toEqual([three])
    expect((await client.post(`/v1/customers/${three}/anonymise`, {})).status).toBeLessThan(300)
    expect(await find('alp')).toEqual([])
    const { rows } = await owner.query(`select 1 from record_words where account_id = $1 and word like 'alp%'`, [
      client.id,
    ])
    expect(rows).toEqual([])
  })

  test('refuses what is too short, too long or holds no letters', async () => {
    const client = await service.newAccount()
    for (const q of ['a', 'ü', '', ' ', `%_\\'`, '😀', '😀😀', 'a%', 'a b c d e f', 'x'.repeat(101)]) {
      const { status, body } = await client.get(`/v1/customers?q=${encodeURIComponent(q)}`)
      expect([status, body.Errors?.[0].Field], q).toEqual([400, 'q'])
    }
    for (const q of ['ab', 'a b c d e', 'x'.repeat(100), 'a 😀 b'])
      expect((await client.get(`/v1/customers?q=${encodeURIComponent(q)}`)).status, q).toBe(200)
  })

  test('pages of what many bear are those of the whole list, over many blocks and the other way round', async () => {
    const client = await service.newAccount()
    await owner.query(
      `insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method, auto_send_invoice,
         auto_send_statement, is_collection_hold)
       select $1, 'C' || n, true, case when n % 3 = 0 then 'Wide' else 'Else' end, 'USD', now(), false, 'cash', true, false, false
         from generate_series(1, 12000) n`,
      [client.id],
    )
    await owner.query(
      `insert into record_words select account_id, 1, customer_id / 4096, lower(name), customer_id from customers where account_id = $1`,
      [client.id],
    )
    const { rows } = await owner.query<{ id: string }>(
      `select customer_id as id from customers where account_id = $1 and name = 'Wide' order by customer_id`,
      [client.id],
    )
    const all = rows.map(({ id }) => Number(id))
    const find = finder(client)
    for (const page of [1, 2, 7, 14, 20, 21]) {
      const asked = { page, page_size: 200 }
      const from = (page - 1) * 200
      expect(await find('wi', asked)).toEqual(all.slice(from, from + 200))
      expect(await find('wi', { ...asked, sort: '-id' })).toEqual(all.toReversed().slice(from, from + 200))
    }
    const link = (await client.get('/v1/customers?q=wi&page=20&page_size=200')).headers['link']
    expect(link).toContain('q=wi&page=19')
    expect(link).not.toContain('rel="next"')
  })

  test('invoices, subscriptions, payments and credits are found by what they bear, else by their customers', async () => {
    const client = await service.newAccount()
    const [ada, bob] = [await add(client, { Name: 'Ada Wide' }), await add(client, { Name: 'Bob Wide' })]
    const invoice = async (customerID: number, more: object) =>
      (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }], ...more })).body
    const [one, two] = [await invoice(ada, { poNumber: 'PO 77' }), await invoice(bob, { Reference: 'R-9' })]
    const money = { CurrencyCode: 'USD', Date: '2027-01-01', Amount: 5 }
    const payment = (
      await client.post('/v1/payments', { ...money, customerID: ada, Method: 'eft', Ref: 'wire 5', Allocations: [] })
    ).body
    const note = (
      await client.post('/v1/credits', { ...money, customerID: bob, CreditNumber: 'Cn-5', Allocations: [] })
    ).body
    const ids = async (list: string, id: string, q: string) =>
      (await client.get(`/v1/${list}?q=${encodeURIComponent(q)}`)).body.map((row: Record<string, number>) => row[id])
    const invoices = (q: string) => ids('invoices', 'invoiceID', q)
    for (const q of ['PO 77', 'po 77', '77 p', 'po ada', '77 wide ada', 'ada'])
      expect([q, await invoices(q)]).toEqual([q, [one.invoiceID]])
    for (const q of ['R-9', 'r9', 'Ŕ9', 'bob r-9', 'bob wi'])
      expect([q, await invoices(q)]).toEqual([q, [two.invoiceID]])
    expect(await invoices(`I${two.invoiceID}`)).toEqual([])
    expect(await invoices(`i${one.invoiceID}`)).toEqual([one.invoiceID])
    expect(await invoices(`ada i${one.invoiceID}`)).toEqual([one.invoiceID])
    for (const q of ['nobody', 'po bob', 'r-9 ada', '77 nobody', 'o77']) expect([q, await invoices(q)]).toEqual([q, []])
    expect(await invoices('wide')).toEqual([one.invoiceID, two.invoiceID])
    for (const q of ['wire 5', 'wi', 'wire ada', 'ada'])
      expect([q, await ids('payments', 'paymentID', q)]).toEqual([q, [payment.paymentID]])
    expect(await ids('payments', 'paymentID', 'bob')).toEqual([])
    for (const q of ['cn-5', 'cn5', 'cn bob', 'bob'])
      expect([q, await ids('credits', 'creditNoteID', q)]).toEqual([q, [note.creditNoteID]])
    expect(await ids('subscriptions', 'subscriptionID', 'ada')).toEqual([])
    for (const list of ['invoices', 'payments', 'credits', 'subscriptions'])
      expect((await client.get(`/v1/${list}?q=a`)).body.Errors[0].Field).toBe('q')
    // Twelve invoices, of which the first, the tenth and later ones begin with 1.
    for (let n = 0; n < 10; n += 1) await invoice(bob, {})
    const begun = (await client.get('/v1/invoices?q=10')).body
    expect(begun.map(({ invoiceNum }: { invoiceNum: number }) => invoiceNum)).toEqual([10])
  })

  test('own words follow edits and deletions', async () => {
    const client = await service.newAccount()
    const customerID = await add(client, { Name: 'Ada' })
    const { packageID } = await addPackage(client)
    const found = async (list: string, q: string) => (await client.get(`/v1/${list}?q=${q}`)).body.length
    const money = { customerID, CurrencyCode: 'USD', Date: '2027-01-01', Amount: 5, Allocations: [] }
    const kept = { customerID, Charges: [{ UnitCostEx: 100 }], Reference: 'alpha-17' }
    const added = [
      [
        'invoices',
        (await client.post('/v1/invoices', { ...kept, poNumber: 'beta 17' })).body.invoiceID,
        { ...kept, poNumber: 'gamma' },
      ],
      [
        'payments',
        (await client.post('/v1/payments', { ...money, Method: 'eft', Ref: 'beta 17' })).body.paymentID,
        { ...money, Method: 'eft', Ref: 'gamma' },
      ],
      [
        'credits',
        (await client.post('/v1/credits', { ...money, CreditNumber: 'beta 17' })).body.creditNoteID,
        { ...money, CreditNumber: 'gamma' },
      ],
    ] as const
    for (const [list, id, body] of added) {
      expect([list, await found(list, 'bet')]).toEqual([list, 1])
      const { status } = await client.put(`/v1/${list}/${id}`, body)
      expect([list, status < 300]).toEqual([list, true])
      expect([list, await found(list, 'bet'), await found(list, 'gam')]).toEqual([list, 0, 1])
      // The reference of the invoice still bears what its purchase order number no longer does.
      expect([list, await found(list, '17')]).toEqual([list, list === 'invoices' ? 1 : 0])
    }
    for (const list of ['payments', 'credits']) {
      const id = added.find(([name]) => name === list)?.[1]
      expect((await client.delete(`/v1/${list}/${id}`)).status).toBe(204)
    }
    const draft = (await client.post('/v1/invoices', { ...kept, Reference: 'delta', isDraft: true })).body.invoiceID
    expect(await found('invoices', 'delta')).toBe(1)
    expect(
      (await client.put(`/v1/invoices/${draft}`, { ...kept, Reference: 'epsilon', isDraft: true })).status,
    ).toBeLessThan(300)
    expect([await found('invoices', 'delta'), await found('invoices', 'epsi')]).toEqual([0, 1])
    expect((await client.delete(`/v1/invoices/${draft}`)).status).toBe(204)
    const subscription = { customerID, packageID, StartDate: '2027-03-01', Reference: 'zeta-1' }
    const { subscriptionID } = (await client.post('/v1/subscriptions', subscription)).body
    expect([await found('subscriptions', 'zeta'), await found('subscriptions', 'ada')]).toEqual([1, 1])
    expect((await client.put(`/v1/subscriptions/${subscriptionID}`, { Reference: 'eta 2' })).status).toBeLessThan(300)
    expect([await found('subscriptions', 'zeta'), await found('subscriptions', 'eta')]).toEqual([0, 1])
    expect((await client.delete(`/v1/subscriptions/${subscriptionID}`)).status).toBe(204)
    const { rows } = await owner.query(
      'select word from record_words where account_id = $1 and list <> 1 order by word',
      [client.id],
    )
    expect(rows.map(({ word }) => word)).toEqual(['17', 'alpha17', 'gamma'])
  })

  test('what very many bear is found by walking the list, and equals a search of everything', async () => {
    const client = await service.newAccount()
    const add = (name: string, n: number) =>
      owner.query(
        `with added as (insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method,
             auto_send_invoice, auto_send_statement, is_collection_hold, vat_number)
           select $1, gen_random_uuid(), true, $2, 'USD', now(), false, 'cash', true, false, false, 'V' || n % 7 from generate_series(1, $3::int) n
           returning account_id, customer_id),
         paid as (insert into payments (account_id, customer_id, paid_at, dated, currency, amount_minor, method, origin, created_at, ref)
           select account_id, customer_id, now(), '2027-01-01', 'USD', 100, 'eft', 'recorded', now(), 'po' || customer_id % 3 from added
           returning account_id, payment_id, ref),
         named as (insert into record_words select account_id, 1, customer_id / 4096, lower($2), customer_id from added)
         insert into record_words select account_id, 4, payment_id / 4096, ref, payment_id from paid`,
        [client.id, name, n],
      )
    for (const name of ['Wide', 'Else', 'Wide', 'Rare'].entries()) await add(name[1], name[0] === 3 ? 5 : 1500)
    const expected = async (table: string, id: string, condition: string) =>
      (
        await owner.query<{ id: string }>(
          `select ${id} as id from ${table} where account_id = $1 and ${condition} order by ${id}`,
          [client.id],
        )
      ).rows.map((row) => Number(row.id))
    const pages = async (list: string, id: string, query: string) => {
      const found: number[] = []
      for (let page = 1; ; page += 1) {
        const { status, body } = await client.get(`/v1/${list}?page_size=1000&page=${page}&${query}`)
        expect(status, query).toBe(200)
        if (body.length === 0) return found
        found.push(...body.map((row: Record<string, number>) => row[id]))
      }
    }
    const customers = (query: string) => pages('customers', 'customerID', query)
    const payments = (query: string) => pages('payments', 'paymentID', query)
    const of = (name: string) =>
      `customer_id in (select customer_id from customers where account_id = $1 and name = '${name}')`
    expect(await customers('q=wid&VatNo=V3')).toEqual(
      await expected('customers', 'customer_id', "name = 'Wide' and vat_number = 'V3'"),
    )
    expect((await customers('q=wid&CurrencyCode=USD&sort=-id')).toReversed()).toEqual(
      await expected('customers', 'customer_id', "name = 'Wide'"),
    )
    expect(await customers('q=rar&VatNo=V3')).toHaveLength(1)
    expect(await payments('q=wid')).toEqual(await expected('payments', 'payment_id', of('Wide')))
    expect((await payments('q=wid&sort=-id&Ref=po1')).toReversed()).toEqual(
      await expected('payments', 'payment_id', `${of('Wide')} and ref = 'po1'`),
    )
    expect(await payments('q=po1')).toEqual(await expected('payments', 'payment_id', "ref = 'po1'"))
    expect(await payments('q=po%20wide')).toEqual(await expected('payments', 'payment_id', of('Wide')))
    expect(await payments('q=po2%20rare')).toEqual(
      await expected('payments', 'payment_id', `${of('Rare')} and ref = 'po2'`),
    )
    expect(await payments('q=po2%20po1')).toEqual([])
    const counted = await client.get('/v1/payments?q=wid&total=true')
    expect(counted.headers['total-count']).toBe('3000')
  })

  test('a page of words that very many records bear themselves reads the words of that page, those of customers are read at most twice', async () => {
    const client = await service.newAccount()
    await owner.query(
      `with added as (insert into customers (account_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method,
           auto_send_invoice, auto_send_statement, is_collection_hold)
         select $1, gen_random_uuid(), true, 'A', 'USD', now(), false, 'cash', true, false, false from generate_series(1, 20000) n
         returning account_id, customer_id),
       paid as (insert into payments (account_id, customer_id, paid_at, dated, currency, amount_minor, method, origin, created_at, ref)
         select account_id, customer_id, now(), '2027-01-01', 'USD', 100, 'eft', 'recorded', now(), 'po' from added
         returning account_id, payment_id, customer_id, ref),
       named as (insert into record_words select account_id, 1, customer_id / 4096, 'wide', customer_id from added where customer_id % 2 = 0)
       insert into record_words select account_id, 4, payment_id / 4096, w.word, payment_id from paid
         cross join lateral unnest(case when payment_id % 20 = 0 then array['po', '77'] else array['po'] end) as w(word)`,
      [client.id],
    )
    await owner.query('vacuum (analyze) record_words, payments')
    const { rows: expected } = await owner.query<{ id: bigint }>(
      'select payment_id as id from payments where account_id = $1 and payment_id % 20 = 0 order by 1 limit 100',
      [client.id],
    )
    const db: Queryable = {
      ...BY_ROWS,
      rows: async <Row>({ text, values }: Statement) => (await owner.query({ text, values })).rows as Row[],
    }
    const readSoFar = async () =>
      (
        await owner.query<{ n: number }>(
          `select sum(pg_stat_get_xact_tuples_returned(indexrelid))::integer as n from pg_index where indrelid = 'record_words'::regclass`,
        )
      ).rows[0]?.n ?? 0
    /** Lists the first page of payments, and counts the words that it reads. */
    const read = async (words: string[]) => {
      const account = BigInt(client.id) as AccountId
      await owner.query('begin')
      const before = await readSoFar()
      const found = await searchRecords(db, account, { words }, { list: 'payments' })
      const rows = await listPayments(db, account, { found }, { fromId: 0n, skip: 0 }, 100)
      const after = await readSoFar()
      await owner.query('commit')
      return { ids: rows.map(({ id }) => Number(id)), words: after - before }
    }
    const own = await read(['po', '77'])
    expect(own.ids).toEqual(expected.map(({ id }) => Number(id)))
    // One block for the first that bear each word, and one for the page: 4,096 records each.
    expect(own.words).toBeLessThan(8000)
    expect(own.words).toBeGreaterThan(100)
    const theirs = await read(['wide'])
    expect(theirs.ids).toHaveLength(100)
    // Of 10,000 customers: the first block, then each twice, and none for each of the payments.
    expect(theirs.words).toBeLessThan(25_000)
    const counted = await client.get('/v1/payments?q=po%2077&total=true')
    expect(counted.headers['total-count']).toBe('1000')
    const past = await client.get('/v1/payments?q=po%2077&page=99&page_size=200')
    expect(past.headers['link']).toContain('page=5&')
  })
})
