import { hkdfSync } from 'node:crypto'
import { ADDED_BYTES, decrypt, encrypt, KEY_BYTES } from './cipher.ts'

/** The keys of ENCRYPTION_KEY. They wrap data keys and nothing else; the first wraps, all of them unwrap. */

const FORM = 1
const KEY_ID_BYTES = 8
/** The form of a wrapped key, and the name of the key that wrapped it. */
const HEAD_BYTES = 1 + KEY_ID_BYTES
export const WRAPPED_BYTES = HEAD_BYTES + ADDED_BYTES + KEY_BYTES

/** A data key is wrapped by a key that this process does not have. Nothing is wrong with what it sealed. */
export class UnknownKey extends Error {
  override name = 'UnknownKey'

  constructor(keyId: string) {
    super(`ENCRYPTION_KEY does not name the key ${keyId}, which is needed to open what is stored`)
  }
}

interface WrappingKey {
  /** Eight bytes in hex that name the key and from which nobody learns it. */
  readonly id: string
  readonly wrapping: Buffer
  readonly given: Buffer
}

const derive = (key: Buffer, purpose: string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `perennial ${purpose}`, bytes))

const wrappingKey = (given: Buffer): WrappingKey => ({
  id: derive(given, 'key id', KEY_ID_BYTES).toString('hex'),
  wrapping: derive(given, 'wrapping', KEY_BYTES),
  given,
})

/** Returns the name of the key that wrapped a data key, from the data key as it is stored. */
export const keyIdOf = (wrapped: Buffer): string => wrapped.subarray(1, HEAD_BYTES).toString('hex')

export class KeyRing {
  readonly #keys: readonly WrappingKey[]
  readonly #first: WrappingKey

  constructor(first: Buffer, ...others: readonly Buffer[]) {
    this.#first = wrappingKey(first)
    this.#keys = [this.#first, ...others.map(wrappingKey)]
  }

  /** Names of the keys, the one that wraps first. */
  get ids(): string[] {
    return this.#keys.map(({ id }) => id)
  }

  wrap(dataKey: Buffer): Buffer {
    const head = Buffer.concat([Buffer.of(FORM), Buffer.from(this.#first.id, 'hex')])
    return Buffer.concat([head, encrypt(this.#first.wrapping, dataKey, head)])
  }

  /** Throws UnknownKey when the key that wrapped the data key is not here, and an Error when the bytes were changed. */
  unwrap(wrapped: Buffer): Buffer {
    if (wrapped.length !== WRAPPED_BYTES || wrapped[0] !== FORM) throw new Error('this is no wrapped data key')
    const id = keyIdOf(wrapped)
    const key = this.#keys.find((known) => known.id === id)
    if (!key) throw new UnknownKey(id)
    return decrypt(key.wrapping, wrapped.subarray(HEAD_BYTES), wrapped.subarray(0, HEAD_BYTES))
  }

  /** Returns the key that versions before stored data keys made of ENCRYPTION_KEY itself for a purpose. */
  derivedOfBefore(purpose: string): Buffer {
    return derive(this.#first.given, purpose, KEY_BYTES)
  }
}
