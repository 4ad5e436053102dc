import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** AES-256-GCM with a random nonce: what is encrypted is nonce, tag and ciphertext in a row. */

export const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Bytes that encryption adds. */
export const ADDED_BYTES = NONCE_BYTES + TAG_BYTES

const NOTHING = Buffer.alloc(0)

/** Nonces that are drawn at once: drawing one alone costs half as much as encrypting a line. */
const NONCES_DRAWN = 256
let drawn = NOTHING

/** Returns a nonce that nothing else gets. */
function newNonce(): Buffer {
  if (drawn.length === 0) drawn = randomBytes(NONCES_DRAWN * NONCE_BYTES)
  const nonce = drawn.subarray(0, NONCE_BYTES)
  drawn = drawn.subarray(NONCE_BYTES)
  return nonce
}

/** Encrypts a content; the associated data is not kept, and is needed again to decrypt it. */
export function encrypt(key: Buffer, content: Buffer, associated: Buffer = NOTHING): Buffer {
  const nonce = newNonce()
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associated)
  const encrypted = cipher.update(content)
  // Of a stream cipher nothing is left for the end.
  cipher.final()
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted])
}

/** Decrypts a content. Throws when a byte of it was changed, or the key or the associated data is another. */
export function decrypt(key: Buffer, encrypted: Buffer, associated: Buffer = NOTHING): Buffer {
  const nonce = encrypted.subarray(0, NONCE_BYTES)
  const tag = encrypted.subarray(NONCE_BYTES, ADDED_BYTES)
  // A shorter tag would be taken for a whole one, and could be guessed.
  if (tag.length !== TAG_BYTES) throw new Error('the encrypted content was cut off')
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(tag).setAAD(associated)
  return Buffer.concat([decipher.update(encrypted.subarray(ADDED_BYTES)), decipher.final()])
}
