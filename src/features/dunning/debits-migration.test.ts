import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/support/app.ts'
import { databaseBefore } from '../../../test/support/older-database.ts'
import { sql } from '../../platform/database/sql.ts'
import { insertDunningByHand, insertDunningLater } from './queries.ts'

test('what fell due on bank accounts before they could be debited is old: no step of it comes, and nothing plans one later', async () => {
  const connection = await databaseBefore('0043_lines_of_service.sql', (client) =>
    client.query(`
      set search_path = perennial;
      insert into accounts (account_id, mode, name, currency, created_at, time_zone, clock_at)
        values (1, 'test', 'Old', 'USD', '2026-01-01', 'Pacific/Auckland', '2027-02-09T12:00:00Z');
      insert into account_currencies (account_id, currency) values (1, 'USD');
      insert into customers (account_id, customer_id, reference, is_company, name, currency, created_at, is_waive_taxes, payment_method,
          auto_send_invoice, auto_send_statement, is_collection_hold)
        values (1, 1, 'C1', true, 'Acme', 'USD', '2026-01-01', false, 'debit_order', false, false, false);
      insert into invoices (account_id, invoice_id, customer_id, currency, number, invoice_date, due_date, issued_at, last_updated, source,
          collection_method, total_minor, account_version, customer_version)
        select 1, id, 1, 'USD', id, '2027-01-20', due::date, '2027-01-20', '2027-01-20', 'App', method, 100, 1, 1
          from (values (1, '2027-02-09', 'debit_order'), (2, '2027-02-10', 'debit_order'), (3, '2027-02-20', 'debit_order'),
            (4, '2027-02-01', 'credit_card')) as old(id, due, method);
      insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
        select 1, invoice_id, 1, due_date, due_date from invoices`),
  )
  const db = openTestDatabase(connection)
  const dunned = () =>
    db.reader(1n).rows<{ id: bigint; dueOn: string | null; isSettled: boolean }>(sql`
      select invoice_id as "id", due_on as "dueOn", is_settled as "isSettled" from dunning where account_id = ${1n} order by invoice_id`)
  try {
    // It is 10 February in Auckland. What falls due from then on is looked at now, because it enters its batch ahead.
    const kept = [
      { id: 2n, dueOn: '2027-02-10', isSettled: false },
      { id: 3n, dueOn: '2027-02-10', isSettled: false },
      { id: 4n, dueOn: '2027-02-01', isSettled: false },
    ]
    expect(await dunned()).toEqual(kept)
    await db.transaction(1n, (tx) => insertDunningLater(tx, 1n, '2027-02-12'))
    expect(await dunned()).toEqual(kept)
    // Collected by hand it is dunned, and still nothing comes on its own.
    await db.transaction(1n, (tx) => insertDunningByHand(tx, 1n))
    expect((await dunned())[0]).toMatchObject({ id: 1n, isSettled: true })
  } finally {
    await db.close()
  }
})
