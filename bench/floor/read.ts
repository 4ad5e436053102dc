import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'

/**
 * The floor of reading: a bare node:http server that sets the account and runs the one prepared statement in the same way as the service
 * (one exchange, two pipelined connections), and answers bytes that it was given.
 */

const { connection, statement, account, today, bodyFile, limit } = JSON.parse(process.argv[2] ?? '') as {
  connection: pg.ClientConfig
  statement: string
  account: number
  today: string
  /** Holds the bytes to answer. */
  bodyFile: string
  /** How many a list answers; absent for the read of one. */
  limit?: number
}
const LANES = 2
const SCOPE = { name: 'scope', text: "select set_config('app.account_id', $1, true)" }

interface Wire {
  bind(message: object): void
  execute(message: object): void
}
const BaseQuery = pg.Query as unknown as new (config: object) => {
  prepare(wire: Wire): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, wire: unknown): void
}

class ScopedQuery extends BaseQuery {
  isScoped = false
  override prepare(wire: Wire): void {
    wire.bind({ statement: SCOPE.name, values: [String(account)] })
    wire.execute({})
    super.prepare(wire)
  }
  override handleDataRow(message: unknown): void {
    if (this.isScoped) super.handleDataRow(message)
  }
  override handleCommandComplete(message: unknown, wire: unknown): void {
    if (this.isScoped) super.handleCommandComplete(message, wire)
    else this.isScoped = true
  }
}

async function open(): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    options: '-c TimeZone=UTC -c search_path=perennial -c role=perennial_app',
    pipeline: true,
  } as pg.ClientConfig)
  await client.connect()
  await client.query({ ...SCOPE, values: ['0'] })
  return client
}

const lanes = await Promise.all(Array.from({ length: LANES }, open))
const bytes = readFileSync(bodyFile)
let turn = 0

const rows = (values: unknown[]): Promise<unknown[]> =>
  new Promise((resolve, reject) => {
    turn = (turn + 1) % LANES
    const callback = (error: Error | null, result: pg.QueryResult) => (error ? reject(error) : resolve(result.rows))
    const query = new ScopedQuery({ name: 'read', text: statement, values, callback })
    lanes[turn]?.query(query as unknown as pg.Submittable)
  })

const server = createServer((request, response) => {
  const id = /^\/v1\/(?:customers|invoices)\/(\d+)$/.exec(request.url ?? '')?.[1]
  void rows(limit === undefined ? [today, account, id] : [today, account, 0, limit]).then((found) => {
    response.writeHead(found.length > 0 ? 200 : 404, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': bytes.length,
    })
    response.end(bytes)
  })
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
