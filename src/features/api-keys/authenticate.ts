import { timingSafeEqual } from 'node:crypto'
import type { Logger } from 'pino'
import { Fault } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Account, Caller, RealClock } from '../../kernel/context.ts'
import { dropOldest } from '../../platform/http/counted-windows.ts'
import { type SteadyClock, steadyClock } from '../../platform/steady-clock.ts'
import { findAccount } from '../accounts/queries.ts'
import { type ApiKey, findKeyByHash, touchKey } from './queries.ts'
import { secretHash } from './secret.ts'
import { WrongCredentials } from './wrong-credentials.ts'

/**
 * HTTP Basic: user name = account identifier, password = a key. What was found is kept for less than a second, so that a busy client costs
 * no look-up per request, and a revoked key stops working within one second in a process that no notification reaches. Spans are measured
 * by the steady clock; a key expires by real time.
 */

const KEPT_MS = 700
const KEPT_MAX = 10_000
const FLUSH_AFTER_MS = 20_000

interface Known {
  account: Account
  key: ApiKey
  /** The moment of the steady clock at which the look-up was sent. */
  loadedAtMs: number
}

interface LookUp {
  sentAtMs: number
  found: Promise<Known | undefined>
}

const unauthenticated = (code: string, message: string) =>
  new Fault('unauthenticated', [{ code, message, field: null }])

function readBasic(header: string): { account: AccountId; secret: string } | undefined {
  const match = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(header)
  if (!match) return undefined
  const text = Buffer.from(match[1] ?? '', 'base64').toString('utf8')
  const colon = text.indexOf(':')
  const user = text.slice(0, colon)
  if (colon < 1 || !/^\d{1,15}$/.test(user) || Number(user) < 1) return undefined
  return { account: BigInt(user), secret: text.slice(colon + 1) }
}

export interface Authenticator {
  authenticate(header: string | undefined, address: string): Promise<Caller>
  /** Forgets what is known of an account, after a change to it. */
  forget(account: AccountId): void
  /** Writes down which keys were used. */
  flushLastUse(): Promise<void>
}

/** Makes the authenticator of a process, which keeps what it found in memory. */
export function makeAuthenticator(
  db: Database,
  realClock: RealClock,
  { clock = steadyClock, log }: { clock?: SteadyClock; log?: Pick<Logger, 'warn'> } = {},
): Authenticator {
  const known = new Map<string, Known>()
  const loading = new Map<string, LookUp>()
  const used = new Map<string, { account: AccountId; key: bigint; atMs: number }>()
  const wrong = new WrongCredentials({ clock, ...(log && { log }) })
  // A look-up that was on its way while something changed must not be kept.
  let changes = 0
  let flushing: NodeJS.Timeout | undefined

  async function load(account: AccountId, hash: Buffer): Promise<Known | undefined> {
    const loadedAtMs = clock()
    const reader = db.credentials(account)
    const [key, facts] = await Promise.all([findKeyByHash(reader, account, hash), findAccount(reader, account)])
    return key && facts && timingSafeEqual(key.hash, hash) ? { account: facts, key, loadedAtMs } : undefined
  }

  const isFresh = (sinceMs: number): boolean => clock() - sinceMs < KEPT_MS

  /** Joins a look-up that is on its way, unless it is so old that the key may have been revoked since. */
  function look(name: string, account: AccountId, hash: Buffer): Promise<Known | undefined> {
    const present = loading.get(name)
    if (present && isFresh(present.sentAtMs)) return present.found
    const lookUp: LookUp = {
      sentAtMs: clock(),
      found: load(account, hash).finally(() => {
        if (loading.get(name) === lookUp) loading.delete(name)
      }),
    }
    loading.set(name, lookUp)
    return lookUp.found
  }

  async function find(account: AccountId, secret: string): Promise<Known | undefined> {
    const hash = secretHash(secret)
    const name = `${account}:${hash.toString('latin1')}`
    const kept = known.get(name)
    if (kept && isFresh(kept.loadedAtMs)) return kept
    const before = changes
    const found = await look(name, account, hash)
    if (before !== changes) return found
    known.delete(name)
    if (known.size >= KEPT_MAX) dropOldest(known)
    if (found) known.set(name, found)
    return found
  }

  const isUsable = ({ key }: Known): boolean =>
    key.revokedAt === null && (key.expiresAt === null || Date.parse(key.expiresAt) > realClock())

  async function flushLastUse(): Promise<void> {
    clearTimeout(flushing)
    flushing = undefined
    const batch = [...used]
    used.clear()
    for (const [name, use] of batch) {
      try {
        await db.transaction(use.account, (tx) => touchKey(tx, use.account, use.key, instantOf(use.atMs)))
      } catch {
        // The database is away: the use is written the next time, unless the key was used again meanwhile.
        if (!used.has(name)) used.set(name, use)
      }
    }
  }

  /** Notes a use; what was noted is written down together, beside the requests. A waiting timer keeps no process alive. */
  function noteUse(account: AccountId, key: bigint): void {
    used.set(`${account}:${key}`, { account, key, atMs: realClock() })
    flushing ??= setTimeout(() => void flushLastUse(), FLUSH_AFTER_MS).unref()
  }

  return {
    async authenticate(header, address) {
      if (header === undefined)
        throw unauthenticated(
          'credentials_missing',
          'Send the account identifier as user name and an API key as password (HTTP Basic).',
        )
      const basic = readBasic(header)
      const found = basic && (await find(basic.account, basic.secret))
      if (!basic || !found || !isUsable(found)) {
        wrong.refuse(address, basic?.account)
        throw unauthenticated(
          'credentials_wrong',
          /^Basic\b/i.test(header)
            ? 'The account identifier or the API key is wrong, or the key was revoked or has expired.'
            : 'Authorization must be HTTP Basic: the account identifier as user name and an API key as password.',
        )
      }
      const { account, key } = found
      noteUse(account.id, key.id)
      return { account, keyId: key.id, permission: key.permission, isStrict: key.isStrict }
    },
    forget(account) {
      const prefix = `${account}:`
      changes += 1
      for (const name of loading.keys()) if (name.startsWith(prefix)) loading.delete(name)
      for (const name of known.keys()) if (name.startsWith(prefix)) known.delete(name)
    },
    flushLastUse,
  }
}
