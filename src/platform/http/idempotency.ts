import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { Fault, type Problem } from '../../kernel/fault.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { oneRow } from '../database/database.ts'
import { IS_HELD, releaseLease, takeLease, underLease } from '../database/lease.ts'
import { sql } from '../database/sql.ts'
import type { Answer } from './operation.ts'

/** Idempotency-Key: an answer of 2xx is kept for 24 hours with the change that it reports, and given again for the same request. */

export const KEPT_HOURS = 24

/** Keys made from ENCRYPTION_KEY: the database alone can neither guess a request from its hash nor read a kept secret. */
export interface IdempotencySecrets {
  hashKey: Buffer
  bodyKey: Buffer
}

export function idempotencySecrets(encryptionKey: Buffer): IdempotencySecrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', encryptionKey, '', `perennial ${purpose}`, 32))
  return { hashKey: derive('idempotency hash'), bodyKey: derive('idempotency body') }
}

export function requestHash(secrets: IdempotencySecrets, method: string, path: string, body: string): Buffer {
  return createHmac('sha256', secrets.hashKey).update(`${method}\n${path}\n${body}`).digest()
}

/** A request under its key: the hash is of all that must be equal when the key is used again. */
export interface KeyedRequest {
  key: string
  hash: Buffer
  /** The name of the key's lease, from which nobody learns the key. */
  lease: string
}

/** Returns the lease of a key in the account. */
export const keyLease = ({ hashKey }: IdempotencySecrets, key: string): string =>
  `key ${createHmac('sha256', hashKey).update(`key\n${key}`).digest('hex')}`

/** Returns the key of a request's header, what is wrong with it, or undefined when none is sent. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | Problem | undefined {
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[\x20-\x7e]{1,255}$/.test(header)) return header
  return {
    code: 'idempotency_key_invalid',
    message: 'Idempotency-Key must have 1 to 255 printable characters.',
    field: 'Idempotency-Key',
  }
}

interface KeptRow {
  /** The key's lease is held: a long operation runs under it. */
  isLeased: boolean
  requestHash: Buffer
  /** Null when nothing is kept, as all that follows. */
  status: number | null
  headers: Record<string, string>
  body: string | null
  isEncrypted: boolean
}

const keyInUse = () =>
  new Fault(
    'busy',
    [
      {
        code: 'idempotency_key_in_use',
        message: 'A request with this Idempotency-Key is still running.',
        field: 'Idempotency-Key',
      },
    ],
    1,
  )

/** Takes the key for this transaction and answers what was kept under it. A second request while the first runs is refused at once. */
export async function takeKey(
  tx: Transaction,
  keyed: KeyedRequest,
  secrets: IdempotencySecrets,
  realNow: Instant,
): Promise<Answer | undefined> {
  // Sent at once: the second statement begins when the key is taken, so it sees what whoever had it before has kept.
  const [{ taken }, kept] = await Promise.all([
    oneRow<{ taken: boolean }>(
      tx,
      sql`select pg_try_advisory_xact_lock(hashtextextended(${`${tx.account}:${keyed.key}`}, 7305)) as "taken"`,
    ),
    findKept(tx, tx.account, keyed, realNow),
  ])
  if (!taken || kept.isLeased) throw keyInUse()
  return answerOf(kept, keyed, secrets)
}

const findKept = (db: Queryable, account: AccountId, { key, lease }: KeyedRequest, realNow: Instant) =>
  oneRow<KeptRow>(
    db,
    sql`select exists (select 1 from leases
                        where leases.account_id = ${account} and leases.name = ${lease} and ${IS_HELD}) as "isLeased",
               k.request_hash as "requestHash", k.status, k.headers, k.body, k.is_encrypted as "isEncrypted"
          from (values (1)) always
          left join idempotency_keys k on k.account_id = ${account} and k.key = ${key}
            and k.created_at > ${realNow}::timestamptz - make_interval(hours => ${KEPT_HOURS})`,
  )

