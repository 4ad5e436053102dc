import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

/** The floor of the billing run: COPY of as many rows into the reference tables, and one UPDATE of the subscriptions, in one transaction. */

const { connection, count, lines } = JSON.parse(process.argv[2] ?? '') as {
  connection: pg.ClientConfig
  count: number
  /** Charges an invoice: of the package, and of components where there are any. */
  lines: number
}
const LINES_A_PIECE = 500

const CHARGES = ['package', 'component', 'metered', 'metered'].slice(0, lines)

const chargeLine = (id: number, line: number, kind: string): string =>
  `1\t${id}\t${line}\t${id}\t${kind}\tStandard package\t2027-02-01\t2027-03-01\t9999\t11499\n`

const TABLES: Record<string, (id: number) => string> = {
  invoices: (id) => `1\t${id}\t${id}\t${id}\tUSD\t2027-02-01\t2027-02-15\t11499\n`,
  charges: (id) => CHARGES.map((kind, index) => chargeLine(id, index + 1, kind)).join(''),
  taxes: (id) => `1\t${id}\t1\tVAT\t0.15\t9999\t1500\n`,
  entries: (id) =>
    `1\t${2 * id}\t${id}\t${id}\treceivable\trevenue\tUSD\t9999\t2027-02-01\n1\t${2 * id + 1}\t${id}\t${id}\treceivable\ttax\tUSD\t1500\t2027-02-01\n`,
  events: (id) => `1\t${id}\tinvoice.issued\t${id}\t${id}\t2027-02-01 00:00:00+00\tbilling run 1\n`,
}

function* pieces(line: (id: number) => string): Generator<string> {
  let text = ''
  for (let id = 1; id <= count; id += 1) {
    text += line(id)
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
for (const [table, line] of Object.entries(TABLES)) {
  const stream = client.query(copyFrom(`copy floor.${table} from stdin`))
  await pipeline(Readable.from(pieces(line), { objectMode: false }), stream)
}
await client.query(`update floor.subscriptions set next_from = next_from + interval '1 month', due_on = due_on + interval '1 month'
  where account_id = 1 and due_on <= '2027-02-01'`)
await client.query('commit')
const { user, system } = process.cpuUsage(before)
const seconds = (performance.now() - startedMs) / 1000
await client.end()
process.send?.({ seconds, cpu: (user + system) / 1e6 })
process.disconnect()
