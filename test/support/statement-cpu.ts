import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import type { Connection } from '../../src/platform/database/database.ts'
import type { ServerSettings } from '../../src/platform/postgres/settings.ts'

/**
 * The processor time of each statement, as the database's own processes count it: waiting for a lock, for the disk or for other programs costs none.
 * The server writes it into its log, in files below the folder of its data.
 */

const FOLDER = 'statements'

/** Settings of a server whose log names the processor time of every statement of databases that `measured` was called for. */
export const MEASURING: ServerSettings = {
  logging_collector: 'on',
  log_destination: 'jsonlog',
  log_directory: FOLDER,
  log_rotation_size: 0,
  log_error_verbosity: 'default',
  log_min_error_statement: 'error',
}

/** Lets a database note what its statements cost, from the next connection on. */
export async function measured({ database, ...server }: Connection): Promise<void> {
  const admin = new pg.Client({ ...server, database: 'postgres' })
  await admin.connect()
  await admin.query(`alter database ${database} set log_statement_stats = on`)
  await admin.end()
}

interface Line {
  dbname?: string
  message: string
  detail?: string
  statement?: string
}

const COST = /([\d.]+) s user, ([\d.]+) s system, [\d.]+ s elapsed/

/** Returns the highest processor time of each statement of each database in milliseconds, by their texts; planning and running are counted apart. */
export async function statementCosts(cluster: string): Promise<Map<string, Map<string, number>>> {
  const found = new Map<string, Map<string, number>>()
  const folder = join(cluster, FOLDER)
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.json')))
    for await (const text of createInterface({ input: createReadStream(join(folder, name)) })) {
      if (!text.includes(' STATISTICS"')) continue
      const { dbname = '', detail = '', statement = '' } = JSON.parse(text) as Line
      const [, user = '0', system = '0'] = COST.exec(detail) ?? []
      const ofDatabase = found.get(dbname) ?? new Map<string, number>()
      const ms = (Number(user) + Number(system)) * 1000
      ofDatabase.set(statement, Math.max(ms, ofDatabase.get(statement) ?? 0))
      found.set(dbname, ofDatabase)
    }
  return found
}
