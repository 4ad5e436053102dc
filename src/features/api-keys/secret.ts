import { createHash, randomBytes } from 'node:crypto'

/** Makes a new key: 256 random bits, so a plain hash of it cannot be guessed back. */
export const newSecret = (mode: 'test' | 'live'): string => `${mode}_${randomBytes(32).toString('base64url')}`

/** Returns the SHA-256 hash of the secret of a key: only this is stored of it. */
export const secretHash = (secret: string): Buffer => createHash('sha256').update(secret, 'utf8').digest()
