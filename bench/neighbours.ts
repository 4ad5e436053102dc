import { setMaxListeners } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createAccount } from '../src/features/accounts/actions.ts'
import { asOwner, openAsService, settle } from './measure/database.ts'
import { quantile, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpGet, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { CUSTOMERS, OPEN_INVOICES } from './seed-money.ts'

/**
 * Effect of an account that does its worst on another: 99 of 100 point reads and payments of a quiet account, alone, beside each kind of
 * what a caller can do to stop the others, and beside all of them.
 */

const TIMES_ALONE = 3
const ENOUGH_MS = 50
const CALLERS = 2
/** As many as a statement as PDF may have. */
const MOVEMENTS = 10_000

interface Caller {
  port: number
  authorization: string
}

interface Sample {
  readMs: number
  paymentMs: number
}

/** Does its worst until it is stopped; settles when nothing of it is under way any more. */
type Attack = (stop: AbortSignal) => Promise<unknown>

const json = { 'content-type': 'application/json' }

async function call<T>({ port, authorization }: Caller, method: string, path: string, body: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...json, authorization },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text) as T
}

/** An account of its own on the same service. */
async function newAccount(service: Service, mode: 'test' | 'live'): Promise<Caller> {
  const db = openAsService(service.connection)
  try {
    const clockAt = mode === 'test' ? '2027-01-01T00:00:00.000Z' : null
    const wish = { mode, name: 'Bench', currency: 'USD', clockAt }
    const { id, secret } = await createAccount(db, Date.now, wish, 'bench')
    return { port: service.port, authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
  } finally {
    await db.close()
  }
}

const newCustomer = async (caller: Caller): Promise<number> =>
  (await call<{ customerID: number }>(caller, 'POST', '/v1/customers', { Name: 'Acme', isCompany: true })).customerID

async function measure(quiet: Caller, customerID: number, seconds: number): Promise<Sample> {
  const read = () => httpGet(`/v1/customers/${customerID}`, quiet.authorization)
  const rest = { Amount: 1, CurrencyCode: 'USD', Date: '2026-01-01', Method: 'eft', Allocations: [] }
  const pay = () => httpSend('POST', '/v1/payments', quiet.authorization, JSON.stringify({ customerID, ...rest }))
  const load = { port: quiet.port, callers: CALLERS, seconds }
  const [reads, payments] = await Promise.all([
    drive({ ...load, next: read, status: 200 }),
    drive({ ...load, next: pay, status: 201 }),
  ])
  return { readMs: quantile(reads.latencies, 0.99), paymentMs: quantile(payments.latencies, 0.99) }
}

const ended = (socket: Socket, stop: AbortSignal) =>
  new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.on('error', () => {})
    stop.addEventListener('abort', () => socket.destroy(), { once: true })
    if (stop.aborted) socket.destroy()
  })

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Several callers who do the same again and again, whatever is answered. */
const again =
  (callers: number, once: (stop: AbortSignal, caller: number) => Promise<unknown>): Attack =>
  (stop) =>
    Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        while (!stop.aborted) await once(stop, caller).catch(() => pause(AGAIN_MS))
      }),
    )

/**
 * How soon a caller asks again. A flood of requests that are cheap to refuse is a matter of RATE_LIMIT_PER_MINUTE; here it is measured what
 * dear ones can do.
 */
const AGAIN_MS = 250

/** Sends a request and hangs up before the answer. */
const hungUp =
  ({ port, authorization }: Caller, path: string) =>
  async (stop: AbortSignal) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(httpGet(path, authorization)))
    const closed = ended(socket, stop)
    await pause(100)
    socket.destroy()
    await closed
    await pause(AGAIN_MS)
  }

/** Opens a connection, sends something that is never whole or never reads its answer, and stays. */
const stays =
  ({ port }: Caller, text: string) =>
  async (stop: AbortSignal) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.pause()
    await ended(socket, stop)
  }

