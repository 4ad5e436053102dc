import { createHash, randomBytes } from 'node:crypto'

/** A new key: 256 random bits, so a plain hash of it cannot be guessed back. */
export const newSecret = (mode: 'test' | 'live'): string => `${mode}_${randomBytes(32).toString('base64url')}`

/** What is stored of a key. */
export const secretHash = (secret: string): Buffer => createHash('sha256').update(secret, 'utf8').digest()
