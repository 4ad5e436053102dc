import { createHash, X509Certificate } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import type { Queryable } from '../database/database.ts'
import type { Envelope } from '../envelope/envelope.ts'
import { makeSealKey, type SealKey } from './certificate.ts'
import { findSealKey, keepSealKey, type StoredSealKey } from './queries.ts'

/** The key that seals documents: made when it is first needed, kept in the envelope, and renewed by hand or when its certificate is over. */

/** Keys of seals belong to the deployment, not to an account. */
const NO_ACCOUNT = 0n

const placeOf = (certificate: Buffer) => ({
  table: 'seal_keys',
  column: 'sealed_key',
  row: createHash('sha256').update(certificate).digest('hex'),
})

async function makeAndKeep(
  db: Queryable,
  envelope: Envelope,
  now: Date,
  present: StoredSealKey | undefined,
): Promise<StoredSealKey> {
  const { key, certificate } = await makeSealKey(now)
  const sealedKey = envelope.seal(NO_ACCOUNT, placeOf(certificate), key.toString('base64'))
  await keepSealKey(db, { sealedKey, certificate }, present?.certificate ?? null)
  const kept = await findSealKey(db)
  assert(kept, 'a key of the seal was kept')
  return kept
}

const opened = (envelope: Envelope, { sealedKey, certificate }: StoredSealKey): SealKey => ({
  key: Buffer.from(envelope.open(NO_ACCOUNT, placeOf(certificate), sealedKey), 'base64'),
  certificate,
})

/** Returns the last moment of a certificate in DER. */
export const lastMomentOf = (certificate: Buffer): Date => new Date(new X509Certificate(certificate).validTo)

/**
 * Returns the newest key of the seal. It makes the first one, and another where the certificate is over. Of several processes that do so at once the key
 * of one stays.
 */
export async function sealKeyOf(db: Queryable, envelope: Envelope, now: Date): Promise<SealKey> {
  const present = await findSealKey(db)
  const serves = present !== undefined && lastMomentOf(present.certificate) > now
  return opened(envelope, serves ? present : await makeAndKeep(db, envelope, now, present))
}

/** Makes another key, which seals from now on; what was sealed by those before stays valid under their certificates. */
export const renewSealKey = async (db: Queryable, envelope: Envelope, now: Date): Promise<SealKey> =>
  opened(envelope, await makeAndKeep(db, envelope, now, await findSealKey(db)))
