import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/support/app.ts'
import { databaseBefore } from '../../../test/support/older-database.ts'
import { listAllGateways } from './queries.ts'

test('a test account of before there were gateways gets its sandbox, a live one none', async () => {
  const connection = await databaseBefore('0028_gateways.sql', (client) =>
    client.query(`
      set search_path = perennial;
      insert into accounts (account_id, mode, name, currency, created_at)
        values (1, 'test', 'Old', 'USD', '2026-01-01'), (2, 'live', 'Old', 'USD', '2026-01-01');
      insert into account_currencies (account_id, currency) values (1, 'USD'), (2, 'USD')`),
  )
  const db = openTestDatabase(connection)
  try {
    const [sandbox, ...others] = await listAllGateways(db.reader(1n), 1n)
    expect(sandbox).toMatchObject({ type: 'sandbox', name: 'Sandbox', isActive: true, accountCurrencies: ['USD'] })
    expect([others, await listAllGateways(db.reader(2n), 2n)]).toEqual([[], []])
  } finally {
    await db.close()
  }
})
