import { setMaxListeners } from 'node:events'
import { connect, type Socket } from 'node:net'
import { statement } from '../bank-statement.ts'
import { httpGet } from '../measure/load.ts'
import { isReasoned } from '../measure/patient-client.ts'

/** Callers of an account that does its worst, in a process of their own, until they are ended. */

export interface Caller {
  port: number
  authorization: string
}

export interface HostileSettings {
  /** Names of ATTACKS. */
  attacks: readonly AttackName[]
  hostile: Caller
  /** Accounts with a movable clock. */
  shops: readonly Caller[]
  /** A customer of the hostile account. */
  contactOf: number
  /** An invoice of the hostile account to which very much is applied. */
  longInvoice: number
  /** A customer of the hostile account with a long statement. */
  statementOf: number
  callers: number
  /** The first day that clocks are moved to, counted from 2027-01-01. */
  firstDay: number
  /** A gateway of the hostile account that reads the files of a bank. */
  gatewayOf: number
}

/** Report of the hostile callers when they end. */
export interface HostileReport {
  /** How often each status was answered. */
  statuses: Record<string, number>
  /** Answers of 5xx that give no reason. */
  wrong: string[]
}
const report: HostileReport = { statuses: {}, wrong: [] }

/** Does its worst until it is stopped; settles when nothing of it is under way any more. */
type Attack = (stop: AbortSignal) => Promise<unknown>

const ended = (socket: Socket, stop: AbortSignal) =>
  new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
    socket.on('error', () => {})
    stop.addEventListener('abort', () => socket.destroy(), { once: true })
    if (stop.aborted) socket.destroy()
  })

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** How soon a caller that was refused asks again: a flood of what is cheap to refuse is a matter of RATE_LIMIT_PER_MINUTE. */
const AGAIN_MS = 250

/** Several callers who do the same again and again, whatever is answered. */
const again =
  (callers: number, once: (stop: AbortSignal, caller: number) => Promise<unknown>): Attack =>
  (stop) =>
    Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        while (!stop.aborted) await once(stop, caller).catch(() => pause(AGAIN_MS))
      }),
    )

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
  { body, key, type = 'application/json' }: { body?: string; key?: string; type?: string } = {},
) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    signal: stop,
    headers: { authorization, 'content-type': type, ...(key ? { 'idempotency-key': key } : {}) },
    ...(body ? { body } : {}),
  })
  const text = await response.text()
  report.statuses[response.status] = (report.statuses[response.status] ?? 0) + 1
  if (response.status >= 500 && !isReasoned(response.status, response.headers, text))
    report.wrong.push(`${method} ${path}: ${response.status} ${text.slice(0, 400)}`)
  if (!response.ok) throw new Error(`${response.status}`)
}

function halfDone({ hostile, callers }: HostileSettings): Attack {
  const head = `Host: bench\r\nAuthorization: ${hostile.authorization}\r\nContent-Type: application/json\r\n`
  const halfHeader = `POST /v1/customers HTTP/1.1\r\n${head}`
  const halfBody = `${halfHeader}Content-Length: 900000\r\n\r\n{"Name":"`
  // More than a connection takes in, of what costs nothing to make: it is the waiting that is measured.
  const unread = httpGet('/openapi.json', hostile.authorization).repeat(16)
  return again(callers * 4, (stop, caller) => stays(hostile, [halfHeader, halfBody, unread][caller % 3] ?? '')(stop))
}

function clockMoves({ shops, firstDay }: HostileSettings): Attack {
  const days = shops.map(() => firstDay)
  return again(shops.length, (stop, place) => {
    const day = (days[place] = (days[place] ?? firstDay) + 20)
    const body = JSON.stringify({ Now: new Date(Date.UTC(2027, 0, day)).toISOString() })
    return answered(shops[place] as Caller, stop, 'PUT', '/v1/clock', { body, key: `move ${day}` })
  })
}

function newContacts({ hostile, callers, contactOf }: HostileSettings): Attack {
  const body = JSON.stringify({
    customerID: contactOf,
    Name: 'Jane',
    LastName: 'Doe',
    Email: 'jane@example.com',
    isActive: true,
  })
  return again(callers, (stop) => answered(hostile, stop, 'POST', '/v1/customercontacts', { body }))
}

/** Entries of a file: as many as are worked on for some seconds. */
const FILE_ENTRIES = 5_000

