import { createHash } from 'node:crypto'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { type EndLine, FORMAT, FORMAT_VERSION, type Header, ROWS_END, Tally } from './format.ts'
import { copied, listMigrations, listSequences, listTables } from './tables.ts'

/** Writes all that a database keeps, as one moment shows it, in a form that another database takes in, of another version too. */

/** Returns the parts of an export one after the other; `ended` is called with its last line. The client is the owner's, outside of a transaction. */
export async function* exportParts(
  client: pg.ClientBase,
  about: { program: string; madeAt: string },
  ended: (end: EndLine) => void,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let rows = 0
  const counted = (part: Buffer) => {
    hash.update(part)
    return part
  }
  const line = (value: unknown) => counted(Buffer.from(`${JSON.stringify(value)}\n`))
  await client.query('begin isolation level repeatable read read only')
  try {
    const [{ postgres }] = (await client.query(`select current_setting('server_version') as postgres`)).rows as [
      Pick<Header, 'postgres'>,
    ]
    const migrations = await listMigrations(client)
    const { program, madeAt } = about
    yield line({
      format: FORMAT,
      formatVersion: FORMAT_VERSION,
      madeAt,
      program,
      postgres,
      migrations,
    } satisfies Header)
    const tables = await listTables(client)
    for (const table of tables) {
      yield line(table)
      const tally = new Tally()
      for await (const part of client.query(copyTo(`copy ${copied(table)} to stdout`)) as AsyncIterable<Buffer>) {
        tally.add(part)
        yield counted(part)
      }
      rows += tally.rows
      yield counted(Buffer.from(ROWS_END))
      yield line(tally.line())
    }
    yield line({ sequences: await listSequences(client) })
    const end: EndLine = { tables: tables.length, rows, sha256: hash.copy().digest('hex') }
    yield line(end)
    await client.query('commit')
    ended(end)
  } finally {
    await client.query('rollback').catch(() => {})
  }
}