async function answered(
  { port, authorization }: Caller,
  stop: AbortSignal,
  method: string,
  path: string,
  body?: object,
  key?: string,
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    signal: stop,
    headers: { authorization, ...json, ...(key ? { 'idempotency-key': key } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${response.status}`)
}

/** Daily subscriptions, so that each day of a clock move bills something. */
async function newShop(service: Service): Promise<Caller> {
  const shop = await newAccount(service, 'test')
  const { packageGroupID } = await call<{ packageGroupID: number }>(shop, 'POST', '/v1/packagegroups', {
    GroupName: 'G',
  })
  const noTrial = { SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days' }
  const PackageRateTerms = [{ ChargePrice: 1, ChargeTerm: 1, ChargeTermType: 'days' }]
  const { packageID } = await call<{ packageID: number }>(shop, 'POST', '/v1/packages', {
    packageGroupID,
    packageCode: 'P',
    Name: 'Plan',
    Descrip: 'A plan',
    isActive: true,
    PackageVersion: {
      VersionName: 'first',
      isActive: true,
      isDefault: true,
      packageVersionRates: [{ CurrencyCode: 'USD', ...noTrial, PackageRateTerms }],
    },
  })
  for (let count = 0; count < 5; count += 1)
    await call(shop, 'POST', '/v1/subscriptions', { customerID: await newCustomer(shop), packageID })
  return shop
}

async function attacksOf(service: Service, hostile: Caller, callers: number): Promise<Map<string, Attack>> {
  const contactOf = await newCustomer(hostile)
  const shops: Caller[] = []
  for (let count = 0; count < 8; count += 1) shops.push(await newShop(service))
  const days = shops.map(() => 1)
  const head = `Host: bench\r\nAuthorization: ${hostile.authorization}\r\nContent-Type: application/json\r\n`
  const halfHeader = `POST /v1/customers HTTP/1.1\r\n${head}`
  const halfBody = `${halfHeader}Content-Length: 900000\r\n\r\n{"Name":"`
  // More than a connection takes in, of what costs nothing to make: it is the waiting that is measured.
  const unread = httpGet('/docs/redoc.js', hostile.authorization).repeat(16)
  const half = again(callers * 4, (stop, caller) =>
    stays(hostile, [halfHeader, halfBody, unread][caller % 3] ?? '')(stop),
  )
  return new Map<string, Attack>([
    ['(a) tax reports, hung up', again(callers, hungUp(hostile, '/v1/reports/tax?from=2020-01-01&to=2030-01-01'))],
    [
      '(b) large statements as PDF',
      again(callers, (stop) =>
        answered(hostile, stop, 'GET', '/v1/customers/1/statement?from=2020-01-01&to=2030-01-01&format=pdf'),
      ),
    ],
    ['(c) half requests, unread answers', half],
    [
      '(d) clock moves with keys',
      again(shops.length, (stop, place) => {
        const day = (days[place] = (days[place] ?? 1) + 20)
        const Now = new Date(Date.UTC(2027, 0, day)).toISOString()
        return answered(shops[place] as Caller, stop, 'PUT', '/v1/clock', { Now }, `move ${day}`)
      }),
    ],
    [
      '(e) new contacts',
      again(callers, (stop) => {
        const contact = {
          customerID: contactOf,
          Name: 'Jane',
          LastName: 'Doe',
          Email: 'jane@example.com',
          isActive: true,
        }
        return answered(hostile, stop, 'POST', '/v1/customercontacts', contact)
      }),
    ],
  ])
}

/** Measures while the attacks go on, and lets them end before anything else is measured. */
async function beside(attacks: readonly Attack[], work: () => Promise<Sample>, settleMs: number): Promise<Sample> {
  const stop = new AbortController()
  // Each of many callers listens for its end.
  setMaxListeners(0, stop.signal)
  const running = attacks.map((attack) => attack(stop.signal))
  await pause(settleMs)
  try {
    return await work()
  } finally {
    stop.abort()
    await Promise.allSettled(running)
  }
}

const verdictOf = (what: string, alone: number, beside: number): Verdict => ({
  goal: `99 of 100 ${what} of a neighbour within ${TIMES_ALONE} × of alone, or ${ENOUGH_MS} ms, while another does its worst`,
  reached: `${beside.toFixed(1)} ms, ${(beside / alone).toFixed(1)} × of ${alone.toFixed(1)} ms`,
  isMet: beside <= Math.max(TIMES_ALONE * alone, ENOUGH_MS),
})

/** Measures a quiet account beside one that does its worst. */
export async function benchNeighbours({ isSmoke }: { isSmoke: boolean }): Promise<void> {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test', LOG_LEVEL: 'error' })
  const seconds = isSmoke ? 0.5 : 10
  const movements = isSmoke ? 200 : MOVEMENTS
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (client) => {
      await client.query(CUSTOMERS, [movements * 2])
      for (const statement of OPEN_INVOICES) await client.query(statement, [movements * 2])
      // The statement of one customer is as long as a document may be.
      await client.query('update invoices set customer_id = 1 where invoice_id <= $1', [movements])
      await client.query(`select setval(pg_get_serial_sequence('customers', 'customer_id'), $1)`, [movements * 2])
      await client.query(`select setval(pg_get_serial_sequence('invoices', 'invoice_id'), $1)`, [movements * 2])
      await client.query('vacuum (analyze)')
    })
    await settle(service.connection)
    const quiet = await newAccount(service, 'live')
    const customerID = await newCustomer(quiet)
    const attacks = await attacksOf(service, service, isSmoke ? 2 : 30)
    const work = () => measure(quiet, customerID, seconds)
    await work()
    const alone = await work()
    const rows: [string, Sample][] = [['alone', alone]]
    const settleMs = isSmoke ? 50 : 2_000
    for (const [name, attack] of attacks) rows.push([name, await beside([attack], work, settleMs)])
    const all = await beside([...attacks.values()], work, settleMs)
    rows.push(['all of them', all])
    tellTable(
      ['99 of 100 within, ms', 'point read', 'payment'],
      rows.map(([name, { readMs, paymentMs }]) => [name, readMs.toFixed(1), paymentMs.toFixed(1)]),
    )
    tell(`${CALLERS} callers read and ${CALLERS} pay at once, ${seconds} s a row`)
    const verdicts = [
      verdictOf('point reads', alone.readMs, all.readMs),
      verdictOf('payments', alone.paymentMs, all.paymentMs),
    ]
    tellVerdicts(verdicts, { isSmoke })
  } finally {
    await service.stop()
  }
}
