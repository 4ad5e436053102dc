import { createHmac, randomBytes } from 'node:crypto'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { decrypt, encrypt, KEY_BYTES } from './cipher.ts'
import { type KeyRing, UnknownKey, WRAPPED_BYTES } from './key-ring.ts'

/**
 * Secrets that the database keeps and must not be able to read. What is sealed opens only in the place that it was sealed for, so that
 * nobody who writes to the database can move a secret to another row or account.
 */

/** Purposes that have a data key of their own for the whole database, stored and wrapped like those of records. */
export const PURPOSES = [
  'idempotency hash',
  'idempotency body',
  'outbox',
  'bank number',
  'sandbox',
  'result line',
  'result likeness',
  'link',
  'equal settings',
] as const
export type Purpose = (typeof PURPOSES)[number]

/** The column of a table, and a row by an identifier or text that it keeps for ever. */
export interface SealedPlace {
  table: string
  column: string
  row: Id | string
}

export interface Sealer {
  seal(account: AccountId, place: SealedPlace, text: string): Buffer
  /** Throws UnknownKey when a key is missing here, and an Error when the bytes were changed or come from another place. */
  open(account: AccountId, place: SealedPlace, sealed: Buffer): string
}

/** Seals each text under a new data key, which lies wrapped before it. A migration names the column by `sealed_column`. */
export interface Envelope extends Sealer {
  /** Seals under the one data key of a purpose: for what is written often and kept for a short time. */
  under(purpose: Purpose): Sealer
  /**
   * Returns the function that hashes texts under the data key of a purpose: 32 bytes, the same for the same text. Where it must not show that
   * two accounts keep the same text, the account belongs into the text.
   */
  keyedHash(purpose: Purpose): (text: string) => Buffer
}

const associatedWith = (account: AccountId, { table, column, row }: SealedPlace): Buffer =>
  Buffer.from(JSON.stringify([table, column, String(row), String(account)]))

function opened(place: SealedPlace, decrypted: () => Buffer): string {
  try {
    return decrypted().toString('utf8')
  } catch (error) {
    if (error instanceof UnknownKey) throw error
    throw new Error(`${place.table}.${place.column} holds what was changed, or sealed for another place`, {
      cause: error,
    })
  }
}

export function makeEnvelope(ring: KeyRing, dataKeys: ReadonlyMap<Purpose, Buffer>): Envelope {
  const keyOf = (purpose: Purpose): Buffer => {
    const key = dataKeys.get(purpose)
    if (!key) throw new Error(`there is no data key for the purpose "${purpose}"`)
    return key
  }
  return {
    seal(account, place, text) {
      const dataKey = randomBytes(KEY_BYTES)
      const sealed = encrypt(dataKey, Buffer.from(text), associatedWith(account, place))
      return Buffer.concat([ring.wrap(dataKey), sealed])
    },
    open: (account, place, sealed) =>
      opened(place, () => {
        const dataKey = ring.unwrap(sealed.subarray(0, WRAPPED_BYTES))
        return decrypt(dataKey, sealed.subarray(WRAPPED_BYTES), associatedWith(account, place))
      }),
    under: (purpose) => sealerUnder(keyOf(purpose)),
    keyedHash: (purpose) => {
      const key = keyOf(purpose)
      return (text) => createHmac('sha256', key).update(text).digest()
    },
  }
}

/** Stands before what is sealed under the key of a purpose, since it is bound to its place. */
const PLACED = 2

const sealerUnder = (key: Buffer): Sealer => ({
  seal: (account, place, text) =>
    Buffer.concat([Buffer.of(PLACED), encrypt(key, Buffer.from(text), associatedWith(account, place))]),
  open: (account, place, sealed) =>
    opened(place, () => {
      try {
        if (sealed[0] === PLACED) return decrypt(key, sealed.subarray(1), associatedWith(account, place))
      } catch {
        // One in 256 of those below begins with the same byte.
      }
      // Sealed by a version that bound nothing to its place, and put no form before it.
      return decrypt(key, sealed)
    }),
})
