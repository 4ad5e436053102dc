import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject } from 'vitest'
import type { Connection } from '../../src/platform/database/database.ts'
import { migrate } from '../../src/platform/database/migrations.ts'
import { prepareRoles } from '../../src/platform/database/roles.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'

const MIGRATIONS = new URL('../../db/migrations', import.meta.url).pathname

/** Makes a database as it was before a migration, has it filled with rows of that time, and brings it up to date. */
export async function databaseBefore(
  migration: string,
  fill: (client: pg.Client) => Promise<unknown>,
): Promise<Connection> {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-migrations-'))
  for (const name of readdirSync(MIGRATIONS).filter((file) => file < migration))
    cpSync(join(MIGRATIONS, name), join(folder, name))
  const server = inject('databaseServer')
  const connection = { ...server, database: `test_${randomBytes(6).toString('hex')}` }
  await withClient({ ...server, database: 'postgres' }, (admin) =>
    admin.query(`create database ${connection.database}`),
  )
  const { owner } = await prepareRoles(connection)
  await migrate(connection, owner, folder)
  rmSync(folder, { recursive: true })
  await withClient(connection, fill)
  const ran = await migrate(connection, owner, MIGRATIONS)
  expect(ran[0]).toBe(migration)
  return connection
}

/** Runs work on one connection as the owner of the database. */
export async function withClient(connection: Connection, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const one = new pg.Client(clientConfig(connection, undefined))
  await one.connect()
  await work(one).finally(() => one.end())
}

/** Names of tables and columns before a migration, with the names under which the same is found today. */
export type NamedToday = Record<string, { table: string; columns: Record<string, string> }>

/** Events as they were before those of issued invoices shared rows. */
const EVENTS_ONE_BY_ONE = `(
  select * from events
  union all
  select s.account_id, s.first_event_id + k, 'invoice.issued', i.invoice_id, i.customer_id, s.happened_at, s.actor, null,
         (s.records -> coalesce(s.places[k + 1], least(k, jsonb_array_length(s.records) - 1))::integer)
           || jsonb_strip_nulls(jsonb_build_object('customerPaymentMethodID', s.method_ids[k + 1], 'poNumber', s.po_numbers[k + 1])), s.recorded_at
    from issued_events s cross join lateral generate_series(0, s.last_event_id - s.first_event_id) as k
    join invoices i on i.account_id = s.account_id and i.invoice_id = s.first_invoice_id + k) e`

/** Columns of rows that hold something else since their table has another column: as they were before, made of those of today. */
const BEFORE: Record<string, { since: string; columns: Record<string, string> }> = {
  subscription_billing: { since: 'cycle_on', columns: { due_on: 'coalesce(due_on, cycle_on)' } },
  outbox: {
    since: 'facts',
    columns: Object.fromEntries(
      ['subject', 'text_body', 'html_body'].map((name) => [name, `coalesce(${name}, 'made of facts')`]),
    ),
  },
}

/** Copies the rows of a service's database into one of an older schema, as far as it has their tables and columns; tables that went since stay empty. */
export async function copyRows(from: pg.Client, to: pg.Client, namedToday: NamedToday = {}): Promise<void> {
  await to.query('set session_replication_role = replica')
  const { rows: tables } = await to.query<{ name: string; columns: string[] }>(`
    select table_name as name, array_agg(column_name::text order by ordinal_position) as columns from information_schema.columns
     where table_schema = 'perennial' and is_generated = 'NEVER' and table_name in (select tablename from pg_tables where schemaname = 'perennial')
       and table_name <> 'migrations' group by table_name`)
  const { rows: ofToday } = await from.query<{ name: string }>(
    `select table_name::text as name from information_schema.tables where table_schema = 'perennial'`,
  )
  const isThere = new Set(ofToday.map(({ name }) => name))
  const hadRowsOfTheirOwn = !tables.some(({ name }) => name === 'issued_events')
  for (const { name, columns } of tables) {
    const today = namedToday[name] ?? { table: name, columns: {} }
    if (!isThere.has(today.table)) continue
    const before = BEFORE[name]
    const held = { ...(before && !columns.includes(before.since) && before.columns), ...today.columns }
    const wanted = columns.map((column) => `${held[column] ?? column} as ${column}`)
    const { rows } = await from.query<{ all: string }>(
      `select coalesce(json_agg(r), '[]')::text as all
         from (select ${wanted.join(', ')} from ${name === 'events' && hadRowsOfTheirOwn ? EVENTS_ONE_BY_ONE : today.table}) r`,
    )
    await to.query(`delete from ${name}`)
    await to.query(
      `insert into ${name} (${columns.join(', ')}) overriding system value
       select ${columns.join(', ')} from json_populate_recordset(null::${name}, $1::json)`,
      [rows[0]!.all],
    )
  }
  await goOnAfterRows(to)
}

/** Sets every identity to go on after the rows that were copied. */
async function goOnAfterRows(to: pg.Client): Promise<void> {
  const { rows } = await to.query<{ name: string; column: string }>(`
    select table_name as name, column_name as column from information_schema.columns
     where table_schema = 'perennial' and is_identity = 'YES'`)
  for (const { name, column } of rows)
    await to.query(
      `select setval(pg_get_serial_sequence('perennial.${name}', '${column}'), greatest(max(${column}), 1)) from ${name}`,
    )
}
