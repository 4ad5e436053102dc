import { isIP } from 'node:net'
import { findCurrency } from '../kernel/currencies.ts'
import { CALLED_GATEWAYS, type CalledGateway } from '../kernel/rails.ts'
import { serversOf } from './database/addresses.ts'
import { type Network, networksFromText } from './outbound/networks.ts'
import { isPlainAddress } from './smtp/address.ts'
import { smtpSettings } from './smtp/settings.ts'

/** Readers of the texts of settings: each returns the value, or what the text should have been. */

/** Value of a variable: holds the end of the sentence "HOST must be …". */
export class UnfitText {
  readonly mustBe: string

  constructor(mustBe: string) {
    this.mustBe = mustBe
  }
}

const KEY_BYTES = 32
const API_KEY_LENGTH_MIN = 8

/** Keys that wrap data keys: the first wraps, all of them unwrap. */
export type Keys = readonly [Buffer, ...Buffer[]]

/** Reads one key of 32 bytes, as hex or base64, or two that differ, with a comma between; undefined when the text is neither. */
export function keysFromText(text: string): Keys | undefined {
  const [first, second, ...others] = text.split(',').map((part) => keyFromText(part.trim()))
  if (!first || others.length > 0) return undefined
  if (!text.includes(',')) return [first]
  return second && !second.equals(first) ? [first, second] : undefined
}

function keyFromText(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.length === KEY_BYTES ? key : undefined
}

export function readKeys(text: string): Keys | UnfitText {
  return keysFromText(text) ?? new UnfitText('32 bytes as 64 hex digits or as base64, or two different keys as new,old')
}

export function readHost(text: string): string | UnfitText {
  const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text) && !/^[\d.]+$/.test(text)
  return isIP(text) || isName ? text : new UnfitText('an IP address or a host name')
}

export function readPath(text: string): string | UnfitText {
  return text.includes('\0') ? new UnfitText('the path of a folder') : text
}

export function readFilePath(text: string): string | UnfitText {
  return text.includes('\0') ? new UnfitText('the path of a file') : text
}

export function readAnything(text: string): string {
  return text
}

export function readPublicUrl(text: string): string | UnfitText {
  const url = parseUrl(text)
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.search && !url.hash
  return isPlain ? text.replace(/\/+$/, '') : new UnfitText('an http or https address without query and user')
}

export function readSmtpUrl(text: string): string | UnfitText {
  return smtpSettings(text)
    ? text
    : new UnfitText(
        'an address such as smtp://user:password@host:587 or smtps://host, with requireTLS or ignoreTLS=true at most',
      )
}

export function readAddress(text: string): string | UnfitText {
  return isPlainAddress(text) ? text : new UnfitText('an address such as billing@example.com, without a name')
}

export function readDomains(text: string): readonly string[] | UnfitText {
  const domains = text.split(',').map((domain) => domain.trim().toLowerCase())
  const areFitting = domains.every((domain) =>
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/.test(domain),
  )
  return areFitting ? domains : new UnfitText('domains such as example.com, separated by commas')
}

export function readOrigin(text: string): string | UnfitText {
  const url = parseUrl(text)
  const isPlain = url && /^https?:$/.test(url.protocol) && url.origin === text.replace(/\/$/, '').toLowerCase()
  return isPlain ? url.origin : new UnfitText('an http or https origin without path, query and user')
}

/** Words of `target_session_attrs` that ask for what is asked for anyway: the server that takes writes. */
const WRITING_SESSIONS = ['read-write', 'primary']

const ENCODED_ADDRESS =
  'an address that begins with postgres:// or postgresql:// and holds @, :, /, ?, # and % of user and password percent-encoded (@ as %40, # as %23)'

/** Returns whether user or password ended the authority of the address early: what follows would be shown as host, database or settings. */
const isCutShort = ({ hash, pathname, searchParams }: URL): boolean =>
  hash !== '' || /@.*\//.test(pathname) || [...searchParams.keys()].some((name) => name.includes('@'))

export function readDatabaseUrl(text: string): string | UnfitText {
  for (const server of serversOf(text)) {
    const url = parseUrl(server)
    if (!url || !/^postgres(ql)?:$/.test(url.protocol) || isCutShort(url)) return new UnfitText(ENCODED_ADDRESS)
    const wanted = url.searchParams.get('target_session_attrs') ?? 'read-write'
    if (!WRITING_SESSIONS.includes(wanted))
      return new UnfitText(`an address whose target_session_attrs is ${WRITING_SESSIONS.join(' or ')}, or left out`)
  }
  return text
}

export function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

export function wholeNumber(least: number, most: number): (text: string) => number | UnfitText {
  return (text) => {
    const value = Number(text)
    const isFitting = /^\d{1,9}$/.test(text) && value >= least && value <= most
    return isFitting ? value : new UnfitText(`a whole number from ${least} to ${most}`)
  }
}

export function oneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word | UnfitText {
  return (text) => words.find((word) => word === text) ?? new UnfitText(`one of ${words.join(', ')}`)
}

export function readName(text: string): string | UnfitText {
  // oxlint-disable-next-line no-control-regex
  return text.length <= 255 && !/[\u0000-\u001f\u007f]/.test(text)
    ? text
    : new UnfitText('one line of at most 255 characters')
}

export function readCurrency(text: string): string | UnfitText {
  return findCurrency(text)?.code === text ? text : new UnfitText('a currency code of ISO 4217 such as USD')
}

export function readApiKey(text: string): string | UnfitText {
  const isFitting = text.length >= API_KEY_LENGTH_MIN && /^[\u0021-\u007e]{1,255}$/.test(text)
  return isFitting ? text : new UnfitText(`${API_KEY_LENGTH_MIN} to 255 visible ASCII characters without spaces`)
}

export function readOrigins(text: string): readonly string[] | UnfitText {
  const origins = text.split(',').map((origin) => origin.trim())
  const areFitting = origins.every((origin) => origin === '*' || parseUrl(origin)?.origin === origin)
  return areFitting ? origins : new UnfitText('* or origins such as https://shop.example, separated by commas')
}

export function readTrust(text: string): boolean | readonly string[] | UnfitText {
  if (text === 'true' || text === 'false') return text === 'true'
  const addresses = text.split(',').map((address) => address.trim())
  const areFitting = addresses.every((address) => isIP(address.replace(/\/\d{1,3}$/, '')) !== 0)
  return areFitting ? addresses : new UnfitText('true, false, or IP addresses and networks separated by commas')
}

/** Addresses in place of those of gateways, by their type. */
export type Endpoints = Readonly<Partial<Record<CalledGateway, string>>>

/** Reads addresses of simulators. Only by plain http, which reaches nothing but what OUTBOUND_ALLOW names. */
export function readEndpoints(text: string): Endpoints | UnfitText {
  const found: [string, string][] = []
  for (const entry of text.split(',')) {
    const [type = '', address = ''] = entry.trim().split(/=(.*)/s)
    const url = parseUrl(address)
    const isFitting = url?.protocol === 'http:' && [url.origin, `${url.origin}/`].includes(address)
    if (!isFitting || !CALLED_GATEWAYS.some((known) => known === type) || found.some(([known]) => known === type))
      return new UnfitText(
        `types of gateways (${CALLED_GATEWAYS.join(', ')}) with an address each, such as stripe=http://127.0.0.1:4010, separated by commas`,
      )
    found.push([type, url.origin])
  }
  return Object.fromEntries(found) as Endpoints
}

export function readNetworks(text: string): readonly Network[] | UnfitText {
  return networksFromText(text) ?? new UnfitText('IP addresses and networks such as 10.0.0.0/8, separated by commas')
}
