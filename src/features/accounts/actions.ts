import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Instant } from '../../kernel/calendar.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { RealClock } from '../../kernel/context.ts'
import { insertKey } from '../api-keys/queries.ts'
import { newSecret, secretHash } from '../api-keys/secret.ts'
import { KeyRecordOut } from '../api-keys/wire.ts'
import { addSandbox } from '../gateways/actions.ts'
import { insertCurrency } from '../currencies/queries.ts'
import { insertEvents } from '../events/queries.ts'
import { anyAccountExists, drawAccountId, insertAccount, lockFirstAccount } from './queries.ts'
import { NewAccountOut } from './wire.ts'

export interface AccountWish {
  mode: 'test' | 'live'
  name: string
  currency: string
  clockAt: Instant | null
  /** The least identifier it may get (ACCOUNT_ID_START); 1 when absent. */
  idStart?: number
  /** The value of its first key; one is made when absent. */
  secret?: string
}

/**
 * Makes an account with its default currency and one full key; the key's value is returned here and never again. Nothing is made where the `check`
 * in its transaction throws.
 */
export async function createAccount(
  db: Database,
  realClock: RealClock,
  wish: AccountWish,
  actor: string,
  check?: (tx: Transaction) => Promise<void>,
): Promise<{ id: AccountId; secret: string }> {
  const id = await drawAccountId(db.unscoped, wish.idStart ?? 1)
  const secret = wish.secret ?? newSecret(wish.mode)
  const createdAt = instantOf(realClock())
  const happenedAt = wish.clockAt ?? createdAt
  await db.transaction(id, async (tx) => {
    await check?.(tx)
    await insertAccount(tx, {
      id,
      mode: wish.mode,
      name: wish.name,
      currency: wish.currency,
      clockAt: wish.clockAt,
      createdAt: happenedAt,
    })
    await insertCurrency(tx, id, wish.currency)
    const keyId = await insertKey(tx, id, {
      name: 'first key',
      permission: 'full',
      hash: secretHash(secret),
      createdAt,
      expiresAt: null,
    })
    const common = { customerId: null, happenedAt, actor, reason: null }
    await insertEvents(tx, [
      {
        ...common,
        type: 'account.created',
        recordId: id,
        record: NewAccountOut.write({
          AccountID: id,
          Name: wish.name,
          Mode: wish.mode,
          CurrencyCode: wish.currency,
        }),
      },
      {
        ...common,
        type: 'api_key.created',
        recordId: keyId,
        record: KeyRecordOut.write({ Name: 'first key', Permission: 'full', isStrict: false }),
      },
    ])
    if (wish.mode === 'test') await addSandbox(tx, happenedAt, actor)
  })
  return { id, secret }
}

class NotFirst extends Error {}

/** Makes the first account of an empty database; undefined when there is one already, or another process makes it at this moment. */
export async function createFirstAccount(
  db: Database,
  realClock: RealClock,
  wish: AccountWish,
): Promise<{ id: Id; secret: string } | undefined> {
  if (await anyAccountExists(db.unscoped)) return undefined
  try {
    return await createAccount(db, realClock, wish, 'first start', async (tx) => {
      await lockFirstAccount(tx)
      if (await anyAccountExists(tx)) throw new NotFirst()
    })
  } catch (error) {
    if (error instanceof NotFirst) return undefined
    throw error
  }
}
