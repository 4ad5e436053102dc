import { rmSync } from 'node:fs'
import pg from 'pg'
import { startEmbeddedPostgres } from '../src/platform/postgres/supervisor.ts'

/** Starts the server of a test run that had KEEP_DATABASE set, lists its databases, and removes its folder on Ctrl-C. */

const [dataDir] = process.argv.slice(2)
if (dataDir === undefined) throw new Error('The folder that the test run named is missing.')
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
const postgres = await startEmbeddedPostgres({ dataDir, log: silent })
const { host, port, user } = postgres.connection
const client = new pg.Client({ host, port, user, database: 'postgres' })
await client.connect()
const { rows } = await client.query<{ name: string }>(
  `select datname as name from pg_database where datname like 'test\\_%' order by 1`,
)
await client.end()
for (const { name } of rows) console.log(`psql -h ${host} -p ${port} -U ${user} ${name}`)
console.log('Their tables are in the schema perennial. Ctrl-C stops the server and removes the folder.')
process.once('SIGINT', async () => {
  await postgres.stop()
  rmSync(dataDir, { recursive: true, force: true })
})
