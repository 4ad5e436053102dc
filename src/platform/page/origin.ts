import type { Problems } from '../../kernel/fault.ts'

/** The host whose pages may show a frame of this service. */

/** Names of hosts as a Content-Security-Policy may hold them: nothing in it can end the directive or stand for several hosts. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:.]+\])$/

/** Characters of a host's name that DNS has at most (RFC 1035, 2.3.4, without the dot at its end), and of each label. */
const HOST_MAX = 253
const LABEL_MAX = 63

const isHost = (hostname: string): boolean =>
  HOST.test(hostname) && hostname.length <= HOST_MAX && hostname.split('.').every(({ length }) => length <= LABEL_MAX)

const isLoopback = (hostname: string): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost')

/**
 * Reads the one host or origin that may show a frame, and returns its origin; undefined where it is neither. A bare host means https, and http
 * for this very machine in a test account; nothing else may be http.
 */
export function originOfDomain(sent: string, isTest: boolean): string | undefined {
  const text = sent.trim()
  const [, scheme, rest = ''] = /^(?:(https?):\/\/)?([^/?#@\\\s]+)$/i.exec(text) ?? []
  if (rest === '') return undefined
  const url = parsed(`${scheme ?? 'https'}://${rest}`)
  if (!url || !isHost(url.hostname)) return undefined
  const isOwnMachine = isTest && isLoopback(url.hostname)
  if (scheme === undefined && isOwnMachine) return parsed(`http://${rest}`)?.origin
  return url.protocol === 'https:' || isOwnMachine ? url.origin : undefined
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Reads AuthDomain, and notes that it is not one host or origin. */
export function checkAuthDomain(problems: Problems, sent: string | undefined, isTest: boolean): string | undefined {
  const origin = sent === undefined ? undefined : originOfDomain(sent, isTest)
  if (sent !== undefined && origin === undefined)
    problems.add(
      'auth_domain_invalid',
      'AuthDomain',
      'AuthDomain must be one host such as shop.example or one https origin, without path or wildcard; http is for localhost in a test account.',
    )
  return origin
}
