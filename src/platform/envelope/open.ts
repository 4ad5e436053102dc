import { randomBytes } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Keys } from '../setting-values.ts'
import type { Queryable } from '../database/database.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import { REPEATS, repeatsPattern } from '../weak-secrets.ts'
import { KEY_BYTES } from './cipher.ts'
import { findEncryptionKeys, findOrMakeEncryptionKeys, keyFileOf } from './encryption-key.ts'
import { type Envelope, makeEnvelope, type Purpose, PURPOSES } from './envelope.ts'
import { keyIdOf, KeyRing, UnknownKey } from './key-ring.ts'
import { byteaText, keepDataKeys, listDataKeys, listWrappingKeys } from './queries.ts'

/** The start of every process, as far as keys go: it makes sure that it can open all that the database keeps. */

type KeyConfig = Pick<Config, 'encryptionKeys' | 'dataDir'>

const sourceOf = (config: KeyConfig): string =>
  config.encryptionKeys ? 'ENCRYPTION_KEY' : `the file ${keyFileOf(config.dataDir)}`

/** Returns the sentence about weak keys that are in use, with the way out; undefined where none is weak. */
export function weakKeysInUse(config: KeyConfig): { text: string; mend: string } | undefined {
  const keys = findEncryptionKeys(config) ?? []
  const [first] = keys
  if (!first || !keys.some(repeatsPattern)) return undefined
  const text = `A key in ${sourceOf(config)} ${REPEATS}: whoever has a copy of the database can try it out`
  if (repeatsPattern(first))
    return { text, mend: 'name a drawn one before it, as new,old, and run "perennial encryption rotate"' }
  return { text, mend: 'run "perennial encryption rotate", and leave it out once it wraps nothing' }
}

/**
 * Returns the keys, undefined where there are none and nothing is sealed yet. Throws a StartFailure when something is wrapped by a key that
 * is not among them, and when the one that would seal is weak and has sealed nothing yet.
 */
export async function checkEncryptionKeys(db: Queryable, config: KeyConfig): Promise<KeyRing | undefined> {
  return checkAgainst(await listWrappingKeys(db), db, config)
}

/**
 * Does the same while what accounts keep cannot be asked for: the keys have to open the data keys of purposes, so that nothing is ever sealed under a key that is
 * none of this database's. Throws a StartFailure, too, if there is none yet: nothing would show whether the keys are right.
 */
export async function checkKeysOfPurposes(db: Queryable, config: KeyConfig): Promise<KeyRing | undefined> {
  const wrapped = (await listDataKeys(db)).flatMap((key) => key.wrapped ?? [])
  if (wrapped.length === 0)
    throw new StartFailure(
      'Nothing shows whether the encryption key is the right one while a worker of the database is away: start again when it is back.',
    )
  return checkAgainst([...new Set(wrapped.map(keyIdOf))], db, config)
}

async function checkAgainst(wrapping: string[], db: Queryable, config: KeyConfig): Promise<KeyRing | undefined> {
  const keys = findEncryptionKeys(config)
  if (keys) {
    const ring = fittingRing(keys, wrapping, config)
    if (repeatsPattern(keys[0])) await refuseUnused(db, ring, wrapping, config)
    return ring
  }
  // A new key would open nothing, and hide that the old one is missed.
  if (wrapping.length > 0 || (await listDataKeys(db)).length > 0)
    throw new StartFailure(
      `There is no encryption key, and the database holds what was sealed under one: set ENCRYPTION_KEY to it, or restore ${keyFileOf(config.dataDir)} from a backup.`,
    )
  return undefined
}

/** Throws a StartFailure where the first key has sealed nothing. A version before may have sealed with what it derived from it. */
async function refuseUnused(
  db: Queryable,
  { ids: [first = ''] }: KeyRing,
  wrapping: readonly string[],
  config: KeyConfig,
): Promise<void> {
  if (wrapping.includes(first) || (wrapping.length === 0 && (await listDataKeys(db)).length > 0)) return
  throw new StartFailure(
    `The key in ${sourceOf(config)} ${REPEATS}, and nothing is sealed under it yet: set ENCRYPTION_KEY to one that was drawn, as "openssl rand -hex 32" does.`,
  )
}

function fittingRing(keys: Keys, wrapping: readonly string[], config: KeyConfig): KeyRing {
  const ring = new KeyRing(...keys)
  const missing = wrapping.filter((id) => !ring.ids.includes(id))
  if (missing.length === 0) return ring
  if (missing.length === wrapping.length)
    throw new StartFailure(
      `The key in ${sourceOf(config)} is not the one that this database was sealed under (${missing.join(', ')}): set ENCRYPTION_KEY to that one.`,
    )
  throw new StartFailure(
    `Some of what the database keeps is sealed under the key ${missing.join(', ')}, which is not in ${sourceOf(config)}: name both keys, as new,old, until "perennial encryption rotate" has run.`,
  )
}

/**
 * Opens the envelope, and makes what is missing of it: the key file where there is no key and nothing is sealed, and data keys of purposes.
 * Throws a StartFailure as the check of the keys does.
 */
export async function openEnvelope(
  db: Queryable,
  config: KeyConfig,
  check: () => Promise<KeyRing | undefined> = () => checkEncryptionKeys(db, config),
): Promise<Envelope> {
  const ring = (await check()) ?? new KeyRing(...findOrMakeEncryptionKeys(config))
  return envelopeUnder(db, ring)
}

/** Opens the envelope of a database under keys that are known to fit. */
export async function envelopeUnder(db: Queryable, ring: KeyRing): Promise<Envelope> {
  const stored = await storedKeys(db)
  const missing = PURPOSES.filter((purpose) => !stored.get(purpose))
  if (missing.length > 0) {
    const made = missing.map((purpose) => {
      const key = stored.has(purpose) ? derivedOfBefore(ring, purpose) : randomBytes(KEY_BYTES)
      return { purpose, wrapped: byteaText(ring.wrap(key)) }
    })
    await keepDataKeys(db, made)
  }
  // Another process may have been first; its keys count.
  const kept = missing.length === 0 ? stored : await storedKeys(db)
  const dataKeys = new Map<Purpose, Buffer>()
  for (const purpose of PURPOSES) dataKeys.set(purpose, unwrapped(ring, kept.get(purpose) ?? Buffer.alloc(0)))
  return makeEnvelope(ring, dataKeys)
}

const storedKeys = async (db: Queryable) =>
  new Map((await listDataKeys(db)).map(({ purpose, wrapped }) => [purpose, wrapped]))

function derivedOfBefore(ring: KeyRing, purpose: Purpose): Buffer {
  if (ring.ids.length > 1)
    throw new StartFailure(
      'The first start of this version takes one key: set ENCRYPTION_KEY to the one that was used so far, and a new one afterwards.',
    )
  return ring.derivedOfBefore(purpose)
}

function unwrapped(ring: KeyRing, wrapped: Buffer): Buffer {
  try {
    return ring.unwrap(wrapped)
  } catch (error) {
    if (!(error instanceof UnknownKey)) throw error
    throw new StartFailure(
      'Another process has just sealed this database under another key: set the same ENCRYPTION_KEY for all.',
    )
  }
}
