import type { Instant } from '../../kernel/calendar.ts'
import { conflict, invalid, missing } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Permission } from '../../kernel/context.ts'
import { notifyAccountChange } from '../accounts/queries.ts'
import { insertEvents, type NewEvent } from '../events/queries.ts'
import { type ApiKey, insertKey, lockKeys, revokeKey, updateStrictness } from './queries.ts'
import { newSecret, secretHash } from './secret.ts'
import { KeyRecordOut } from './wire.ts'

/** The actor of a change and its moments: keys live by real time, the events about them by the clock of their account. */
export interface KeyMoment {
  realNow: Instant
  accountNow: Instant
  actor: string
}

/** Keys that an account may have, revoked and expired ones not counted. */
const KEYS_MAX = 50

const isUsable = (key: ApiKey, realNow: Instant): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > realNow)

/** Makes a key and returns its value, here and never again. Refuses one more than an account may have (400). */
export async function addKey(
  tx: Transaction,
  wish: { mode: 'test' | 'live'; name: string; permission: Permission; isStrict?: boolean; expiresAt: Instant | null },
  moment: KeyMoment,
): Promise<{ id: Id; secret: string }> {
  const usable = (await lockKeys(tx, tx.account)).filter((key) => isUsable(key, moment.realNow))
  if (usable.length >= KEYS_MAX)
    throw invalid(
      'too_many_api_keys',
      `Account ${tx.account} has ${KEYS_MAX} API keys, and may have no more: revoke one first.`,
    )
  const secret = newSecret(wish.mode)
  const { name, permission, isStrict = false, expiresAt } = wish
  const id = await insertKey(tx, tx.account, {
    name,
    permission,
    isStrict,
    hash: secretHash(secret),
    createdAt: moment.realNow,
    expiresAt,
  })
  await insertEvents(tx, [keyEvent('api_key.created', id, { name, permission, isStrict }, moment)])
  return { id, secret }
}

/**
 * Ends a key and notifies every process at commit; one that cannot be reached finds out within a second. Returns since when: a second try
 * changes nothing.
 * Throws a Fault when there is no such key, and for the last usable one that may write unless `isLastAllowed`: a typing mistake must not lock
 * an account out.
 */
export async function endKey(
  tx: Transaction,
  id: Id,
  moment: KeyMoment,
  isLastAllowed: boolean,
): Promise<{ revokedAt: Instant }> {
  const keys = await lockKeys(tx, tx.account)
  const key = keyAmong(keys, tx, id)
  if (key.revokedAt) return { revokedAt: key.revokedAt }
  const mayWrite = (candidate: ApiKey) => candidate.permission === 'full' && isUsable(candidate, moment.realNow)
  if (!isLastAllowed && mayWrite(key) && !keys.some((other) => other !== key && mayWrite(other)))
    throw conflict(
      'api_key_last',
      `API key ${id} is the last usable one of account ${tx.account} that may change anything: make another first, or add --force.`,
    )
  await revokeKey(tx, tx.account, id, moment.realNow)
  await notifyAccountChange(tx)
  await insertEvents(tx, [keyEvent('api_key.revoked', id, key, moment)])
  return { revokedAt: moment.realNow }
}

/**
 * Makes a key strict or tolerant, in every process as a revocation; a second try changes nothing. Throws a Fault when there is no such key
 * (404), and for a revoked one (409).
 */
export async function setStrictness(tx: Transaction, id: Id, isStrict: boolean, moment: KeyMoment): Promise<void> {
  const key = keyAmong(await lockKeys(tx, tx.account), tx, id)
  if (key.revokedAt)
    throw conflict(
      'api_key_revoked',
      `API key ${id} of account ${tx.account} was revoked; it cannot be changed any more.`,
    )
  if (key.isStrict === isStrict) return
  await updateStrictness(tx, tx.account, id, isStrict)
  await notifyAccountChange(tx)
  await insertEvents(tx, [keyEvent('api_key.updated', id, { ...key, isStrict }, moment)])
}

function keyAmong(keys: readonly ApiKey[], { account }: Transaction, id: Id): ApiKey {
  const key = keys.find((candidate) => candidate.id === id)
  if (!key) throw missing('api_key_unknown', `Account ${account} has no API key ${id}.`)
  return key
}

const keyEvent = (
  type: 'api_key.created' | 'api_key.updated' | 'api_key.revoked',
  recordId: Id,
  { name, permission, isStrict }: Pick<ApiKey, 'name' | 'permission' | 'isStrict'>,
  { accountNow, actor }: KeyMoment,
): NewEvent => ({
  type,
  recordId,
  customerId: null,
  happenedAt: accountNow,
  actor,
  reason: null,
  record: KeyRecordOut.write({ Name: name, Permission: permission, isStrict }),
})
