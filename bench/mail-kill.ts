import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { asOwner, dataFolder } from './measure/database.ts'
import { tell } from './measure/figures.ts'
import { type Service, startService } from './measure/service.ts'
import { COPY, writeOneMail } from './mail.ts'

/**
 * Kills the service (SIGKILL) at every step of sending mail, as often as wished. Then each mail is what it truly is: sent and arrived once, or
 * unknown and arrived at most once; none is lost, and none arrives twice before a person has sent it again.
 */

const STEPS = ['greeting', 'sender', 'receiver', 'data', 'body', 'answer'] as const
type Step = (typeof STEPS)[number]

const MAILS_A_TURN = 6
/** Lines to the mail server: so many mails can be on their way when the service dies. */
const LINES = 2
const LOOK_MS = 20

/** A mail server that tells of each step; the step of a connection goes on when what is told of it has been done. */
async function startReceiver() {
  const arrived: string[] = []
  let at: (step: Step) => boolean = () => false
  /** Goes on, unless the service was killed at the step: then nobody listens. */
  const pass = (step: Step, go: () => void) => void (at(step) || go())
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH'],
    hideSTARTTLS: true,
    onConnect: (_session, go) => pass('greeting', go),
    onMailFrom: (_address, _session, go) => pass('sender', go),
    onRcptTo: (_address, _session, go) => pass('receiver', go),
    onData: (stream, _session, go) => {
      if (at('data')) return
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => {
        if (chunks.push(chunk) === 1) at('body')
      })
      stream.on('end', () => {
        const [, id] = /^Message-ID: (<[^>]+>)/im.exec(Buffer.concat(chunks).toString('latin1')) ?? []
        arrived.push(id ?? 'a mail without an identifier')
        pass('answer', go)
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  return {
    port: (server.server.address() as AddressInfo).port,
    arrived,
    /** Lets a function decide at each step whether the service dies there; left out: it lives. */
    watch: (decide: (step: Step) => boolean = () => false) => void (at = decide),
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

interface Row {
  id: string
  status: string
  messageId: string
}

const rowsOf = ({ connection }: Service): Promise<Row[]> =>
  asOwner(connection, async (client) => {
    const { rows } = await client.query<Row>(
      `select outbox_id as "id", status, message_id as "messageId" from perennial.outbox order by outbox_id`,
    )
    return rows
  })

/** Waits until every mail has become what it stays; leases and waits of who died are over at once. */
async function settled(service: Service): Promise<Row[]> {
  await asOwner(service.connection, (client) =>
    client.query(`update perennial.outbox set leased_until = now() - interval '1 second' where status = 'sending'`),
  )
  for (;;) {
    const rows = await rowsOf(service)
    if (rows.every(({ status }) => status !== 'queued' && status !== 'sending')) return rows
    await asOwner(service.connection, (client) =>
      client.query(`update perennial.outbox set next_try_at = now() where status = 'queued' and next_try_at > now()`),
    )
    await delay(LOOK_MS)
  }
}

/** Throws where a mail is not what it is shown as. */
function check(rows: readonly Row[], arrived: readonly string[], unknownMost: number): void {
  const timesOf = new Map<string, number>()
  for (const id of arrived) timesOf.set(id, (timesOf.get(id) ?? 0) + 1)
  const wrong = rows.filter(({ status, messageId }) => {
    const times = timesOf.get(messageId) ?? 0
    return status === 'sent' ? times !== 1 : status === 'unknown' ? times > 1 : true
  })
  if (wrong.length > 0) throw new Error(`mails that are not what they are shown as: ${JSON.stringify(wrong)}`)
  const unknown = rows.filter(({ status }) => status === 'unknown').length
  if (unknown > unknownMost) throw new Error(`${unknown} mails are unknown, more than were on their way`)
}

export async function benchMailKill({ times }: { times: number }): Promise<void> {
  const folder = dataFolder()
  const receiver = await startReceiver()
  const settings = {
    BOOTSTRAP_ACCOUNT_MODE: 'test',
    LOG_LEVEL: 'fatal',
    SMTP_URL: `smtp://127.0.0.1:${receiver.port}`,
    MAIL_FROM: 'mailer@example.com',
  }
  let service = await startService(settings, folder.path)
  try {
    await writeOneMail(service)
    await settled(service)
    for (let turn = 0; turn < times; turn += 1) {
      const step = STEPS[turn % STEPS.length]
      let left = 1 + Math.floor(Math.random() * (step === 'greeting' ? 1 : MAILS_A_TURN))
      const died = new Promise<void>((resolve) => {
        receiver.watch((reached) => {
          // A line that is still open from the mail before greets nobody again, and is dropped at what comes next.
          if ((reached !== step && step !== 'greeting') || (left -= 1) > 0) return left <= 0
          resolve(service.kill('service'))
          return true
        })
      })
      await asOwner(service.connection, (client) => client.query(COPY, [MAILS_A_TURN]))
      await died
      receiver.watch()
      service = await startService(settings, folder.path)
      check(await settled(service), receiver.arrived, LINES * (turn + 1))
      tell(`${turn + 1}: killed at the ${step}`)
    }
    const rows = await rowsOf(service)
    const unknown = rows.filter(({ status }) => status === 'unknown').length
    tell(
      `killed ${times} times while mail was sent: ${rows.length} mails, ${rows.length - unknown} sent and arrived once, ${unknown} unknown, 0 lost, 0 twice`,
    )
  } finally {
    await service.stop()
    await receiver.stop()
    folder.remove()
  }
}
