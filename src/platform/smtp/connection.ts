import { Readable } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { SmtpSettings } from './settings.ts'

/**
 * Connections to the mail server. Each carries one message after the other; after a failure it is closed. The body of a message is asked for
 * when the server has answered 354, and not before, so that the caller can write down the moment from which nobody knows what became of it.
 */

export interface Parcel {
  /** Return path. */
  from: string
  to: readonly string[]
  bytes: Buffer
  /** Comes before the first byte of the body. Answers whether the body may leave; else the connection is closed. */
  handOver(): Promise<boolean>
}

/** Reply of a server: its first digit decides. */
export interface Reply {
  code: number
  text: string
}

/**
 * taken: by the server, for the receivers that it accepted; refused: the server wants no such mail; away: the mail was not handed over, because the server
 * could not be reached, sent us away or broke off; unknown: it was handed over, and no answer came; withheld: the body was not to leave.
 */
export type Sending =
  | {
      outcome: 'taken'
      reply: Reply
      accepted: readonly string[]
      refused: readonly { address: string; reply: Reply }[]
    }
  | { outcome: 'refused'; reply: Reply; refused: readonly { address: string; reply: Reply }[] }
  | { outcome: 'away'; reply: Reply | null; reason: string }
  | { outcome: 'unknown'; reason: string }
  | { outcome: 'withheld' }

export interface SmtpTimes {
  /** Until there is a connection, and until the server has greeted, in milliseconds. */
  connectMs: number
  /** Silence of the server. */
  silenceMs: number
  /** All of a message, from MAIL to the answer. */
  messageMs: number
}

const TIMES: SmtpTimes = { connectMs: 20_000, silenceMs: 60_000, messageMs: 300_000 }
/** A reply is kept to this many characters. */
const REPLY_MAX = 500
/** Many servers take no more of one connection. */
const MESSAGES_MAX = 100

interface Failure extends Error {
  code?: string
  originalCode?: string
  response?: string | false
  responseCode?: number | false
  command?: string
  recipient?: string
  rejectedErrors?: Failure[]
}

export interface SmtpDeps {
  settings: SmtpSettings
  times?: SmtpTimes
  /** Further roots of trust; left out: those of the process. */
  ca?: ConnectionOptions['ca']
}

export class SmtpLine {
  readonly #deps: SmtpDeps
  #connection: SMTPConnection | undefined
  #sent = 0

  constructor(deps: SmtpDeps) {
    this.#deps = deps
  }

  /** Sends one message, on the connection that is open or on a new one. It does not throw. */
  async send(parcel: Parcel): Promise<Sending> {
    const isReused = this.#connection !== undefined
    const sending = await this.#sendOnce(parcel)
    // A server may end a connection between two messages: that is no failure of the second.
    return isReused && sending.outcome === 'away' ? this.#sendOnce(parcel) : sending
  }

  /** Takes leave of the server. */
  close(): void {
    this.#connection?.quit()
    this.#connection = undefined
  }

  async #sendOnce(parcel: Parcel): Promise<Sending> {
    try {
      this.#connection ??= await open(this.#deps)
    } catch (error) {
      return away(error as Failure)
    }
    const connection = this.#connection
    const sending = await transmit(connection, parcel, this.#deps.times ?? TIMES)
    this.#sent += 1
    if (sending.outcome !== 'taken' || this.#sent >= MESSAGES_MAX) {
      this.#sent = 0
      this.#connection = undefined
      if (sending.outcome === 'taken') connection.quit()
      else connection.close()
    }
    return sending
  }
}

function open({ settings, times = TIMES, ca }: SmtpDeps): Promise<SMTPConnection> {
  const { host, port, encryption, login } = settings
  const connection = new SMTPConnection({
    host,
    port,
    secure: encryption === 'tls',
    requireTLS: encryption === 'required',
    ignoreTLS: encryption === 'none',
    ...(ca === undefined ? {} : { tls: { ca } }),
    connectionTimeout: times.connectMs,
    greetingTimeout: times.connectMs,
    dnsTimeout: times.connectMs,
    socketTimeout: times.silenceMs,
  })
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      // Closing ends the connection with a reason of its own.
      reject(error)
      connection.close()
    }
    connection.on('error', fail)
    connection.once('end', () => reject(new Error('the connection ended')))
    connection.connect((error) => {
      if (error) return fail(error)
      if (login === null) return resolve(connection)
      connection.login({ credentials: login }, (refused) => (refused ? fail(refused) : resolve(connection)))
    })
  })
}

