import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { APP_ROLE } from '../../platform/database/roles.ts'
import { BY_ROWS, type Snapshot } from '../../platform/database/database.ts'
import type { Statement } from '../../platform/database/sql.ts'
import { listEvents } from '../events/queries.ts'
import { listInvoices } from '../invoices/queries.ts'
import { chargesBeyond } from '../reports/deferred-queries.ts'
import type { ReportPeriod } from '../reports/period-queries.ts'
import { revenueOfPeriod } from '../reports/revenue-queries.ts'
import { salesOfPeriod, taxesOfPeriod } from '../reports/tax-queries.ts'
import { listEntries } from './read-queries.ts'

/** Reads of a part of a long table go by an index: what they cost does not grow with all that an account has. */

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
let client: TestClient
beforeAll(async () => {
  await owner.connect()
  client = await service.newAccount()
  const { body } = await client.post('/v1/customers', { Name: 'Long Ltd', isCompany: true })
  await owner.query(`
    insert into perennial.event_rows (account_id, type, record_id, customer_id, happened_at, actor)
      select ${client.id}, case when n % 10000 = 0 then 'account.updated' else 'customer.updated' end, n, ${body.customerID},
        timestamptz '2026-01-01' + n * interval '1 minute', 'key 1' from generate_series(1, 50000) n;
    insert into perennial.ledger_rows (account_id, customer_id, link, record_id, amount_minor, posted_at, dated, is_reversal, currency, event,
        record_type, debit, credit)
      select ${client.id}, n, 1, n, 100, now(), date '2020-01-01' + n / 50, false, 'USD', 'invoice_issued', 'invoice', 'receivables', 'revenue'
        from generate_series(1, 50000) n;
    insert into perennial.invoices (account_id, customer_id, currency, invoice_date, due_date, last_updated, source, collection_method, total_minor,
        issued_at, number, account_version, customer_version)
      select ${client.id}, ${body.customerID}, 'USD', date '2020-01-01' + n / 50, date '2020-01-01' + n / 50, now(), 'App', 'cash', 100, now(), n, 1, 1
        from generate_series(1, 50000) n;
    insert into perennial.event_packs (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, actor, records)
      select ${client.id}, 1000000 + n, 1000249 + n, (select min(invoice_id) from perennial.invoices where account_id = ${client.id}) + n - 1,
        timestamptz '2026-01-01' + n * interval '1 minute', 'billing run 1', '[{}]' from generate_series(1, 49751, 250) n;
    insert into perennial.posting_template_entries (account_id, posting_template_id, line, amount_minor, dated, currency, debit, credit)
      select ${client.id}, 1, line, 100, '2026-01-01', 'USD', 'receivable', case line when 1 then 'revenue' else 'revenue_due' end from generate_series(1, 2) line;
    insert into perennial.ledger_packs (account_id, first_entry_id, first_invoice_id, stride, entries, posted_at, dated_from, dated_to, customer_ids, template_ids, hash)
      select ${client.id}, 1000001 + n * 256, 1000001 + n * 128, 2, 256, now(), '2026-01-01', '2026-01-01', array_fill(1::bigint, array[128]), '{1}', '\\x00'
        from generate_series(0, 999) n;
    insert into perennial.charge_rows (account_id, invoice_id, display_order, kind, quantity, unit_price, net_minor, gross_minor)
      select account_id, invoice_id, 1, 'manual', 1, 1, 100, 100 from perennial.invoices where account_id = ${client.id};
    insert into perennial.negative_adjustments (account_id, negative_adjustment_id, customer_id, kind, ref, currency, dated, amount_minor, invoice_id, closed_at,
        created_at, account_version, customer_version)
      select account_id, number, customer_id, 'credit_note', 'K' || number, 'USD', invoice_date, 10, invoice_id, now(), now(), 1, 1
        from perennial.invoices where account_id = ${client.id} and number % 5 = 0;
    insert into perennial.settlements (account_id, customer_id, negative_adjustment_id, invoice_id, basis, gross_minor, settled_before_minor, dated)
      select account_id, customer_id, negative_adjustment_id, invoice_id, 'given_back', 10, 0, dated
        from perennial.negative_adjustments where account_id = ${client.id};
    insert into perennial.credit_note_lines (account_id, credit_note_id, line, charge_id, name, price, credited_before_minor, most_minor, net_minor)
      select n.account_id, n.negative_adjustment_id, 1, c.charge_id, 'Plan', 10, 0, 100, 10
        from perennial.negative_adjustments n join perennial.charges c on c.account_id = n.account_id and c.invoice_id = n.invoice_id
       where n.account_id = ${client.id}`)
  await owner.query(
    'vacuum (analyze) perennial.event_rows, perennial.event_packs, perennial.ledger_rows, perennial.invoices, perennial.charge_rows, perennial.negative_adjustments, ' +
      'perennial.settlements, perennial.credit_note_lines, perennial.ledger_packs, perennial.posting_template_entries',
  )
})
afterAll(() => owner.end())

/** The plan of the statement that a query reads by, as the service's role has it: with the settings that it asks for, and under row security. */
async function planOf(ask: (db: Snapshot) => unknown): Promise<string> {
  const sent: Statement[] = []
  const rows = async <Row>(statement: Statement): Promise<Row[]> => {
    sent.push(statement)
    return []
  }
  const portions = (statement: Statement) => void sent.push(statement)
  await ask({ ...BY_ROWS, rows, portions } as unknown as Snapshot)
  await owner.query('begin')
  try {
    await owner.query(`set local role ${APP_ROLE}`)
    await owner.query(`select set_config('app.account_id', '${client.id}', true)`)
    let plan = ''
    for (const { text, values } of sent) {
      const isSetting = text.startsWith('select set_config')
      const { rows: lines } = await owner.query<{ 'QUERY PLAN': string }>(
        isSetting ? text : `explain ${text}`,
        values.map((value) => String(value)),
      )
      if (!isSetting) plan = lines.map((line) => line['QUERY PLAN']).join('\n')
    }
    return plan
  } finally {
    await owner.query('rollback')
  }
}

