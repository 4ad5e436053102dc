import { createHash } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import { firstRow, type Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { Envelope } from '../envelope/envelope.ts'
import { makeSealKey, type SealKey } from './certificate.ts'

/** The key that seals documents: made when it is first needed, kept in the envelope, and renewed by hand. */

/** Keys of seals belong to the deployment, not to an account. */
const NO_ACCOUNT = 0n

const placeOf = (certificate: Buffer) => ({
  table: 'seal_keys',
  column: 'sealed_key',
  row: createHash('sha256').update(certificate).digest('hex'),
})

interface Stored {
  sealedKey: Buffer
  certificate: Buffer
}

const findStored = (db: Queryable) =>
  firstRow<Stored>(db, sql`select sealed_key as "sealedKey", certificate from find_seal_key()`)

async function makeAndKeep(db: Queryable, envelope: Envelope, now: Date, present?: Stored): Promise<Stored> {
  const { key, certificate } = await makeSealKey(now)
  const sealed = envelope.seal(NO_ACCOUNT, placeOf(certificate), key.toString('base64'))
  await db.rows(sql`select keep_seal_key(${sealed}, ${certificate}, ${present?.certificate ?? null})`)
  const kept = await findStored(db)
  assert(kept, 'a key of the seal was kept')
  return kept
}

const opened = (envelope: Envelope, { sealedKey, certificate }: Stored): SealKey => ({
  key: Buffer.from(envelope.open(NO_ACCOUNT, placeOf(certificate), sealedKey), 'base64'),
  certificate,
})

/** Returns the newest key of the seal, and makes the first one. Of several processes that do so at once the key of one stays. */
export const sealKeyOf = async (db: Queryable, envelope: Envelope, now: Date): Promise<SealKey> =>
  opened(envelope, (await findStored(db)) ?? (await makeAndKeep(db, envelope, now)))

/** Makes another key, which seals from now on; what was sealed by those before stays valid under their certificates. */
export const renewSealKey = async (db: Queryable, envelope: Envelope, now: Date): Promise<SealKey> =>
  opened(envelope, await makeAndKeep(db, envelope, now, await findStored(db)))
