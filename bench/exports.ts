import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { call } from './neighbours.ts'
import { YEAR } from './reports.ts'
import { CUSTOMERS } from './seed-money.ts'

/** An export of all entries of a year, two of them an invoice of two lines, beside COPY of the same rows: CPU-seconds of the service and of PostgreSQL. */

const CUSTOMER_COUNT = 10_000
const ENTRIES_OF_INVOICE = 4
const TIMES_FLOOR = 3

/** The entries with what an export shows of their documents and customers, in its order. */
const ROWS = `
  select e.entry_id, e.dated, e.event, e.record_type, e.record_id, e.debit, e.credit, e.tax_name, e.tax_rate, e.amount_minor, e.currency, i.number,
         coalesce(i.reference, p.ref) as reference, p.method, c.reference as customer, c.gl_code
    from ledger_rows e
    join customers c on c.account_id = 1 and c.customer_id = e.customer_id
    left join invoices i on e.record_type = 'invoice' and i.account_id = 1 and i.invoice_id = e.record_id
    left join payments p on e.record_type = 'payment' and p.account_id = 1 and p.payment_id = e.record_id
   where e.account_id = 1 and e.currency = 'USD' order by e.dated, e.record_type, e.record_id, e.entry_id`

async function copied(service: Service, client: pg.Client): Promise<number> {
  const before = service.databaseCpu() + process.cpuUsage().user / 1e6
  for await (const _ of client.query(copyTo(`copy (${ROWS}) to stdout (format csv)`)));
  return service.databaseCpu() + process.cpuUsage().user / 1e6 - before
}

async function exported(service: Service, format: string): Promise<number> {
  const shop = { port: service.port, authorization: service.authorization }
  const before = service.databaseCpu() + service.nodeCpu()
  const body = { Format: format, From: '2026-01-01', To: '2027-12-31', CurrencyCode: 'USD' }
  const { exportID } = await call<{ exportID: number }>(shop, 'POST', '/v1/exports', body)
  const spent = service.databaseCpu() + service.nodeCpu() - before
  await call(shop, 'DELETE', `/v1/exports/${exportID}`)
  return spent
}

/** `count` is how many entries the year has. */
export async function benchExports(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService()
  const client = new pg.Client({
    ...service.connection,
    options: '-c search_path=perennial -c role=perennial_app -c TimeZone=UTC -c app.account_id=1',
  })
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (owner) => {
      await owner.query(CUSTOMERS, [CUSTOMER_COUNT])
      for (const statement of YEAR) await owner.query(statement, [options.count / ENTRIES_OF_INVOICE])
      await owner.query('vacuum (analyze)')
    })
    await settle(service.connection)
    await client.connect()
    const names = ['receivable', 'unapplied', 'clearing', 'cash', 'revenue', 'tax', 'unsettled']
    const codes = Object.fromEntries(names.map((name, place) => [name, String(1000 + place)]))
    await call({ port: service.port, authorization: service.authorization }, 'PUT', '/v1/glcodes', codes)
    const floors: number[] = []
    const subjects: number[] = []
    for (let turn = 0; turn <= options.times; turn += 1) {
      const floor = await copied(service, client)
      const subject = await exported(service, 'csv')
      if (turn === 0) continue
      floors.push(floor)
      subjects.push(subject)
    }
    tellTable(
      [`an export of ${options.count.toLocaleString('en')} entries`, 'CPU-seconds'],
      [
        ['export', spread(subjects)],
        ['COPY of the same rows', spread(floors)],
      ],
    )
    if (isNoisy(floors)) tell('noisy: the floor itself moved more than twofold')
    const ratio = median(subjects) / median(floors)
    const goal = `an export within ${TIMES_FLOOR} times COPY of the same rows`
    tellVerdicts([{ goal, reached: `${ratio.toFixed(2)} times`, isMet: ratio <= TIMES_FLOOR }], options)
  } finally {
    await client.end()
    await service.stop()
  }
}
