import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'

/** Migrations that move what is stored are done on a database that has something stored. */

const MIGRATIONS = new URL('../../db/migrations', import.meta.url).pathname

/** A client of a database that has all migrations before one, and a way to do the rest. */
async function databaseBefore(first: string): Promise<{ client: pg.Client; finish: () => Promise<void> }> {
  const server = inject('databaseServer')
  const database = `migrated_${randomBytes(6).toString('hex')}`
  const admin = new pg.Client({ ...server, database: 'postgres' })
  await admin.connect()
  await admin.query(`create database ${database}`)
  await admin.end()
  const { owner } = await prepareRoles({ ...server, database })
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  for (const name of readdirSync(MIGRATIONS)) if (name < first) copyFileSync(join(MIGRATIONS, name), join(folder, name))
  await migrate({ ...server, database }, owner, folder)
  rmSync(folder, { recursive: true })
  const client = new pg.Client({ ...server, database, options: '-c search_path=perennial' })
  await client.connect()
  return { client, finish: async () => void (await migrate({ ...server, database }, owner, MIGRATIONS)) }
}

test('0009 carries over where billing of every subscription stands, and an end as well as what is still to come', async () => {
  const { client, finish } = await databaseBefore('0009')
  try {
    // Only the row itself matters here, not the catalogue and the customers that it names.
    await client.query(`
      set session_replication_role = replica;
      insert into subscriptions (account_id, subscription_id, customer_id, package_id, package_version_id, package_rate_term_id, currency, start_date,
          anchor, anchor_day, term, term_type, is_pro_rata, lead_days, fees_on, next_from, last_from, last_invoice_date, due_on, created_at, last_modified)
        values (1, 7, 3, 1, 1, 1, 'USD', '2027-01-01', '2027-01-01', 1, 1, 'months', true, 0, '2027-01-05', '2027-03-01', '2027-02-01', '2027-02-02',
                '2027-03-01', now(), now()),
               (2, 8, 4, 1, 1, 1, 'USD', '2027-01-01', '2027-01-01', 1, 1, 'months', true, 0, null, '2027-03-01', null, null, null, now(), now());
      set session_replication_role = default`)
    await finish()
    const { rows } = await client.query(`
      select account_id::int, subscription_id::int, customer_id::int, fees_on::text, next_from::text, last_from::text, last_invoice_date::text, due_on::text
        from subscription_billing order by subscription_id`)
    expect(rows.map((row) => Object.values(row))).toEqual([
      [1, 7, 3, '2027-01-05', '2027-03-01', '2027-02-01', '2027-02-02', '2027-03-01'],
      [2, 8, 4, null, '2027-03-01', null, null, null],
    ])
  } finally {
    await client.end()
  }
})

test.each([
  ['0027 notes that a database with kept answers has derived keys, which the next start stores', true],
  ['0027 leaves the keys of a database that has sealed nothing to be drawn', false],
])('%s', async (_, hasKept) => {
  const { client, finish } = await databaseBefore('0027')
  try {
    if (hasKept)
      await client.query(`
        set session_replication_role = replica;
        insert into idempotency_keys (account_id, key, request_hash, status, headers, created_at) values (1, 'k', '\\x00', 201, '{}', now());
        set session_replication_role = default`)
    await finish()
    const { rows } = await client.query('select purpose, wrapped from data_keys order by purpose')
    const noted = ['idempotency body', 'idempotency hash', 'outbox'].map((purpose) => ({ purpose, wrapped: null }))
    expect(rows).toEqual(hasKept ? noted : [])
  } finally {
    await client.end()
  }
})
