import { randomBytes, randomInt, scryptSync, timingSafeEqual } from 'node:crypto'

/** Passwords of the customer portal: never kept but as scrypt hashes, whose parameters stand with them so that they can be raised later. */

/**
 * 32 MB and some 200 ms for one password: slow for somebody who guesses, bearable for somebody who signs in, and one of the equal choices of OWASP's Password
 * Storage Cheat Sheet. With 16 MB the allocator of glibc kept the memory for the next time, and took more beside it where a small piece had been
 * put there meanwhile; what is larger than 32 MiB it always gives back (mallopt(3), M_MMAP_THRESHOLD).
 */
const COST = { log2N: 15, r: 8, p: 3 }
const SALT_BYTES = 16
const HASH_BYTES = 32

const hashWith = (password: string, salt: Buffer, { log2N, r, p }: typeof COST): Buffer =>
  scryptSync(password.normalize('NFKC'), salt, HASH_BYTES, { N: 2 ** log2N, r, p, maxmem: 256 * 2 ** log2N * r })

/** Returns the hash of a password as text: `scrypt$15$8$3$salt$hash`. Equal passwords have different ones. Takes long: see hashing.ts. */
export function passwordHash(password: string): string {
  const salt = randomBytes(SALT_BYTES)
  const hash = hashWith(password, salt, COST)
  return ['scrypt', COST.log2N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Returns whether a password is the one of a hash, compared in constant time. Takes as long as a hash. */
export function isPasswordOf(password: string, kept: string): boolean {
  const [scheme, log2N, r, p, salt, hash] = kept.split('$')
  if (scheme !== 'scrypt' || !salt || !hash) return false
  const cost = { log2N: Number(log2N), r: Number(r), p: Number(p) }
  return timingSafeEqual(hashWith(password, Buffer.from(salt, 'base64url'), cost), Buffer.from(hash, 'base64url'))
}

// Without what looks alike in some type: 0 O o, 1 I l i, 5 S s, 2 Z z, 8 B.
const LETTERS = 'acdefghjkmnpqrtuvwxyACDEFGHJKLMNPQRTUVWXY'
const DIGITS = '34679'
const GENERATED_LENGTH = 12

/** Makes a password to be typed from a mail: 12 characters of an unambiguous alphabet, letters and digits both among them. */
export function generatedPassword(): string {
  const any = LETTERS + DIGITS
  for (;;) {
    const password = Array.from({ length: GENERATED_LENGTH }, () => any[randomInt(any.length)]).join('')
    if (isStrongEnough(password)) return password
  }
}

/** Returns whether a password is strong enough. Interface: at least 6 characters, at least one letter and one number among them. */
export const isStrongEnough = (password: string): boolean =>
  [...password].length >= 6 && /\p{L}/u.test(password) && /\p{Nd}/u.test(password)
