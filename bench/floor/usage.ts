import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

/** The floor of usage in bulk: COPY of as many reports into the reference table, one transaction for each request of the service. */

interface Settings {
  connection: pg.ClientConfig
  batches: number
  entries: number
  subscriptions: number
  turn: number
}

const { connection, batches, entries, subscriptions, turn } = JSON.parse(process.argv[2] ?? '') as Settings
const LINES_A_PIECE = 500
const SHARERS = 1000

function* pieces(batch: number): Generator<string> {
  let text = ''
  for (let index = 0; index < entries; index += 1) {
    const subscription = 1 + ((batch * SHARERS + (index % SHARERS)) % subscriptions)
    text += `1\t${subscription}\t2\t1.5\t2027-01-15\tturn-${turn}-batch-${batch}-entry-${index}\t2027-01-15 12:00:00+00\n`
    if (index % LINES_A_PIECE === LINES_A_PIECE - 1) {
      yield text
      text = ''
    }
  }
  if (text !== '') yield text
}

const client = new pg.Client(connection)
await client.connect()
const before = process.cpuUsage()
const startedMs = performance.now()
for (let batch = 0; batch < batches; batch += 1) {
  const stream = client.query(
    copyFrom(
      'copy floor.usage (account_id, subscription_id, component_id, units, usage_date, usage_key, recorded_at) from stdin',
    ),
  )
  await pipeline(Readable.from(pieces(batch), { objectMode: false }), stream)
}
const { user, system } = process.cpuUsage(before)
const seconds = (performance.now() - startedMs) / 1000
await client.end()
process.send?.({ seconds, cpu: (user + system) / 1e6 })
process.disconnect()
