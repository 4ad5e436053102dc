import { Readable } from 'node:stream'
import { domainToASCII } from 'node:url'
import type { ConnectionOptions } from 'node:tls'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { needsSmtpUtf8 } from './address.ts'
import type { SmtpSettings } from './settings.ts'

/**
 * Connections to the mail server. Each carries one message after the other; after a failure it is closed. The body of a message is asked for
 * when the server has answered 354, and not before, so that the caller can write down the moment from which nobody knows what became of it.
 */

export interface Parcel {
  /** Return path. */
  from: string
  to: readonly string[]
  /** Without addresses that need SMTPUTF8. */
  bytes: Buffer
  /** With them, for a server that offers SMTPUTF8; left out where there are none. */
  utf8Bytes?: Buffer | undefined
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
  /** All that comes before the body: from MAIL to 354; a login too. */
  talkMs: number
  /** From 354 to the answer. */
  answerMs: number
}

/** Servers that look through a message answer late, and whoever gives up on them does not know what became of it: ten minutes (RFC 5321, 4.5.3.2.6). */
const TIMES: SmtpTimes = { connectMs: 20_000, talkMs: 120_000, answerMs: 600_000 }
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
    const sending = await transmitTo(connection, parcel, this.#deps.times ?? TIMES)
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
    // Each stage has a time of its own.
    socketTimeout: times.talkMs + times.answerMs,
  })
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      clearTimeout(timer)
      // Closing ends the connection with a reason of its own.
      reject(error)
      connection.close()
    }
    const timer = setTimeout(() => fail(tookTooLong()), times.connectMs + times.talkMs)
    const ready = () => {
      clearTimeout(timer)
      resolve(connection)
    }
    connection.on('error', fail)
    connection.once('end', () => fail(new Error('the connection ended')))
    connection.connect((error) => {
      if (error) return fail(error)
      if (login === null) return ready()
      connection.login({ credentials: login }, (refused) => (refused ? fail(refused) : ready()))
    })
  })
}

/** Members of the connection that its types leave out: what the server offers, and the one way in which it sends a command. */
interface Inside {
  _supportedExtensions: readonly string[]
  _sendCommand(command: string, logged?: string): void
}

const offersSmtpUtf8 = (connection: SMTPConnection): boolean =>
  (connection as unknown as Inside)['_supportedExtensions'].includes('SMTPUTF8')

/** Lets the connection ask for SMTPUTF8 for the mail that begins next, also where only its headers need it: the library asks for it by the envelope alone. */
function askForSmtpUtf8(connection: SMTPConnection): void {
  const inside = connection as unknown as Inside
  const send = inside['_sendCommand']
  inside['_sendCommand'] = (command, logged) => {
    const isMail = command.startsWith('MAIL FROM:')
    if (isMail) inside['_sendCommand'] = send
    send.call(connection, isMail && !command.includes(' SMTPUTF8') ? `${command} SMTPUTF8` : command, logged)
  }
}

/** Stands in for the reply of a server that does not offer what an address needs: nothing of it was offered. */
const NO_SMTPUTF8: Reply = {
  code: 553,
  text: '553 the mail server does not offer SMTPUTF8, which an address needs whose part before the @ is beyond ASCII',
}

/** Sends a message with its addresses beyond ASCII where the server offers SMTPUTF8. Where it does not, these receivers are refused and the others get it. */
async function transmitTo(connection: SMTPConnection, parcel: Parcel, times: SmtpTimes): Promise<Sending> {
  const { from, to, utf8Bytes } = parcel
  if (utf8Bytes !== undefined && offersSmtpUtf8(connection)) {
    askForSmtpUtf8(connection)
    return transmit(connection, { ...parcel, bytes: utf8Bytes }, times)
  }
  const unfit = to.filter((address) => needsSmtpUtf8(from) || needsSmtpUtf8(address))
  const refused = unfit.map((address) => ({ address, reply: NO_SMTPUTF8 }))
  if (unfit.length === to.length) return { outcome: 'refused', reply: NO_SMTPUTF8, refused }
  const sending = await transmit(connection, { ...parcel, to: to.filter((address) => !unfit.includes(address)) }, times)
  return sending.outcome === 'taken' || (sending.outcome === 'refused' && sending.refused.length > 0)
    ? { ...sending, refused: [...refused, ...sending.refused] }
    : sending
}

