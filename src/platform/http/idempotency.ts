import { Fault, type Problem } from '../../kernel/fault.ts'
import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import { isHeld, releaseLease, takeLease, underLease } from '../database/lease.ts'
import { type Fragment, fragment, sql } from '../database/sql.ts'
import type { Envelope, SealedPlace, Sealer } from '../envelope/envelope.ts'
import type { Answer } from './answer.ts'

/** Idempotency-Key: an answer of 2xx is kept for 24 hours with the change that it reports, and given again for the same request. */

export const KEPT_HOURS = 24

/** Hashes and seals under stored data keys: the database alone can neither guess a key or request from its hash nor read a kept secret. */
export interface IdempotencySecrets {
  hash(text: string): Buffer
  sealer: Sealer
}

export const idempotencySecrets = (envelope: Envelope): IdempotencySecrets => ({
  hash: envelope.keyedHash('idempotency hash'),
  sealer: envelope.under('idempotency body'),
})

/** A request under its key: the hash is of all that must be equal when the key is used again. */
export interface KeyedRequest {
  /** The keyed hash of the key, in hex: a key may hold whatever a client takes for unique, so it is kept nowhere. */
  key: string
  /** The key as versions before have kept it; their answers are found for the day that they are kept. */
  sentKey: string
  hash: Buffer
}

export const keyedRequest = (
  { hash }: IdempotencySecrets,
  key: string,
  sent: { method: string; path: string; body: string },
): KeyedRequest => ({
  key: hash(`key\n${key}`).toString('hex'),
  sentKey: key,
  hash: hash(`${sent.method}\n${sent.path}\n${sent.body}`),
})

/** Returns the lease of a key in the account. */
export const leaseOf = ({ key }: KeyedRequest): string => `key ${key}`

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

/** Row of a key, with whether its lease is held. */
export interface KeptRow {
  /** The key's lease is held: a long operation runs under it. */
  isLeased: boolean
  requestHash: Buffer
  /** Null when nothing is kept, as all that follows. */
  status: number | null
  headers: Record<string, string>
  body: string | null
  isEncrypted: boolean
}

export const keyInUse = () =>
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

/** Returns the name that whoever has a key locks: versions before lock the same. */
export const lockOf = (account: AccountId, { key }: KeyedRequest): string => `${account}:${key}`

/**
 * Takes the key for this transaction and answers what was kept under it. A second request while the first runs is refused at once. `find` may read more
 * than what was kept, by the same statement.
 */
export async function takeKey(
  tx: Transaction,
  keyed: KeyedRequest,
  secrets: IdempotencySecrets,
  realNow: Instant,
  find: () => Promise<KeptRow> = () => findKept(tx, tx.account, keyed, realNow),
): Promise<Answer | undefined> {
  // Sent at once: the second statement begins when the key is taken, so it sees what whoever had it before has kept.
  const [isTaken, kept] = await Promise.all([tx.tryLock(lockOf(tx.account, keyed)), find()])
  if (!isTaken || kept.isLeased) throw keyInUse()
  return answerOf(tx.account, kept, keyed, secrets)
}

/** Returns the columns of what was kept under a key, and what a statement about the account joins for them. */
export const keptUnder = (
  account: AccountId,
  keyed: KeyedRequest,
  realNow: Instant,
): { columns: Fragment; joined: Fragment } => ({
  columns: fragment`
    exists (select 1 from leases
             where leases.account_id = ${account} and leases.name = ${leaseOf(keyed)} and ${isHeld('leases.leased_until')}) as "isLeased",
    k.request_hash as "requestHash", k.status, k.headers, k.body, k.is_encrypted as "isEncrypted"`,
  joined: fragment`
    left join idempotency_keys k on k.account_id = ${account} and k.key in (${keyed.key}, ${keyed.sentKey})
      and k.created_at > ${realNow}::timestamptz - make_interval(hours => ${KEPT_HOURS})`,
})

const findKept = (db: Queryable, account: AccountId, keyed: KeyedRequest, realNow: Instant) => {
  const { columns, joined } = keptUnder(account, keyed, realNow)
  return db.one<KeptRow>(sql`select ${columns} from (values (1)) always ${joined}`)
}

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
  return answerOf(account, kept, keyed, secrets)
}

const placeOf = ({ key }: KeyedRequest): SealedPlace => ({ table: 'idempotency_keys', column: 'body', row: key })

function answerOf(
  account: AccountId,
  kept: KeptRow,
  keyed: KeyedRequest,
  { sealer }: IdempotencySecrets,
): Answer | undefined {
  if (kept.status === null) return undefined
  if (!kept.requestHash.equals(keyed.hash)) {
    throw new Fault('reused', [
      {
        code: 'idempotency_key_reused',
        message: 'This Idempotency-Key was used for another request.',
        field: 'Idempotency-Key',
      },
    ])
  }
  const isSealed = kept.body !== null && kept.isEncrypted
  const body = isSealed ? sealer.open(account, placeOf(keyed), Buffer.from(kept.body ?? '', 'base64')) : kept.body
  return {
    status: kept.status,
    headers: { ...kept.headers, 'idempotency-replayed': 'true' },
    ...(body === null ? {} : { body }),
  }
}

/** Keeps a 2xx answer with the change that it reports; only the commit waits for this. */
export function keepAnswer(
  tx: Transaction,
  keyed: KeyedRequest,
  answer: Answer,
  secrets: IdempotencySecrets,
  realNow: Instant,
): void {
  const text = answer.body?.toString() ?? null
  const isSealed = text !== null && answer.isSecret
  const body = isSealed ? secrets.sealer.seal(tx.account, placeOf(keyed), text).toString('base64') : text
  const headers = { ...answer.headers, ...(answer.etag ? { etag: answer.etag } : {}) }
  tx.send(sql`
    insert into idempotency_keys (account_id, key, request_hash, status, headers, body, is_encrypted, created_at)
    values (${tx.account}, ${keyed.key}, ${keyed.hash}, ${answer.status}, ${JSON.stringify(headers)}, ${body}, ${answer.isSecret ?? false}, ${realNow})
    on conflict (account_id, key) do update set request_hash = excluded.request_hash, status = excluded.status, headers = excluded.headers,
      body = excluded.body, is_encrypted = excluded.is_encrypted, created_at = excluded.created_at`)
}

/**
 * Runs work that commits on its own under its key. The key is a committed row with a lease, so that no transaction or connection is held
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
    const lease = await takeLease(tx, leaseOf(keyed))
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
