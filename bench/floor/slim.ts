import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

/** The slim floor of the billing run: COPY of one row an invoice with three indexes, and two UPDATEs in place, in one transaction. */

const { connection, count } = JSON.parse(process.argv[2] ?? '') as { connection: pg.ClientConfig; count: number }
const LINES_A_PIECE = 500

function* pieces(): Generator<string> {
  let text = ''
  for (let id = 1; id <= count; id += 1) {
    text += `1\t${id}\t${id}\t${id}\t1\t2027-02-01\t2027-02-15\t11499\n`
    if (id % LINES_A_PIECE === 0) {
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
await client.query('begin')
await pipeline(Readable.from(pieces(), { objectMode: false }), client.query(copyFrom('copy floor.invoices from stdin')))
await client.query(
  `update floor.states set next_from = next_from + interval '1 month', last_from = next_from where account_id = 1`,
)
await client.query('update floor.totals set receivable_minor = receivable_minor + 11499 where account_id = 1')
await client.query('commit')
const { user, system } = process.cpuUsage(before)
const seconds = (performance.now() - startedMs) / 1000
await client.end()
process.send?.({ seconds, cpu: (user + system) / 1e6 })
process.disconnect()
