import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { connect as connectTls } from 'node:tls'
import type { Config } from '../config.ts'
import { MARK_HEADER } from '../database/mark.ts'
import { errorCodeOf } from '../postgres/start-failure.ts'
import { broken, doubtful, fine, type Finding } from './finding.ts'

/** The address to serve on and the mail server. Nothing is listened on: an address that answers is in use. */

const WAIT_MS = 5_000
const SMTP_PORTS: Record<string, number> = { 'smtp:': 587, 'smtps:': 465 }

/**
 * Checks that the address is free. `mark` is that of the database that the settings name; null when it does not run, undefined when that
 * could not be found out.
 */
export async function checkAddress(
  { host, port }: Pick<Config, 'host' | 'port'>,
  mark: string | null | undefined,
): Promise<Finding> {
  const address = await ownAddress(host)
  if (address === undefined)
    return broken(
      'HOST',
      `${host} is no address of this machine`,
      'set HOST to 127.0.0.1, or to 0.0.0.0 for every network',
    )
  if (port === 0) return fine('PORT', 'is 0: any free port')
  const least = leastPort()
  if (port < least && process.getuid?.() !== 0)
    return broken('PORT', `${port} may not be used by this user`, `set PORT to one from ${least} on`)
  const isEverywhere = address === '0.0.0.0' || address === '::'
  const near = isEverywhere ? '127.0.0.1' : address
  const answer = await reach(() => connect({ host: near, port }), false)
  if (answer.state !== 'connected') return fine('PORT', `${port} on ${host} is free`)
  const served = await perennialAt(near, port)
  if (served && (mark === undefined || served.mark === undefined || served.mark === mark))
    return fine('PORT', `${port} on ${host} is served by Perennial now`)
  if (served)
    return broken(
      'PORT',
      `${port} on ${host} is served by a Perennial of another database`,
      'set DATA_DIR (or DATABASE_URL) as that service has it, or set PORT to a free one',
    )
  return broken(
    'PORT',
    `${port} on ${host} is in use by another program`,
    'stop that program, or set PORT to a free one',
  )
}

/** Returns the mark of the Perennial that answers at an address, or undefined if nothing or another program answers. */
async function perennialAt(address: string, port: number): Promise<{ mark: string | undefined } | undefined> {
  const host = address.includes(':') ? `[${address}]` : address
  const ask = (path: string) =>
    fetch(`http://${host}:${port}${path}`, { signal: AbortSignal.timeout(WAIT_MS) }).catch(() => null)
  const health = await ask('/healthz')
  if (health === null || (await health.text().catch(() => '')) !== '{"Status":"alive"}') return undefined
  return { mark: (await ask('/readyz'))?.headers.get(MARK_HEADER) ?? undefined }
}

async function ownAddress(host: string): Promise<string | undefined> {
  const own = new Set(Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)))
  const found = await lookup(host).catch(() => undefined)
  if (!found) return undefined
  const isOwn =
    own.has(found.address) || found.address === '0.0.0.0' || found.address === '::' || found.address.startsWith('127.')
  return isOwn ? found.address : undefined
}

function leastPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
  } catch {
    return 1024
  }
}

/** Says hello to nobody: a mail server greets first, and that is enough. */
export async function checkMailServer(smtpUrl: string): Promise<Finding> {
  const { hostname, port, protocol } = new URL(smtpUrl)
  const number = port === '' ? SMTP_PORTS[protocol]! : Number(port)
  const where = `${hostname}:${number}`
  const open = () =>
    protocol === 'smtps:'
      ? connectTls({ host: hostname, port: number, servername: hostname })
      : connect({ host: hostname, port: number })
  const answer = await reach(open, true)
  if (answer.state === 'failed')
    return broken(
      'SMTP_URL',
      `${where} cannot be reached (${answer.reason})`,
      'check that the mail server runs and that SMTP_URL names it',
    )
  if (!answer.greeting.startsWith('220'))
    return doubtful(
      'SMTP_URL',
      `${where} answers, but not as a mail server does`,
      'check port and scheme: smtp:// with 587 or 25, smtps:// with 465',
    )
  return fine('SMTP_URL', `${where} answers`)
}

type Answer = { state: 'connected'; greeting: string } | { state: 'failed'; reason: string }

/** Connects, waits for the first words where they are wanted, and lets go. */
const reach = (open: () => Socket, wantsGreeting: boolean): Promise<Answer> =>
  new Promise((resolve) => {
    const socket = open()
    const end = (answer: Answer) => {
      socket.destroy()
      resolve(answer)
    }
    const connected = () => {
      if (!wantsGreeting) end({ state: 'connected', greeting: '' })
    }
    socket.setTimeout(WAIT_MS, () =>
      end(socket.connecting ? { state: 'failed', reason: 'no answer' } : { state: 'connected', greeting: '' }),
    )
    socket.once('connect', connected)
    socket.once('data', (data: Buffer) => end({ state: 'connected', greeting: data.toString('latin1') }))
    socket.once('error', (error) => end({ state: 'failed', reason: errorCodeOf(error) ?? 'it refuses' }))
    socket.once('end', () => end({ state: 'connected', greeting: '' }))
  })
