import { createReadStream, readdirSync } from 'node:fs'
import { join } from 'node:path'
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

/** Reads what statements have cost, each time on from where the last reading ended. */
export class StatementCosts {
  readonly #folder: string
  readonly #found = new Map<string, Map<string, number>>()
  /** Of each file: how many bytes were read, and what came behind the last whole line. */
  readonly #read = new Map<string, { bytes: number; rest: Buffer }>()

  constructor(cluster: string) {
    this.#folder = join(cluster, FOLDER)
  }

  /** Returns the highest processor time of each statement of a database in milliseconds, by their texts; planning and running are counted apart. */
  async of(database: string): Promise<ReadonlyMap<string, number>> {
    for (const name of readdirSync(this.#folder).filter((file) => file.endsWith('.json'))) await this.#readOn(name)
    return this.#found.get(database) ?? new Map<string, number>()
  }

  async #readOn(name: string): Promise<void> {
    let { bytes, rest } = this.#read.get(name) ?? { bytes: 0, rest: Buffer.alloc(0) }
    for await (const piece of createReadStream(join(this.#folder, name), { start: bytes })) {
      const text = Buffer.concat([rest, piece as Buffer])
      const end = text.lastIndexOf('\n') + 1
      for (const line of text.toString('utf8', 0, end).split('\n')) this.#note(line)
      rest = text.subarray(end)
      bytes += (piece as Buffer).length
    }
    this.#read.set(name, { bytes, rest })
  }

  #note(line: string): void {
    if (!line.includes(' STATISTICS"')) return
    const { dbname = '', detail = '', statement = '' } = JSON.parse(line) as Line
    const [, user = '0', system = '0'] = COST.exec(detail) ?? []
    const ofDatabase = this.#found.get(dbname) ?? new Map<string, number>()
    const ms = (Number(user) + Number(system)) * 1000
    ofDatabase.set(statement, Math.max(ms, ofDatabase.get(statement) ?? 0))
    this.#found.set(dbname, ofDatabase)
  }
}
