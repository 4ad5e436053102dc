import { addPackage, newAccount } from './measure/accounts.ts'
import { bundled, run } from './measure/children.ts'
import { asOwner, settle } from './measure/database.ts'
import { median, quantile, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpGet, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { CUSTOMERS, MUCH_APPLIED, OPEN_INVOICES } from './seed-money.ts'
import type { AttackName, Caller, HostileSettings } from './subject/hostile.ts'

/**
 * Effect of an account that does its worst on another: 99 of 100 point reads and payments of a quiet account, alone, beside each kind of
 * what a caller can do to stop the others, and beside all of them. The hostile callers are a process of their own.
 */

const TIMES_ALONE = 3
const ENOUGH_MS = 50
const CALLERS = 2
/** As many as a statement as PDF may have. */
const MOVEMENTS = 10_000
const SHOPS = 8

export interface Sample {
  readMs: number
  paymentMs: number
  /** How late the service's event loop was: 99 of 100 of its turns. */
  loopMs: number
}

const json = { 'content-type': 'application/json' }

export async function call<T>(
  { port, authorization }: Caller,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...json, authorization, ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** An account of its own on the same service. */
export const newCaller = async ({ port, connection }: Service, mode: 'test' | 'live'): Promise<Caller> => ({
  port,
  authorization: await newAccount(connection, mode),
})

export const newCustomer = async (caller: Caller): Promise<number> =>
  (await call<{ customerID: number }>(caller, 'POST', '/v1/customers', { Name: 'Acme', isCompany: true })).customerID

export async function measure(service: Service, quiet: Caller, customerID: number, seconds: number): Promise<Sample> {
  const read = () => httpGet(`/v1/customers/${customerID}`, quiet.authorization)
  const rest = { Amount: 1, CurrencyCode: 'USD', Date: '2026-01-01', Method: 'eft', Allocations: [] }
  const pay = () => httpSend('POST', '/v1/payments', quiet.authorization, JSON.stringify({ customerID, ...rest }))
  const load = { port: quiet.port, callers: CALLERS, seconds }
  await service.loopDelay()
  const [reads, payments] = await Promise.all([
    drive({ ...load, next: read, status: 200 }),
    drive({ ...load, next: pay, status: 201 }),
  ])
  const { p99Ms } = await service.loopDelay()
  return {
    readMs: quantile(reads.latencies, 0.99),
    paymentMs: quantile(payments.latencies, 0.99),
    loopMs: p99Ms,
  }
}

/** Daily subscriptions, so that each day of a clock move bills something. */
export async function newShop(service: Service): Promise<Caller> {
  const shop = await newCaller(service, 'test')
  const { packageID } = await addPackage((path, body) => call(shop, 'POST', path, body), 1, 'days')
  for (let count = 0; count < 5; count += 1)
    await call(shop, 'POST', '/v1/subscriptions', { customerID: await newCustomer(shop), packageID })
  return shop
}

/** The rows of the table: what is done at once. */
const ROWS: [string, AttackName[]][] = [
  ['(a) tax reports, hung up', ['reports']],
  ['(b) large statements as PDF', ['documents']],
  ['(c) half requests, unread answers', ['half']],
  ['(d) clock moves with keys', ['clocks']],
  ['(e) new contacts', ['contacts']],
  ['(a) to (e) at once', ['reports', 'documents', 'half', 'clocks', 'contacts']],
  ['bank files, and such as are hung up', ['bankFiles']],
  ['exports, hung up', ['exports']],
  ['many lists at once', ['lists']],
  ['many first pages of customers at once', ['firstPages']],
  ['many large bodies at once', ['bodies']],
  ['an invoice of 100,000 payments', ['applied']],
]

/** Measures while a process of hostile callers goes on, and lets it end before anything else is measured. */
async function beside(file: string, settings: HostileSettings, work: () => Promise<Sample>, settleMs: number) {
  const hostile = run<object>(file, settings)
  try {
    await hostile.said
    await pause(settleMs)
    return await work()
  } finally {
    hostile.process.send('stop')
    await hostile.ended
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const verdictOf = (what: string, alone: number, [beside, whom]: readonly [number, string]): Verdict => ({
  goal: `99 of 100 ${what} of a neighbour within ${TIMES_ALONE} × of alone, or ${ENOUGH_MS} ms, while another does its worst`,
  reached: `${beside.toFixed(1)} ms beside ${whom}, ${(beside / alone).toFixed(1)} × of ${alone.toFixed(1)} ms`,
  isMet: beside <= Math.max(TIMES_ALONE * alone, ENOUGH_MS),
})

/** An account's open invoices: those of customer 1 make the longest statement there may be. */
async function fill(service: Service, movements: number): Promise<void> {
  await asOwner(service.connection, async (client) => {
    await client.query(CUSTOMERS, [movements * 2])
    for (const statement of OPEN_INVOICES) await client.query(statement, [movements * 2])
    await client.query('update invoices set customer_id = 1 where invoice_id <= $1', [movements])
    // To an invoice of another customer, ten times as much as a statement has movements.
    for (const statement of MUCH_APPLIED) await client.query(statement, [movements * 2, movements * 10])
    await client.query(`select setval(pg_get_serial_sequence('customers', 'customer_id'), $1)`, [movements * 2])
    await client.query(`select setval(pg_get_serial_sequence('invoices', 'invoice_id'), $1)`, [movements * 2])
    await client.query('vacuum (analyze)')
  })
  await settle(service.connection)
}

/** Lets an account read files of a bank and export its entries. Returns the gateway of the files. */
export async function prepareFiles(caller: Caller): Promise<number> {
  const names = ['receivable', 'unapplied', 'clearing', 'cash', 'revenue', 'tax', 'unsettled']
  await call(caller, 'PUT', '/v1/glcodes', Object.fromEntries(names.map((name, place) => [name, String(1000 + place)])))
  const wish = { GatewayType: 'manual', CurrencyCodes: ['USD'] }
  return (await call<{ gatewayID: number }>(caller, 'POST', '/v1/gateways', wish)).gatewayID
}

async function hostileSettings(
  service: Service,
  callers: number,
  longInvoice: number,
): Promise<Omit<HostileSettings, 'attacks' | 'firstDay'>> {
  const { port, authorization } = service
  const hostile = { port, authorization }
  const shops: Caller[] = []
  for (let count = 0; count < SHOPS; count += 1) shops.push(await newShop(service))
  const gatewayOf = await prepareFiles(hostile)
  return { hostile, shops, contactOf: await newCustomer(hostile), statementOf: 1, longInvoice, callers, gatewayOf }
}

/** Measures a quiet account beside one that does its worst; `only` names one row by its beginning. */
export async function benchNeighbours({ isSmoke, only = '' }: { isSmoke: boolean; only?: string }): Promise<void> {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test', LOG_LEVEL: 'error' })
  const file = await bundled('subject/hostile.ts')
  const seconds = isSmoke ? 0.3 : 10
  try {
    await tellMachine(service.connection)
    const movements = isSmoke ? 200 : MOVEMENTS
    await fill(service, movements)
    const quiet = await newCaller(service, 'live')
    const customerID = await newCustomer(quiet)
    const settings = await hostileSettings(service, isSmoke ? 2 : 30, movements * 2)
    const work = () => measure(service, quiet, customerID, seconds)
    await work()
    const rows: { name: string; alone: Sample; beside: Sample }[] = []
    for (const [name, attacks] of ROWS.filter(([name]) => name.startsWith(only))) {
      const alone = await work()
      const given = { ...settings, attacks, firstDay: 1 + rows.length * DAYS_A_ROW }
      rows.push({ name, alone, beside: await beside(file, given, work, isSmoke ? 50 : 2_000) })
    }
    tellRows(rows)
    tell(`${CALLERS} callers read and ${CALLERS} pay at once, ${seconds} s a row`)
    tellVerdicts(
      (['readMs', 'paymentMs'] as const).map((figure) => {
        const alone = median(rows.map((row) => row.alone[figure]))
        const [worst] = rows.toSorted((one, other) => other.beside[figure] - one.beside[figure])
        return verdictOf(figure === 'readMs' ? 'point reads' : 'payments', alone, [
          worst?.beside[figure] ?? Number.NaN,
          worst?.name ?? '',
        ])
      }),
      { isSmoke },
    )
  } finally {
    await service.stop()
  }
}

/** No clock is moved further while one row is measured. */
const DAYS_A_ROW = 10_000

function tellRows(rows: readonly { name: string; alone: Sample; beside: Sample }[]): void {
  const cells = ({ readMs, paymentMs, loopMs }: Sample) => [readMs, paymentMs, loopMs].map((ms) => ms.toFixed(1))
  tellTable(
    [
      '99 of 100 within, ms',
      'point read alone',
      'payment',
      'event loop',
      'beside: point read',
      'payment',
      'event loop',
    ],
    rows.map(({ name, alone, beside }) => [name, ...cells(alone), ...cells(beside)]),
  )
}
