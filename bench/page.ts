import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newAccount } from './measure/accounts.ts'
import { bundled, type Child, run } from './measure/children.ts'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, fetchText } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { cpuOfProcess } from './measure/processes.ts'
import { type Service, startService } from './measure/service.ts'
import { call } from './neighbours.ts'
import type { Caller } from './subject/hostile.ts'

/** The page of an invoice of 20 lines with a card on file, beside a bare server that reads its rows by one statement and answers the same bytes. */

const GOAL_MS = 5
const LINES = 20
const CALLERS = 8
const FLOOR = readFileSync(new URL('floor/invoice-page.sql', import.meta.url), 'utf8')

interface Shop {
  invoiceID: number
  account: number
  /** The path of its page. */
  path: string
}

async function newShop(service: Service): Promise<Shop> {
  const caller: Caller = { port: service.port, authorization: await newAccount(service.connection, 'test') }
  const customer = { Name: 'Acme', isCompany: true, PaymentMethod: 'credit_card', Locale: 'en' }
  const { customerID } = await call<{ customerID: number }>(caller, 'POST', '/v1/customers', customer)
  const names = { NameOnCard: 'Ada', LastNameOnCard: 'Lovelace' }
  const CreditCard = { CardType: 'Visa', Number: '4242424242424242', ExpiryMonth: 12, ExpiryYear: 2099, ...names }
  await call(caller, 'POST', '/v1/paymentmethods/creditcard', { customerID, isPrimary: true, CreditCard })
  await call(caller, 'POST', '/v1/tax', { Name: 'VAT', rules: [{ isDefault: true, Perc: 0.15 }] })
  const Charges = Array.from({ length: LINES }, (_, n) => ({
    Line: `Service ${n}`,
    Descrip: 'A month of it',
    UnitCostEx: 10 + n,
  }))
  const { invoiceID } = await call<{ invoiceID: number }>(caller, 'POST', '/v1/invoices', { customerID, Charges })
  const { Url } = await call<{ Url: string }>(caller, 'GET', `/v1/invoices/${invoiceID}/link`)
  const account = Number(Buffer.from(caller.authorization.slice(6), 'base64').toString().split(':')[0])
  return { invoiceID, account, path: new URL(Url).pathname }
}

/** Starts the floor, which answers the bytes of the page. */
async function startFloor(service: Service, { account, path }: Shop): Promise<Child<{ port: number }>> {
  const folder = mkdtempSync(join(tmpdir(), 'perennial-floor-'))
  const bodyFile = join(folder, 'page.html')
  writeFileSync(bodyFile, await fetchText(service.port, path, ''))
  const today = new Date().toISOString().slice(0, 10)
  const settings = { connection: service.connection, statement: FLOOR, account, today, bodyFile }
  const child = run<{ port: number }>(await bundled('floor/read.ts'), settings)
  await child.said
  rmSync(folder, { recursive: true })
  return child
}

let visits = 0
/** Asks for the page as from another address each time: one alone may see 120 a minute. */
const visit = (path: string) => {
  visits += 1
  const address = `10.${(visits >> 16) & 255}.${(visits >> 8) & 255}.${visits & 255}`
  return `GET ${path} HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: ${address}\r\n\r\n`
}

interface Sample {
  rate: number
  /** CPU-seconds an answer. */
  node: number
  database: number
}

async function sample(
  service: Service,
  load: { port: number; seconds: number; next: () => string; node: () => number },
) {
  const [node, database] = [load.node(), service.databaseCpu()]
  const { answers, seconds } = await drive({ ...load, callers: CALLERS, status: 200 })
  return {
    rate: answers / seconds,
    node: (load.node() - node) / answers,
    database: (service.databaseCpu() - database) / answers,
  }
}

/** Floor and page take turns; the first turn of each warms up and is not counted. */
async function measure(service: Service, shop: Shop, times: number, seconds: number) {
  const floor = await startFloor(service, shop)
  const { port } = await floor.said
  const floors: Sample[] = []
  const pages: Sample[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    const next = () => visit(`/v1/customers/${shop.invoiceID}`)
    const bare = await sample(service, { port, seconds, next, node: () => cpuOfProcess(floor.pid) })
    const page = () => visit(shop.path)
    const ours = await sample(service, { port: service.port, seconds, next: page, node: service.nodeCpu })
    if (turn === 0) continue
    floors.push(bare)
    pages.push(ours)
  }
  floor.process.kill('SIGKILL')
  await floor.ended
  return { floors, pages }
}

export async function benchPage({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService({ TRUST_PROXY: 'true', LOG_LEVEL: 'error' })
  try {
    await tellMachine(service.connection)
    const shop = await newShop(service)
    await asOwner(service.connection, (client) => client.query('vacuum (analyze)'))
    await settle(service.connection)
    const { floors, pages } = await measure(service, shop, times, isSmoke ? 0.3 : 5)
    const row = (name: string, of: (one: Sample) => number, factor = 1000) => [
      name,
      ...[pages, floors].map((samples) => spread(samples.map((one) => of(one) * factor))),
    ]
    const cpu = ({ node, database }: Sample) => node + database
    tellTable(
      [`a page of ${LINES} lines, ${CALLERS} callers`, 'service', 'floor'],
      [
        row('answers a second', ({ rate }) => rate, 1),
        row('CPU of Node each, ms', ({ node }) => node),
        row('CPU of PostgreSQL each, ms', ({ database }) => database),
        row('CPU of both each, ms', cpu),
      ],
    )
    if (isNoisy(floors.map(({ rate }) => rate))) tell('noisy: the floor itself moved more than twofold')
    const reached = median(pages.map(cpu)) * 1000
    const goal = `the page of an invoice answered in under ${GOAL_MS} ms of CPU`
    const verdict = {
      goal,
      reached: `${reached.toFixed(2)} ms, floor ${(median(floors.map(cpu)) * 1000).toFixed(2)} ms`,
    }
    tellVerdicts([{ ...verdict, isMet: reached < GOAL_MS }], { isSmoke })
  } finally {
    await service.stop()
  }
}
