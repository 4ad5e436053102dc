import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Texts that the database keeps and must not be able to read: AES-256-GCM under a key made from ENCRYPTION_KEY for one purpose. */
export interface Sealer {
  seal(text: string): Buffer
  /** Throws when the bytes were changed, or sealed under another key. */
  open(sealed: Buffer): string
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

export function makeSealer(encryptionKey: Buffer, purpose: string): Sealer {
  const key = Buffer.from(hkdfSync('sha256', encryptionKey, '', `perennial ${purpose}`, 32))
  return {
    seal(text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed])
    },
    open(sealed) {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE_BYTES))
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      const text = Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
      return text.toString('utf8')
    },
  }
}
