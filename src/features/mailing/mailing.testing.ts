import type { AddressInfo, Socket } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import pino, { type Logger } from 'pino'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { afterAll, afterEach } from 'vitest'
import { startTestService, type TestClient, type TestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import type { GoOn } from '../../platform/duty.ts'
import { smtpSettings } from '../../platform/smtp/settings.ts'
import type { SmtpDeps, SmtpTimes } from '../../platform/smtp/connection.ts'
import { mailDuty, type MailDutyDeps } from './duty.ts'

/** A mail server on loopback, and a worker whose clock a test moves. */

/** A mail as it arrived. */
export interface Arrived {
  from: string
  to: string[]
  raw: string
  mail: Email
  /** It came encrypted. */
  isSecure: boolean
}

/** Points of a conversation at which the server can break off, or say no. */
export type Step = 'greeting' | 'mail' | 'rcpt' | 'data' | 'body' | 'dot'

/** Done at a step instead of going on: 'break' ends the connection, a reply is given, or no reply ever comes. */
export type Trouble = 'break' | 'silence' | (() => void) | { code: number; text: string }

export interface MailServer {
  port: number
  url: string
  arrived: Arrived[]
  /** Connections so far. */
  connections: number
  /** Lets a step go wrong from now on, of every mail or of those to an address; left out: nothing does. */
  troubles(at?: Partial<Record<Step, Trouble>>, onlyTo?: string): void
}

export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const sockets = new Map<number, Socket>()
  let troubles: Partial<Record<Step, Trouble>> = {}
  let onlyTo: string | undefined
  const answer = (step: Step, { remotePort }: SMTPServerSession, go: (error?: Error) => void) => {
    const trouble = troubles[step]
    if (trouble === undefined) return go()
    if (trouble === 'silence') return undefined
    if (typeof trouble === 'function') return trouble()
    if (trouble === 'break') return void sockets.get(remotePort)?.destroy()
    return go(Object.assign(new Error(trouble.text), { responseCode: trouble.code }))
  }
  const served: MailServer = {
    port: 0,
    url: '',
    arrived: [],
    connections: 0,
    troubles: (at = {}, to) => {
      troubles = at
      onlyTo = to
    },
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.onAuth ? [] : ['AUTH'],
    hideSTARTTLS: true,
    onConnect: (session, go) => answer('greeting', session, go),
    onMailFrom: (_address, session, go) => answer('mail', session, go),
    onRcptTo: ({ address }, session, go) =>
      onlyTo === undefined || onlyTo === address ? answer('rcpt', session, go) : go(),
    onData: (stream, session, go) => {
      // 354 has not been sent yet.
      if (troubles.data !== undefined) return answer('data', session, go)
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        if (troubles.body !== undefined) answer('body', session, go)
      })
      stream.on('end', () => {
        const bytes = Buffer.concat(chunks)
        const { mailFrom, rcptTo } = session.envelope
        const envelope = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address) }
        if (typeof troubles.dot === 'object') return answer('dot', session, go)
        void PostalMime.parse(bytes).then((mail) => {
          served.arrived.push({ ...envelope, raw: bytes.toString('latin1'), mail, isSecure: session.secure })
          answer('dot', session, go)
        })
      })
    },
    ...options,
  })
  server.on('error', () => {})
  server.server.on('connection', (socket: Socket) => {
    served.connections += 1
    sockets.set(socket.remotePort ?? 0, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  afterAll(async () => {
    for (const socket of sockets.values()) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  served.port = (server.server.address() as AddressInfo).port
  served.url = `smtp://127.0.0.1:${served.port}`
  return served
}

export interface Mailing {
  service: TestService
  /** Lets a worker send what is due now. */
  work(about?: Partial<MailDutyDeps & { log: Logger }>, goOn?: GoOn): Promise<void>
  /** Starts a worker that lives on, and returns how it sends what is due. */
  worker(about?: Partial<MailDutyDeps & { log: Logger }>): (goOn?: GoOn) => Promise<void>
  /** Lets real time pass, in seconds. Between two calls it stands, however slow the machine is. */
  pass(seconds: number): void
  /** Mails of an account that arrived at a server so far; of one of its mails alone, where it is named. */
  arrivedOf(client: TestClient, outboxID?: number, at?: MailServer): Promise<Arrived[]>
  /** A test account whose mail goes to testers@example.com. */
  sender(wish?: object): Promise<TestClient>
}

export const TESTERS = 'testers@example.com'

export const serverAt = (url: string, times?: SmtpTimes): SmtpDeps => {
  const settings = smtpSettings(url)
  if (!settings) throw new Error(`${url} is no address of a mail server`)
  return times === undefined ? { settings } : { settings, times }
}

/** Starts a service that hands its mail to a server. Each test begins at the time of the machine, because the database dates mail by its own. */
export async function startMailing(server: MailServer, options: { publicUrl?: string } = {}): Promise<Mailing> {
  let nowMs = Date.now()
  afterEach(() => {
    nowMs = Date.now()
  })
  const now = () => nowMs
  const service = await startTestService({ now, hasMailServer: true, ...options })
  const mails: MailDutyDeps = {
    server: serverAt(server.url),
    from: 'mailer@billing.example',
    domains: ['acme.example'],
    drawing: service.app.drawing,
    secrets: { sealer: service.calling.envelope.under('outbox'), links: service.app.links },
  }
  const quiet = pino({ level: process.env['TEST_LOG'] ?? 'silent' })
  const worker: Mailing['worker'] = ({ log = quiet, ...about } = {}) => {
    const duty = mailDuty({ ...mails, ...about })
    return async (goOn = () => {}) => void (await duty.run({ db: service.db, log, realClock: now }, goOn))
  }
  return {
    service,
    worker,
    pass: (seconds) => (nowMs += seconds * 1000),
    arrivedOf: async ({ id }, outboxID, at = server) => {
      const rows = await service.db
        .reader(id)
        .rows<{ id: bigint; drawn: string }>(
          sql`select outbox_id as "id", split_part(message_id, '@', 1) as "drawn" from outbox where account_id = ${id}`,
        )
      const wanted = rows.filter((row) => outboxID === undefined || row.id === BigInt(outboxID))
      // Their domain may be given when the mail is claimed.
      const drawn = new Set(wanted.map((row) => row.drawn))
      return at.arrived.filter(({ mail }) => drawn.has(mail.messageId?.split('@')[0] ?? ''))
    },
    work: (about, goOn) => worker(about)(goOn),
    sender: async (wish = {}) => {
      const client = await service.newAccount({ name: 'Acme & Sons', clockAt: null, ...wish })
      await client.put('/v1/account', { TestMailTo: TESTERS })
      return client
    },
  }
}

/** Makes a contact whose welcome mail so lies in the outbox, and returns the mail. */
export async function welcomed(client: TestClient, Email = 'jane@example.com'): Promise<any> {
  const customer = await client.post('/v1/customers', { Name: 'Jane', isCompany: false, LastName: 'Doe' })
  const contact = { Name: 'Jane', LastName: 'Doe', Email, isActive: true, Password: 'geheim1' }
  await client.post('/v1/customercontacts', { customerID: customer.body.customerID, ...contact })
  return (await client.get('/v1/outbox?page_size=100')).body.at(-1)
}

/** Issues an invoice of 115.00 that its customer gets by mail. */
export async function invoiced(client: TestClient, customer: object = {}): Promise<any> {
  const made = await client.post('/v1/customers', {
    Name: 'Big Corp',
    isCompany: true,
    Email: 'ap@example.com',
    autoSendInvoice: true,
    ...customer,
  })
  const invoice = { customerID: made.body.customerID, Charges: [{ Line: 'Consulting', Qty: 1, UnitCostEx: 115 }] }
  const { body } = await client.post('/v1/invoices', invoice)
  return body
}