const start = { fromId: 0n, skip: 0 }

test('events of a type that is rare, at any depth', async () => {
  for (const skip of [0, 3])
    expect(
      await planOf((db) => listEvents(db, client.id, { type: 'account.updated' }, { fromId: 0n, skip }, 101)),
    ).toContain('event_rows_by_type')
})

test('events and entries of one customer, in the middle of many', async () => {
  expect(await planOf((db) => listEvents(db, client.id, { customerId: 999_999n }, start, 101))).toContain(
    'event_rows_by_customer',
  )
  const filter = { customerId: 25_000n, from: null, to: null }
  expect(await planOf((db) => listEntries(db, client.id, filter, { fromId: 0n, skip: 5000 }, 101))).toContain(
    'ledger_rows_by_customer',
  )
})

test('entries of batches, of which only those of a page are opened, however deep it is in its block', async () => {
  const filter = { customerId: null, from: null, to: null }
  for (const isNewestFirst of [false, true])
    for (const skip of [0, 200, 4095]) {
      const page = { fromId: isNewestFirst ? 2n ** 40n : 1_000_000n, skip, isNewestFirst }
      const whole = await planOf((db) => listEntries(db, client.id, filter, { ...page, isWhole: true }, 201))
      expect(whole, `${skip}`).toMatch(/first_entry_id = ANY/)
      expect(whole, `${skip}`).not.toContain('Seq Scan on ledger_packs')
      if (skip === 0) continue
      const receivable = { ...filter, ledgerAccount: 'receivable' } as const
      const filtered = await planOf((db) => listEntries(db, client.id, receivable, page, 201))
      expect(filtered, `${skip}`).toMatch(/Incremental Sort[^]*Presorted Key: [\w.]*first_entry_id/)
      expect(filtered, `${skip}`).not.toContain('Seq Scan on ledger_packs')
    }
})

test('events of all types, whose invoices are looked up one by one', async () => {
  for (const skip of [0, 200, 4095]) {
    const plan = await planOf((db) => listEvents(db, client.id, {}, { fromId: 0n, skip }, 201))
    expect(plan).not.toMatch(/Seq Scan on invoices/)
  }
})

test('issued invoices’ events, of which only the rows of a page are gone through', async () => {
  const type = 'invoice.issued'
  for (const isNewestFirst of [false, true]) {
    const page = { fromId: isNewestFirst ? 2n ** 40n : 0n, skip: 300, isNewestFirst }
    const plan = await planOf((db) => listEvents(db, client.id, { type }, page, 101))
    expect(plan).toMatch(/Incremental Sort[^]*Presorted Key: [\w.]*first_event_id/)
    expect(plan).not.toMatch(/Seq Scan on invoices/)
  }
  const { rows } = await owner.query<{ id: bigint }>(
    `select max(invoice_id) - 10 as id from perennial.invoices where account_id = ${client.id}`,
  )
  const recordId = BigInt(rows[0]!.id)
  const plan = await planOf((db) => listEvents(db, client.id, { type, recordId }, start, 101))
  expect(plan).toContain('event_packs_of_invoice')
  expect(plan).not.toMatch(/Seq Scan on (invoices|event_rows)/)
})

test('a page of invoices of a customer who has 50,000, of which only those of the page are read', async () => {
  const { rows } = await owner.query<{ id: string }>(
    `select max(customer_id) as id from perennial.invoices where account_id = ${client.id}`,
  )
  const customerId = BigInt(rows[0]!.id)
  for (const isNewestFirst of [false, true]) {
    const page = { fromId: isNewestFirst ? 2n ** 40n : 0n, skip: 300, isNewestFirst }
    const plan = await planOf((db) => listInvoices(db, client.id, { customerId }, page, 101, '2026-01-01'))
    // All invoices of the account belong to one customer, so that the index of all is as good as that of the customer.
    expect(plan).toMatch(/Merge Append[^]*Index Scan (Backward )?using invoices_(pkey|in_rows_of_customer) on invoices/)
    expect(plan).toMatch(/Index Scan using invoices_of_customer on invoices/)
    expect(plan).not.toMatch(/Seq Scan on invoices/)
  }
})

test.each([
  ['taxes', taxesOfPeriod],
  ['sales', salesOfPeriod],
  ['revenue', (db: Snapshot, period: ReportPeriod) => revenueOfPeriod(db, period, 'month')],
])('%s of a month among years, and what was cancelled, credited and relieved in it', async (_, read) => {
  const plan = await planOf((db) =>
    read(db, { account: client.id, from: '2021-03-01', to: '2021-03-31', currency: null }),
  )
  for (const index of ['invoices_cancelled', 'ledger_rows_of_taken_taxes']) expect(plan).toContain(index)
  expect(plan).not.toMatch(/Seq Scan on (invoices|charge_rows|ledger_rows|settlements|credit_note_lines)/)
})

test('what notes took of lines is found note by note and invoice by invoice', async () => {
  const asAt = { account: client.id, date: '2021-03-31', now: '2021-03-31T00:00:00.000Z', currency: null }
  for (const plan of [
    await planOf((db) => revenueOfPeriod(db, { ...asAt, from: '2021-03-01', to: '2021-03-31' }, 'package')),
    await planOf((db) => chargesBeyond(db, asAt, 'package')),
  ])
    for (const index of ['credit_note_lines_pkey', 'settlements_by_invoice', 'charges_by_invoice'])
      expect(plan).toContain(index)
})