/**
 * Returns what was kept under the key, without taking it: before work that is slow and outside of the transaction. Throws a Fault where the
 * key is in use or was used for another request.
 */
export async function findKeptAnswer(
  db: Queryable,
  account: AccountId,
  keyed: KeyedRequest,
  secrets: IdempotencySecrets,
  realNow: Instant,
): Promise<Answer | undefined> {
  const kept = await findKept(db, account, keyed, realNow)
  if (kept.isLeased) throw keyInUse()
  return answerOf(kept, keyed, secrets)
}

function answerOf(kept: KeptRow, { hash }: KeyedRequest, secrets: IdempotencySecrets): Answer | undefined {
  if (kept.status === null) return undefined
  if (!kept.requestHash.equals(hash)) {
    throw new Fault('reused', [
      {
        code: 'idempotency_key_reused',
        message: 'This Idempotency-Key was used for another request.',
        field: 'Idempotency-Key',
      },
    ])
  }
  const body = kept.body !== null && kept.isEncrypted ? decrypt(kept.body, secrets.bodyKey) : kept.body
  return {
    status: kept.status,
    headers: { ...kept.headers, 'idempotency-replayed': 'true' },
    ...(body === null ? {} : { body }),
  }
}

/** Keeps a 2xx answer with the change that it reports; only the commit waits for this. */
export function keepAnswer(
  tx: Transaction,
  { key, hash }: KeyedRequest,
  answer: Answer,
  secrets: IdempotencySecrets,
  realNow: Instant,
): void {
  const text = answer.body?.toString() ?? null
  const body = text !== null && answer.isSecret ? encrypt(text, secrets.bodyKey) : text
  const headers = { ...answer.headers, ...(answer.etag ? { etag: answer.etag } : {}) }
  tx.send(sql`
    insert into idempotency_keys (account_id, key, request_hash, status, headers, body, is_encrypted, created_at)
    values (${tx.account}, ${key}, ${hash}, ${answer.status}, ${JSON.stringify(headers)}, ${body}, ${answer.isSecret ?? false}, ${realNow})
    on conflict (account_id, key) do update set request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers,
      body = excluded.body, is_encrypted = excluded.is_encrypted, created_at = excluded.created_at`)
}

/**
 * Runs work that commits by itself under its key. The key is a committed row with a lease, so that no transaction or connection is held
 * meanwhile and a second request is refused at once in every process; the lease of a process that died lapses. Answers what was kept, or
 * what the work answers, which is kept as the lease ends.
 */
export async function runUnderKey(
  {
    db,
    longDb,
    secrets,
    realClock,
  }: { db: Database; longDb: Database; secrets: IdempotencySecrets; realClock(): number },
  account: AccountId,
  keyed: KeyedRequest,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const realNow = instantOf(realClock())
  const begun = await db.transaction(account, async (tx) => {
    const kept = await takeKey(tx, keyed, secrets, realNow)
    if (kept) return { kept }
    const lease = await takeLease(tx, keyed.lease)
    if (!lease) throw keyInUse()
    return { lease }
  })
  if (begun.kept) return begun.kept
  const { lease } = begun
  return underLease(longDb, account, lease, async () => {
    const answer = await work()
    await longDb.transaction(account, async (tx) => {
      if (await releaseLease(tx, lease)) keepAnswer(tx, keyed, answer, secrets, realNow)
    })
    return answer
  })
}

/**
 * Replaces who a customer is in kept answers that name it. The keys stay, so that a request that is sent again is not done again; encrypted
 * answers hold keys of the account and no customer.
 */
export const anonymiseKeptAnswers = (tx: Transaction, customerId: bigint, neutral: string) =>
  tx.rows(sql`
    update idempotency_keys set body = anonymised_record(body::jsonb, ${customerId}::bigint, ${neutral})::text
     where account_id = ${tx.account} and not is_encrypted and body like '%"customerID":' || ${customerId}::bigint || '%'`)

function encrypt(text: string, key: Buffer): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
}

function decrypt(text: string, key: Buffer): string {
  const bytes = Buffer.from(text, 'base64')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}
