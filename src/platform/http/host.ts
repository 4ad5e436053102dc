import type { FastifyRequest } from 'fastify'
import { Fault } from '../../kernel/fault.ts'

/** The header Host: without PUBLIC_URL addresses that the service hands out begin with it. */

const LENGTH_MAX = 261
/** A name or an address, of IPv6 in brackets, and a port. */
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_.])?|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i
const PORT_MAX = 65_535

function isHost(text: string): boolean {
  const found = text.length <= LENGTH_MAX ? HOST.exec(text) : null
  return found !== null && Number(found[1] ?? 0) <= PORT_MAX
}

const refused = (code: string, message: string) => new Fault('invalid', [{ code, message, field: 'Host' }])

/** Refuses a request of HTTP/1.1 without Host, and, where no address is set, one that names no host with a port or without (400). */
export function checkHost(request: FastifyRequest, publicUrl: string | undefined): void {
  const { host } = request.raw.headers
  if (host === undefined) {
    if (request.raw.httpVersion === '1.1') throw hostMissing()
    return
  }
  // Behind a proxy it is the one that the proxy was asked for.
  if (publicUrl === undefined && !(isHost(host) && isHost(request.host)))
    throw refused('host_invalid', 'The header Host must be a host with an optional port.')
}

const hostMissing = () =>
  new Fault('invalid', [{ code: 'host_missing', message: 'Send a Host header, as HTTP/1.1 requires.', field: null }])
