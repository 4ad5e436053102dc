import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as rest } from 'node:timers/promises'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { foreignServer } from './foreign-server.ts'
import { serve, type Serving, startedFolder, testFolder } from './program.ts'

export type Row = Record<string, any>

/** Whoever is waited for needs the cores; a question of the database right after the other takes one and a half of them. */
const ASK_AGAIN_MS = 5

/**
 * Serves a test account from a database that is somebody else's and stays up, whatever is killed: so that a lock of the test can hold processes at
 * the place at which they are killed. `more` are settings beside its own.
 */
export async function serveForeignShop(more: Readonly<Record<string, string>> = {}) {
  const folder = startedFolder()
  const { admin, url, host, port } = await foreignServer({ folder })
  await admin.query('create role billing login superuser')
  const env = { DATABASE_URL: url('billing', 'perennial'), DATA_DIR: testFolder(), LOG_LEVEL: 'warn', ...more }
  copyFileSync(join(folder, 'encryption.key'), join(env.DATA_DIR, 'encryption.key'))
  const { account, key } = inject('started')
  const first: Serving = { ...(await serve(env, ['--no-worker'])), account, key }
  const clients: pg.Client[] = []
  const connect = async () => {
    const options = '-c search_path=perennial'
    const client = new pg.Client({ host, port, user: 'billing', database: 'perennial', options })
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
  /** Asks again and again until a figure of the database is as it is wanted. */
  const untilFigure = async (figure: string, isWanted: (n: number) => boolean) => {
    while (!isWanted((await rows(`select (${figure})::int as n`))[0]?.['n'] ?? 0)) await rest(ASK_AGAIN_MS)
  }
  const until = (figure: string, wanted: number) => untilFigure(figure, (n) => n === wanted)
  const authorization = `Basic ${Buffer.from(`${first.account}:${first.key}`).toString('base64')}`
  return { env, first, connect, rows, until, untilFigure, authorization, account }
}
