import pg from 'pg'
import { onTestFinished } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { serve, testFolder } from './program.ts'

export type Row = Record<string, any>

/**
 * Serves a test account from a database that is somebody else's and stays up, whatever is killed: so that a lock of the test can hold processes at
 * the place at which they are killed. `more` are settings beside its own.
 */
export async function serveForeignShop(more: Readonly<Record<string, string>> = {}) {
  const { admin, url, host, port } = await foreignServer()
  await admin.query('create role billing login superuser')
  await admin.query('create database billing owner billing')
  const env = {
    DATABASE_URL: url('billing', 'billing'),
    DATA_DIR: testFolder(),
    LOG_LEVEL: 'warn',
    BOOTSTRAP_ACCOUNT_MODE: 'test',
    ...more,
  }
  const first = await serve(env, ['--no-worker'])
  const clients: pg.Client[] = []
  const connect = async () => {
    const options = '-c search_path=perennial'
    const client = new pg.Client({ host, port, user: 'billing', database: 'billing', options })
    client.on('error', () => {})
    await client.connect()
    clients.push(client)
    return client
  }
  onTestFinished(async () => {
    for (const client of clients) await client.end()
  })
  const book = await connect()
  const rows = async (text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    (await book.query(text, [...values])).rows
  /** Asks again and again until a figure of the database is reached. */
  const until = async (figure: string, wanted: number) => {
    while ((await rows(`select (${figure})::int as n`))[0]?.['n'] !== wanted);
  }
  const authorization = `Basic ${Buffer.from(`${first.account}:${first.key}`).toString('base64')}`
  return { env, first, connect, rows, until, authorization, account: first.account ?? 0 }
}
