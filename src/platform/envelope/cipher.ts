import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** AES-256-GCM with a random nonce: what is encrypted is nonce, tag and ciphertext in a row. */

export const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Bytes that encryption adds. */
export const ADDED_BYTES = NONCE_BYTES + TAG_BYTES

const NOTHING = Buffer.alloc(0)

/** Encrypts a content; the associated data is not kept, and is needed again to decrypt it. */
export function encrypt(key: Buffer, content: Buffer, associated: Buffer = NOTHING): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(associated)
  const encrypted = Buffer.concat([cipher.update(content), cipher.final()])
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
