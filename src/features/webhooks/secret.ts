import { createHmac, randomBytes } from 'node:crypto'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { SealedPlace, Sealer } from '../../platform/envelope/envelope.ts'
import type { SealedSecrets } from './queries.ts'

/** Secrets of webhooks, and what is signed with them, as the Standard Webhooks specification (version 1) has it. */

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export const newWebhookSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

const placeOf = (column: 'sealed_secret' | 'sealed_old_secret', row: Id): SealedPlace => ({
  table: 'webhooks',
  column,
  row,
})

export const sealSecret = (sealer: Sealer, account: AccountId, id: Id, secret: string): Buffer =>
  sealer.seal(account, placeOf('sealed_secret', id), secret)

type Kept = SealedSecrets & { id: Id }

/** Returns the stored secrets after a rotation: the one that was in use signs until an instant, and any before it no more. */
export const rotatedSecrets = (
  sealer: Sealer,
  account: AccountId,
  { id, secret }: Kept,
  { fresh, oldUntil }: { fresh: string; oldUntil: Instant },
): SealedSecrets => ({
  secret: sealSecret(sealer, account, id, fresh),
  oldSecret: sealer.seal(
    account,
    placeOf('sealed_old_secret', id),
    sealer.open(account, placeOf('sealed_secret', id), secret),
  ),
  oldSecretUntil: oldUntil,
})

/** Opens the secrets that sign at an instant of real time, the newest first. */
export function signingSecrets(sealer: Sealer, account: AccountId, webhook: Kept, now: Instant): string[] {
  const { id, secret, oldSecret, oldSecretUntil } = webhook
  const current = sealer.open(account, placeOf('sealed_secret', id), secret)
  if (oldSecret === null || oldSecretUntil === null || oldSecretUntil <= now) return [current]
  return [current, sealer.open(account, placeOf('sealed_old_secret', id), oldSecret)]
}

/** Returns the headers that name, date and sign a message; `seconds` is its time since 1970. */
export function signedHeaders(
  secrets: readonly string[],
  { id, seconds, body }: { id: string; seconds: number; body: string },
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') }
}