/** Returns the message as a stream that is read once the server has answered 354. */
function bodyOf({ bytes, handOver }: Parcel, state: State, begun: () => void): Readable {
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
          begun()
          this.push(bytes)
          this.push(null)
        },
        (error: Error) => this.destroy(error),
      )
    },
  })
}

interface State {
  isHandedOver: boolean
  isWithheld: boolean
}

const tookTooLong = () => Object.assign(new Error('the mail server took too long'), { code: 'ETIMEDOUT' })

function transmit(connection: SMTPConnection, parcel: Parcel, times: SmtpTimes): Promise<Sending> {
  const state: State = { isHandedOver: false, isWithheld: false }
  return new Promise((resolve) => {
    const end = (sending: Sending) => {
      clearTimeout(timer)
      resolve(sending)
    }
    const giveUp = () => {
      end(broken(state, tookTooLong()))
      connection.close()
    }
    let timer = setTimeout(giveUp, times.talkMs)
    const body = bodyOf(parcel, state, () => {
      clearTimeout(timer)
      timer = setTimeout(giveUp, times.answerMs)
    })
    const addressOf = new Map(parcel.to.map((address) => [envelopeAddress(address), address]))
    const envelope = { from: envelopeAddress(parcel.from), to: [...addressOf.keys()], size: parcel.bytes.length }
    connection.send({ ...envelope, use8BitMime: false }, body, (error, info) => {
      const named = (address: string) => addressOf.get(address) ?? address
      if (error) return end(failed(state, error as Failure, named))
      const refused = refusalsOf(info.rejectedErrors as Failure[] | undefined, named)
      end({ outcome: 'taken', reply: replyOf(info.response), accepted: info.accepted.map(named), refused })
    })
  })
}

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text)

/** Returns an address as every server knows it: a domain beyond ASCII as its A-labels (RFC 5890). */
function envelopeAddress(address: string): string {
  const at = address.lastIndexOf('@') + 1
  const domain = address.slice(at)
  return isAscii(domain) ? address : address.slice(0, at) + (domainToASCII(domain) || domain)
}

/** Commands whose reply is about the mail; a reply to any other is about us, the connection or the server. */
const ABOUT_MAIL = ['MAIL FROM', 'RCPT TO', 'DATA']

function failed(state: State, error: Failure, named: (address: string) => string): Sending {
  if (state.isWithheld) return { outcome: 'withheld' }
  const isAboutMail = ABOUT_MAIL.includes(error.command ?? '') && error.responseCode !== 421
  if (typeof error.response === 'string' && (isAboutMail || state.isHandedOver)) {
    const reply = replyOf(error.response)
    // Once the body is with the server, what is neither yes nor no is no answer.
    if (!state.isHandedOver || isNo(reply))
      return { outcome: 'refused', reply, refused: refusalsOf(error.rejectedErrors, named) }
  }
  // The server announced a limit, and the message is larger: it was never offered.
  if (error.code === 'EMESSAGE' && !state.isHandedOver && error.command === 'MAIL FROM')
    return { outcome: 'refused', reply: { code: 552, text: '552 larger than the server takes' }, refused: [] }
  return broken(state, error)
}

const isNo = ({ code }: Reply): boolean => code >= 400 && code < 600

const broken = (state: State, error: Failure): Sending =>
  state.isHandedOver ? { outcome: 'unknown', reason: reasonOf(error) } : away(error)

const away = (error: Failure): Sending => ({
  outcome: 'away',
  reply: typeof error.response === 'string' ? replyOf(error.response) : null,
  reason: reasonOf(error),
})

/** Returns a word for the log: an error's code, without what it quotes. */
const reasonOf = ({ originalCode, code, command }: Failure): string =>
  [originalCode ?? code ?? 'broken off', command].filter((part) => part !== undefined).join(' at ')

const refusalsOf = (errors: readonly Failure[] = [], named: (address: string) => string) =>
  errors.map(({ recipient = '', response }) => ({
    address: named(recipient),
    reply: replyOf(typeof response === 'string' ? response : ''),
  }))

/** Reads a reply, which comes from outside: one line, bounded. */
function replyOf(response: string): Reply {
  const text = response.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return { code: Number(/^\d{3}/.exec(text)?.[0] ?? 0), text: text.slice(0, REPLY_MAX) }
}
