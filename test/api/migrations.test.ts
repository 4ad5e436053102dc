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

test('0100 finds keys of before by their hash, beside a service that works, and goes on behind an index that was broken off', async () => {
  const { client, finish } = await databaseBefore('0100')
  try {
    const insert = (key: string | null, subscription = 1) =>
      client.query(
        `insert into usage_entries (account_id, subscription_id, component_id, units, is_set, usage_date, usage_key, recorded_at)
         values (1, $2, 1, 1, false, '2027-01-01', $1, now())`,
        [key, subscription],
      )
    for (const key of ['a', 'b', null, null]) await insert(key)
    await insert('a', 2)
    // As the start that made it left it: with rows that contradict it, and without use.
    await client.query('alter table usage_entries add key_no smallint not null default 0')
    await expect(
      client.query('create unique index concurrently usage_entries_hash on usage_entries (account_id, component_id)'),
    ).rejects.toThrow(/usage_entries_hash/)
    await client.query('begin')
    await insert('c')
    const finished = finish()
    // The index is made beside a writer that has not ended; whoever comes meanwhile waits half a second at most.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    await client.query('commit')
    await finished
    const { rows } = await client.query(
      `select pg_get_indexdef(indexrelid) as text, indisvalid from pg_index where indrelid = 'usage_entries'::regclass order by indexrelid = 'usage_entries_pkey'::regclass`,
    )
    expect(rows).toHaveLength(2)
    expect(rows.every(({ indisvalid }) => indisvalid)).toBe(true)
    expect(rows[0].text).toContain('hashtextextended(usage_key, (0)::bigint), key_no')
    const { rows: kept } = await client.query('select usage_key, key_no from usage_entries order by usage_id')
    expect(kept.map(({ usage_key, key_no }) => [usage_key, key_no])).toEqual(
      ['a', 'b', null, null, 'a', 'c'].map((key) => [key, 0]),
    )
    for (const key of ['a', 'c']) await expect(insert(key)).rejects.toMatchObject({ constraint: 'usage_entries_hash' })
    await insert(null)
  } finally {
    await client.end()
  }
})
