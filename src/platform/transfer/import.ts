import { once } from 'node:events'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { conflict } from '../../kernel/fault.ts'
import {
  type EndLine,
  ExportReader,
  FORMAT,
  FORMAT_VERSION,
  type Header,
  type RowsLine,
  type SequenceLine,
  type TableLine,
  Tally,
  UnreadableExport,
} from './format.ts'
import { copied, listMigrations, listTables, qualified } from './tables.ts'

/** Takes an export into an empty database: all of it in one transaction, or nothing. */

/** How long other work of the database may be waited for. */
const LOCK_MS = 10_000

/**
 * Imports what `source` holds and returns its last line; `check` is called before it is committed. Throws a Fault where the database has accounts or
 * another schema, and UnreadableExport; nothing is changed then. The client is the owner's, outside of a transaction.
 */
export async function importParts(
  client: pg.ClientBase,
  source: AsyncIterable<Buffer>,
  check: () => Promise<void>,
): Promise<EndLine> {
  const reader = new ExportReader(source)
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = ${LOCK_MS}`)
    await checkSchema(client, headerOf(await reader.line()))
    const tables = await listTables(client)
    await empty(client, tables)
    const end = await takeAll(client, reader, tables)
    // What readers know of it may have been committed after the export was made: all records count as updated now.
    await client.query('update perennial.updates_floor set since = clock_timestamp()')
    await check()
    await client.query('commit')
    await client.query(`analyze ${listed(tables)}`)
    return end
  } finally {
    await client.query('rollback').catch(() => {})
  }
}

function headerOf(line: Record<string, unknown>): Header {
  if (line['format'] !== FORMAT) throw new UnreadableExport('it is no export of Perennial')
  if (line['formatVersion'] !== FORMAT_VERSION)
    throw new UnreadableExport(`it has format ${String(line['formatVersion'])}, this version reads ${FORMAT_VERSION}`)
  return line as unknown as Header
}

async function checkSchema(client: pg.ClientBase, { migrations, program }: Header): Promise<void> {
  const own = await listMigrations(client)
  const differs = (one: Header['migrations'], other: Header['migrations']) =>
    one.find(({ version, hash }) => !other.some((its) => its.version === version && its.hash === hash))
  const [foreign, lacking] = [differs(migrations, own), differs(own, migrations)]
  if (foreign === undefined && lacking === undefined) return
  throw conflict(
    'schema_differs',
    `The export was made by Perennial ${program} with the schema ${migrations.at(-1)?.name ?? 'of before all migrations'}, this database has ${own.at(-1)?.name ?? 'none'}${
      foreign && lacking ? `, and ${foreign.name} is another one here` : ''
    }: import it with the version that made it, and upgrade then.`,
  )
}

const listed = (tables: readonly TableLine[]): string => tables.map(({ table }) => qualified(table)).join(', ')

/** Empties the tables of what a new database comes with. Throws a Fault where there is an account. */
async function empty(client: pg.ClientBase, tables: readonly TableLine[]): Promise<void> {
  const names = listed(tables)
  try {
    await client.query(`lock table ${names}`)
  } catch (error) {
    if ((error as { code?: string }).code !== '55P03') throw error
    throw conflict('database_used', 'The database is in use: end the service that works on it, then import.')
  }
  const { rowCount } = await client.query('select 1 from perennial.accounts limit 1')
  if (rowCount !== 0)
    throw conflict('database_not_empty', 'The database has accounts: an export is imported into an empty one only.')
  await client.query(`truncate ${names}`)
}

async function takeAll(client: pg.ClientBase, reader: ExportReader, tables: readonly TableLine[]): Promise<EndLine> {
  const left = new Map(tables.map((table) => [table.table, table]))
  let rows = 0
  for (;;) {
    const before = reader.sha256
    const line = await reader.line()
    if (typeof line['table'] === 'string') {
      const table = left.get(line['table'])
      if (JSON.stringify(table?.columns) !== JSON.stringify(line['columns']) || !table)
        throw new UnreadableExport(`its table ${line['table']} is not one of this database`)
      left.delete(table.table)
      rows += await takeRows(client, reader, table)
    } else if (Array.isArray(line['sequences'])) await setSequences(client, line['sequences'] as SequenceLine[])
    else {
      const end = line as unknown as EndLine
      if (left.size > 0 || end.sha256 !== before || end.rows !== rows)
        throw new UnreadableExport('what it says at its end is not what it holds')
      return end
    }
  }
}

async function takeRows(client: pg.ClientBase, reader: ExportReader, table: TableLine): Promise<number> {
  const tally = new Tally()
  const copy = client.query(copyFrom(`copy ${copied(table)} from stdin`))
  // After the database has refused a row, the stream of pg-copy-streams has no connection: it can neither be written to nor destroyed.
  let isRefused = false
  const failed = new Promise<never>((_, reject) =>
    copy.once('error', (error) => {
      isRefused = true
      reject(error)
    }),
  )
  failed.catch(() => {})
  try {
    for await (const part of reader.rows()) {
      if (isRefused) await failed
      tally.add(part)
      if (!copy.write(part)) await Promise.race([once(copy, 'drain'), failed])
    }
    if (isRefused) await failed
    copy.end()
    await Promise.race([once(copy, 'finish'), failed])
  } catch (error) {
    if (!isRefused) copy.destroy()
    throw rowsFailure(table, error)
  }
  const given = (await reader.line()) as unknown as RowsLine
  const counted = tally.line()
  if (given.rows !== counted.rows || given.sha256 !== counted.sha256)
    throw new UnreadableExport(`the rows of its table ${table.table} were changed`)
  return counted.rows
}

/** Class of errors of PostgreSQL about values, and about constraints. */
const OF_VALUES = /^2[23]/

function rowsFailure({ table }: TableLine, error: unknown): unknown {
  const { code = '' } = error as { code?: string }
  return OF_VALUES.test(code) ? new UnreadableExport(`the rows of its table ${table} do not fit (${code})`) : error
}

async function setSequences(client: pg.ClientBase, sequences: readonly SequenceLine[]): Promise<void> {
  for (const { sequence, last, isCalled } of sequences)
    await client.query('select setval($1::regclass, $2::bigint, $3)', [qualified(sequence), last, isCalled])
}
