import { Worker } from 'node:worker_threads'
import { asOwner, settle } from './measure/database.ts'
import { median, quantile, spread, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { flatness } from './measure/memory.ts'
import { type Service, startService } from './measure/service.ts'
import { call } from './neighbours.ts'
import { bundled, run } from './measure/children.ts'

/**
 * Mails with the PDF of an invoice to a mail server on the same machine, from the commit of their rows to the last arrival, while a caller reads a
 * record again and again; beside the same reads before, and beside a bare mailer that draws and sends as many without a database.
 */

const MAILS = 1_000
const CPU_SECONDS_MOST = 30
const SLOWER_MOST = 1.5
const QUIET_MS = 5_000
const PAUSE_MS = 5

/**
 * A mail server in a thread of its own: it is sent how many mails to await, and answers when they have arrived. It stands for another machine, so
 * it takes what CPU the others leave.
 */
export const RECEIVER = `
if (process.platform === 'linux') require('node:os').setPriority(19)
const { parentPort } = require('node:worker_threads')
const { SMTPServer } = require('smtp-server')
let awaited = 0
const server = new SMTPServer({
  authOptional: true,
  hideSTARTTLS: true,
  onData: (stream, session, done) => stream.resume().on('end', () => {
    done()
    if ((awaited -= 1) === 0) parentPort.postMessage('all')
  }),
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.server.address().port))
parentPort.on('message', (count) => (awaited = count))`

export const messageOf = <T>(receiver: Worker): Promise<T> =>
  new Promise((resolve) => receiver.once('message', resolve))

/** The one mail of the account that was sent, as often as is wished, each under an identifier of its own. */
export const COPY = `
  insert into outbox (account_id, customer_id, template, to_address, message_id, subject, text_body, html_body, created_at, document_kind, document_id)
  select account_id, customer_id, template, to_address, '<' || gen_random_uuid() || '@example.com>', subject, text_body, html_body, now(),
         document_kind, document_id from (select * from outbox order by outbox_id limit 1) as one, generate_series(1, $1::integer)`

interface Sample {
  seconds: number
  /** CPU-seconds of all mails. */
  node: number
  database: number
  quietP99: number
  /** Beside a bare mailer in a process of its own. */
  floorP99: number
  busyP99: number
}

/** Reads one record again and again until a promise is settled; the milliseconds of each, and the memory now and then. */
async function readUntil(service: Service, end: Promise<unknown>): Promise<{ ms: number[]; memory: number[] }> {
  const ms: number[] = []
  const memory: number[] = []
  let isOver = false
  void end.then(() => (isOver = true))
  while (!isOver) {
    const begun = performance.now()
    await call({ port: service.port, authorization: service.authorization }, 'GET', '/v1/account', undefined)
    ms.push(performance.now() - begun)
    if (ms.length % 20 === 0) memory.push(service.memory())
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  return { ms, memory }
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Reads while a bare mailer draws and sends as many mails. */
async function readBesideBareMailer(service: Service, receiver: Worker, given: { port: number; count: number }) {
  const program = await bundled('subject/bare-mailer.ts')
  receiver.postMessage(given.count, [])
  const arrived = messageOf(receiver)
  const mailer = run(program, given)
  mailer.said.catch(() => {})
  const { ms } = await readUntil(service, arrived)
  await mailer.ended
  return ms
}

async function send(
  service: Service,
  receiver: Worker,
  given: { port: number; count: number },
): Promise<Sample & { memory: number[] }> {
  const { count } = given
  const quiet = await readUntil(service, pause(QUIET_MS))
  const floor = await readBesideBareMailer(service, receiver, given)
  receiver.postMessage(count, [])
  const arrived = messageOf(receiver)
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  await asOwner(service.connection, (client) => client.query(COPY, [count]))
  const begun = performance.now()
  const busy = await readUntil(service, arrived)
  return {
    seconds: (performance.now() - begun) / 1000,
    node: service.nodeCpu() - node,
    database: service.databaseCpu() - database,
    quietP99: quantile(quiet.ms, 0.99),
    floorP99: quantile(floor, 0.99),
    busyP99: quantile(busy.ms, 0.99),
    memory: busy.memory,
  }
}

/** Writes one mail with a PDF, which copies are made of. */
export async function writeOneMail({ port, authorization }: Service): Promise<void> {
  const shop = { port, authorization }
  await call(shop, 'PUT', '/v1/account', { TestMailTo: 'testers@example.com' })
  const customer = { Name: 'Acme', isCompany: true, Email: 'ap@example.com', autoSendInvoice: true }
  const { customerID } = (await call(shop, 'POST', '/v1/customers', customer)) as { customerID: number }
  const Charges = Array.from({ length: 5 }, (_, n) => ({ Line: `Hours of week ${n + 1}`, Qty: 8, UnitCostEx: 95 }))
  await call(shop, 'POST', '/v1/invoices', { customerID, Charges })
}

/** Settings of a service that sends its mail to a port of this machine. */
export const settingsOfMailer = (port: number) => ({
  BOOTSTRAP_ACCOUNT_MODE: 'test',
  SMTP_URL: `smtp://127.0.0.1:${port}`,
  MAIL_FROM: 'mailer@example.com',
  PUBLIC_URL: 'https://pay.example',
})

async function prepare(service: Service, receiver: Worker): Promise<void> {
  receiver.postMessage(1, [])
  const arrived = messageOf(receiver)
  await writeOneMail(service)
  await arrived
}

export async function benchMail({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const receiver = new Worker(RECEIVER, { eval: true })
  const port = await messageOf<number>(receiver)
  const service = await startService(settingsOfMailer(port))
  const count = isSmoke ? 20 : MAILS
  try {
    await tellMachine(service.connection)
    await prepare(service, receiver)
    const samples: Awaited<ReturnType<typeof send>>[] = []
    for (let turn = 0; turn < times; turn += 1) {
      await settle(service.connection)
      samples.push(await send(service, receiver, { port, count }))
    }
    tellTable(
      [`${count} mails with a PDF`, ''],
      [
        ['seconds', spread(samples.map(({ seconds }) => seconds))],
        ['CPU-seconds of Node, with the reads', spread(samples.map(({ node }) => node))],
        ['CPU-seconds of PostgreSQL, with the reads', spread(samples.map(({ database }) => database))],
        ['p99 of a read before, ms', spread(samples.map(({ quietP99 }) => quietP99))],
        ['p99 of a read beside a bare mailer, ms', spread(samples.map(({ floorP99 }) => floorP99))],
        ['p99 of a read meanwhile, ms', spread(samples.map(({ busyP99 }) => busyP99))],
      ],
    )
    const cpu = median(samples.map(({ node, database }) => node + database))
    const slower = median(samples.map(({ quietP99, busyP99 }) => busyP99 / quietP99))
    const slowerThanFloor = median(samples.map(({ floorP99, busyP99 }) => busyP99 / floorP99))
    const memory = samples.flatMap((sample) => sample.memory)
    tellVerdicts(
      [
        {
          goal: `${MAILS} mails with a PDF in under ${CPU_SECONDS_MOST} CPU-seconds`,
          reached: `${cpu.toFixed(1)} CPU-seconds`,
          isMet: cpu < CPU_SECONDS_MOST,
        },
        { goal: 'flat memory', reached: `${Math.max(...memory)} MB at most`, isMet: flatness(memory).isFlat },
        {
          goal: `p99 of reads within ${SLOWER_MOST} times`,
          reached: `${slower.toFixed(2)} times`,
          isMet: slower <= SLOWER_MOST,
        },
        {
          goal: `p99 of reads within ${SLOWER_MOST} times of beside a bare mailer in a process of its own`,
          reached: `${slowerThanFloor.toFixed(2)} times`,
          isMet: slowerThanFloor <= SLOWER_MOST,
        },
      ],
      { isSmoke },
    )
  } finally {
    await receiver.terminate()
    await service.stop()
  }
}
