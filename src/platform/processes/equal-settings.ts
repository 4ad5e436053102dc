import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { Envelope } from '../envelope/envelope.ts'
import type { ListedProcess, ProcessKind } from './queries.ts'

/** Settings that must be equal in all processes of a database, since another process may answer the next request or do the next duty. */

const json = (value: unknown): string | undefined => (value === undefined ? undefined : JSON.stringify(value))

/** The text of each setting by which it is compared; of a file or folder what it holds. */
const COMPARED: Readonly<Record<string, (config: Config) => string | undefined>> = {
  PUBLIC_URL: ({ publicUrl }) => publicUrl,
  MAIL_FROM: ({ mailFrom }) => json(mailFrom),
  MAIL_DOMAINS: ({ mailDomains }) => json(mailDomains),
  SMTP_URL: ({ smtpUrl }) => smtpUrl,
  SEAL_P12: ({ sealP12 }) => (sealP12 === undefined ? undefined : hashOfFile(sealP12)),
  OUTBOUND_ALLOW: ({ outboundAllow }) => json(outboundAllow),
  GATEWAY_ENDPOINTS: ({ gatewayEndpoints }) => json(gatewayEndpoints),
  FONTS_DIR: ({ fontsDir }) => (fontsDir === undefined ? undefined : hashOfFolder(fontsDir)),
}

/** Those that a process reads which answers requests. */
const OF_SERVE: typeof COMPARED = {
  WIDGET_ORIGIN: ({ widgetOrigin }) => widgetOrigin,
  CORS_ORIGIN: ({ corsOrigin }) => json(corsOrigin),
  ACCOUNT_ID_START: ({ accountIdStart }) => String(accountIdStart),
  RATE_LIMIT_PER_MINUTE: ({ rateLimitPerMinute }) => String(rateLimitPerMinute),
  TRUST_PROXY: ({ trustProxy }) => json(trustProxy),
}

function hashOfFile(path: string): string {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return 'cannot be read'
  }
}

function hashOfFolder(path: string): string {
  try {
    return JSON.stringify(
      readdirSync(path)
        .sort()
        .map((name) => [name, hashOfFile(join(path, name))]),
    )
  } catch {
    return 'cannot be read'
  }
}

const HASH_LENGTH = 16

/** Returns a keyed hash of each setting: equal ones have equal hashes, and none shows its value. */
export function hashedSettings(config: Config, kind: ProcessKind, envelope: Envelope): Record<string, string> {
  const hash = envelope.keyedHash('equal settings')
  const compared = kind === 'serve' ? { ...COMPARED, ...OF_SERVE } : COMPARED
  return Object.fromEntries(
    Object.entries(compared).map(([name, textOf]) => [
      name,
      hash(`${name}\n${textOf(config) ?? ''}`)
        .toString('base64url')
        .slice(0, HASH_LENGTH),
    ]),
  )
}

/** A setting in which a process differs from others. */
export interface SettingDifference {
  setting: string
  /** Host and number of each other process that has another value. */
  others: string[]
}

/** Returns the settings in which a process differs from other live ones, each once. */
export function differencesTo(
  { id, settings }: Pick<ListedProcess, 'id' | 'settings'>,
  all: readonly ListedProcess[],
): SettingDifference[] {
  const live = all.filter((other) => other.isLive && other.id !== id)
  return Object.entries(settings).flatMap(([setting, hash]) => {
    const others = live
      .filter((other) => other.settings[setting] !== undefined && other.settings[setting] !== hash)
      .map(({ host, pid }) => `${host}:${pid}`)
    return others.length === 0 ? [] : [{ setting, others }]
  })
}

/** So many processes are named in a sentence, the rest counted: behind a balancer there may be twenty. */
const NAMED = 3

/** Returns the sentence about a setting that differs; it shows no value. */
export function sentenceOf({ setting, others }: SettingDifference): string {
  const more = others.length > NAMED ? ` and ${others.length - NAMED} more` : ''
  return `${setting} is not the same as in the process${others.length === 1 ? '' : 'es'} ${others.slice(0, NAMED).join(', ')}${more} on this database: which of them applies depends on who answers`
}
