import pg from 'pg'
import type { Connection } from '../../src/platform/database/database.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'

/** Runs work on one connection as the owner of the database. */
export async function withOwner(connection: Connection, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const one = new pg.Client(clientConfig(connection, undefined))
  await one.connect()
  await work(one).finally(() => one.end())
}