/** Files of a bank with nothing in them that is known, one after the other; every second one is hung up while it is worked on. */
function bankFiles({ hostile, gatewayOf, firstDay }: HostileSettings): Attack {
  let files = firstDay * 1_000
  return again(2, async (stop, caller) => {
    files += 1
    const body = statement(files * FILE_ENTRIES, (files + 1) * FILE_ENTRIES - 1, false, files)
    const path = `/v1/resultfiles?gatewayID=${gatewayOf}`
    const patience = caller === 0 ? stop : AbortSignal.any([stop, AbortSignal.timeout(700)])
    await answered(hostile, patience, 'POST', path, { body, type: 'application/xml' })
  })
}

/** As many entries as a file of the largest size has. */
const WORST_ENTRIES = 30_000

/** The largest files of a bank, each worked on to its end. */
function worstFiles({ hostile, gatewayOf, firstDay }: HostileSettings): Attack {
  let files = firstDay * 1_000
  return again(1, async (stop) => {
    files += 1
    const body = statement(files * WORST_ENTRIES, (files + 1) * WORST_ENTRIES - 1, false, files)
    await answered(hostile, stop, 'POST', `/v1/resultfiles?gatewayID=${gatewayOf}`, { body, type: 'application/xml' })
  })
}

/** Exports of everything that has been posted, each hung up. */
function hungExports({ hostile, callers }: HostileSettings): Attack {
  const body = JSON.stringify({ Format: 'csv', From: '2000-01-01', To: '2100-01-01', CurrencyCode: 'USD' })
  return again(callers, async (stop, caller) => {
    const patience = AbortSignal.any([stop, AbortSignal.timeout(50 + 10 * caller)])
    await answered(hostile, patience, 'POST', '/v1/exports', { body }).catch(() => {})
    await pause(AGAIN_MS)
  })
}

const PERIOD = 'from=2020-01-01&to=2030-01-01'

const ATTACKS = {
  reports: ({ hostile, callers }: HostileSettings) => again(callers, hungUp(hostile, `/v1/reports/tax?${PERIOD}`)),
  documents: ({ hostile, callers, statementOf }: HostileSettings) =>
    again(callers, (stop) =>
      answered(hostile, stop, 'GET', `/v1/customers/${statementOf}/statement?${PERIOD}&format=pdf`),
    ),
  half: halfDone,
  bankFiles,
  exports: hungExports,
  worstFiles,
  clocks: clockMoves,
  contacts: newContacts,
  lists: ({ hostile, callers }: HostileSettings) =>
    again(callers * 5, (stop) => answered(hostile, stop, 'GET', '/v1/invoices?page_size=100')),
  firstPages: ({ hostile, callers }: HostileSettings) =>
    again(callers * 5, (stop) => answered(hostile, stop, 'GET', '/v1/customers?page_size=100')),
  applied: ({ hostile, callers, longInvoice }: HostileSettings) =>
    again(callers, (stop, caller) =>
      answered(hostile, stop, 'GET', `/v1/invoices/${longInvoice}${caller % 10 === 0 ? '/pdf' : ''}`),
    ),
  bodies: ({ hostile, callers }: HostileSettings) => {
    const body = JSON.stringify({ Nothing: Array.from({ length: 60_000 }, (_, number) => `text ${number}`) })
    return again(callers, (stop) => answered(hostile, stop, 'POST', '/v1/customers', { body }))
  },
  keys: ({ hostile, callers }: HostileSettings) => {
    const [account = ''] = Buffer.from(hostile.authorization.split(' ')[1] ?? '', 'base64')
      .toString()
      .split(':')
    const wrong = Buffer.from(`${account}:not-the-key-0123456789`).toString('base64')
    const guessing = { port: hostile.port, authorization: `Basic ${wrong}` }
    return again(callers, (stop) => answered(guessing, stop, 'GET', '/v1/customers'))
  },
  pages: ({ hostile, callers }: HostileSettings) => {
    const paths = [
      'invoices?page=2000&page_size=1',
      'events?type=invoice.issued&page=300',
      'ledger/balances',
      'outbox?page=900',
    ]
    return again(callers, (stop, caller) => answered(hostile, stop, 'GET', `/v1/${paths[caller % paths.length]}`))
  },
  floods: ({ hostile, callers }: HostileSettings) =>
    again(callers, stays(hostile, httpGet('/v1/invoices?page_size=200', hostile.authorization).repeat(64))),
}
export type AttackName = keyof typeof ATTACKS

const settings = JSON.parse(process.argv[2] ?? '') as HostileSettings
const stop = new AbortController()
// Each of many callers listens for its end.
setMaxListeners(0, stop.signal)
const running = settings.attacks.map((name) => ATTACKS[name](settings)(stop.signal))
process.once('message', () => stop.abort())
process.send?.({})
await Promise.allSettled(running)
process.send?.(report, () => process.exit(0))