/** Returns the message as a stream that is read once the server has answered 354. */
function bodyOf({ bytes, handOver }: Parcel, state: { isHandedOver: boolean; isWithheld: boolean }): Readable {
  let isAsked = false
  return new Readable({
    read() {
      if (isAsked) return
      isAsked = true
      handOver().then(
        (mayLeave) => {
          if (this.destroyed) return
          if (!mayLeave) {
            state.isWithheld = true
            this.destroy(new Error('the message was withheld'))
            return
          }
          state.isHandedOver = true
          this.push(bytes)
          this.push(null)
        },
        (error: Error) => this.destroy(error),
      )
    },
  })
}

function transmit(connection: SMTPConnection, parcel: Parcel, times: SmtpTimes): Promise<Sending> {
  const state = { isHandedOver: false, isWithheld: false }
  const body = bodyOf(parcel, state)
  return new Promise((resolve) => {
    const end = (sending: Sending) => {
      clearTimeout(timer)
      resolve(sending)
    }
    const timer = setTimeout(() => {
      end(broken(state, Object.assign(new Error('the message took too long'), { code: 'ETIMEDOUT' })))
      connection.close()
    }, times.messageMs)
    const envelope = { from: parcel.from, to: [...parcel.to], size: parcel.bytes.length, use8BitMime: false }
    connection.send(envelope, body, (error, info) => {
      if (error) return end(failed(state, error as Failure))
      const refused = refusalsOf(info.rejectedErrors as Failure[] | undefined)
      end({ outcome: 'taken', reply: replyOf(info.response), accepted: info.accepted, refused })
    })
  })
}

/** Commands whose reply is about the mail; a reply to any other is about us, the connection or the server. */
const ABOUT_MAIL = ['MAIL FROM', 'RCPT TO', 'DATA']

function failed(state: { isHandedOver: boolean; isWithheld: boolean }, error: Failure): Sending {
  if (state.isWithheld) return { outcome: 'withheld' }
  const isAboutMail = ABOUT_MAIL.includes(error.command ?? '') && error.responseCode !== 421
  if (typeof error.response === 'string' && (isAboutMail || state.isHandedOver))
    return { outcome: 'refused', reply: replyOf(error.response), refused: refusalsOf(error.rejectedErrors) }
  // The server announced a limit, and the message is larger: it was never offered.
  if (error.code === 'EMESSAGE' && !state.isHandedOver && error.command === 'MAIL FROM')
    return { outcome: 'refused', reply: { code: 552, text: '552 larger than the server takes' }, refused: [] }
  return broken(state, error)
}

const broken = (state: { isHandedOver: boolean }, error: Failure): Sending =>
  state.isHandedOver ? { outcome: 'unknown', reason: reasonOf(error) } : away(error)

const away = (error: Failure): Sending => ({
  outcome: 'away',
  reply: typeof error.response === 'string' ? replyOf(error.response) : null,
  reason: reasonOf(error),
})

/** Returns a word for the log: an error's code, without what it quotes. */
const reasonOf = ({ originalCode, code, command }: Failure): string =>
  [originalCode ?? code ?? 'broken off', command].filter((part) => part !== undefined).join(' at ')

const refusalsOf = (errors: readonly Failure[] = []) =>
  errors.map(({ recipient = '', response }) => ({
    address: recipient,
    reply: replyOf(typeof response === 'string' ? response : ''),
  }))

/** Reads a reply, which comes from outside: one line, bounded. */
function replyOf(response: string): Reply {
  const text = response.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return { code: Number(/^\d{3}/.exec(text)?.[0] ?? 0), text: text.slice(0, REPLY_MAX) }
}
