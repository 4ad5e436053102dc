import { Fault } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import { type Transaction, WRITE_STATEMENT_MS } from '../database/database.ts'
import { type Lease, releaseLease, takeLease, underLease } from '../database/lease.ts'
import { sql } from '../database/sql.ts'
import type { HttpDeps } from './deps.ts'
import { keepAnswer, keyInUse, type KeyedRequest, leaseOf, takeKey } from './idempotency.ts'
import type { Answer } from './answer.ts'
import type { AskedKey, Begun } from './operation.ts'

/**
 * Outward operations: what calls a gateway. The intent is committed with the Idempotency-Key; then the gateway is called, while no transaction
 * and no connection is held; then result and kept answer are committed together. A process that was killed in between leaves the intent, with
 * which the same key goes on. See decision 20.
 */

/** Bounds on the calls of this process: each waits for somebody else and takes hardly more than memory. */
export const OUTWARD = { running: 256, waiting: 0, perOwner: 64 }

/** The three steps. Only `call` may reach outside, and it alone runs without a transaction. */
export interface OutwardSteps<Call, Result> {
  begin(tx: Transaction, asked: AskedKey): Promise<Begun<Call>>
  call(call: Call): Promise<Result>
  /** Writes what came of it. A refusal that it returns is thrown after the commit, so that the end of the intent stays. */
  finish(tx: Transaction, call: Call, result: Result): Promise<Answer | Fault>
}

const tooManyCalls = () =>
  new Fault(
    'throttled',
    [
      {
        code: 'too_many_calls',
        message: 'This account waits for many answers of gateways already; try again shortly.',
        field: null,
      },
    ],
    2,
  )

type Deps = Pick<HttpDeps, 'db' | 'secrets' | 'realClock' | 'outwardPlaces'>

const SETTINGS = { plans: 'lasting', statementMs: WRITE_STATEMENT_MS, isShared: true } as const

/** Runs the steps of one request; `keyed` is its Idempotency-Key, where it has one. */
export async function runOutward<Call, Result>(
  deps: Deps,
  account: AccountId,
  keyed: KeyedRequest | undefined,
  steps: OutwardSteps<Call, Result>,
): Promise<Answer> {
  const leave = await deps.outwardPlaces.take(account, { refusal: tooManyCalls })
  try {
    const begun = await deps.db.transaction(account, (tx) => begin(deps, tx, keyed, steps), SETTINGS)
    if ('answer' in begun) return begun.answer
    const { call, lease } = begun
    const goOn = async () => finish(deps, account, { keyed, lease }, call, await steps.call(call), steps)
    const ended = lease ? await underLease(deps.db, account, lease, goOn) : await goOn()
    if (ended instanceof Fault) throw ended
    return ended
  } finally {
    leave()
  }
}

async function begin<Call>(
  { secrets, realClock }: Deps,
  tx: Transaction,
  keyed: KeyedRequest | undefined,
  steps: Pick<OutwardSteps<Call, never>, 'begin'>,
): Promise<{ answer: Answer } | { call: Call; lease: Lease | undefined }> {
  const realNow = instantOf(realClock())
  const kept = keyed && (await takeKey(tx, keyed, secrets, realNow))
  if (kept) return { answer: kept }
  const begunIntent = keyed ? await findBegun(tx, keyed) : null
  const begun = await steps.begin(tx, { isKeyed: keyed !== undefined, begunIntent })
  if ('answer' in begun) {
    if (keyed) endUnder(tx, keyed, begun.answer, { secrets, realNow })
    return begun
  }
  if (!keyed) return { call: begun.call, lease: undefined }
  const lease = await takeLease(tx, leaseOf(keyed))
  if (!lease) throw keyInUse()
  noteBegun(tx, keyed, begun.intent, realNow)
  return { call: begun.call, lease }
}

async function finish<Call, Result>(
  { db, secrets, realClock }: Deps,
  account: AccountId,
  { keyed, lease }: { keyed: KeyedRequest | undefined; lease: Lease | undefined },
  call: Call,
  result: Result,
  steps: Pick<OutwardSteps<Call, Result>, 'finish'>,
): Promise<Answer | Fault> {
  return db.transaction(
    account,
    async (tx) => {
      // This process stood still for as long as a lease lasts, and another went on with the intent: the answer is there.
      if (keyed && lease && !(await releaseLease(tx, lease))) {
        const kept = await takeKey(tx, keyed, secrets, instantOf(realClock()))
        if (kept) return kept
        throw keyInUse()
      }
      const ended = await steps.finish(tx, call, result)
      if (keyed && !(ended instanceof Fault)) endUnder(tx, keyed, ended, { secrets, realNow: instantOf(realClock()) })
      return ended
    },
    SETTINGS,
  )
}

/** Keeps the answer under the key, in place of the intent. */
function endUnder(
  tx: Transaction,
  keyed: KeyedRequest,
  answer: Answer,
  { secrets, realNow }: { secrets: HttpDeps['secrets']; realNow: string },
): void {
  keepAnswer(tx, keyed, answer, secrets, realNow)
  tx.send(sql`delete from outward_requests where account_id = ${tx.account} and key = ${keyed.key}`)
}

/** Finds the intent that the same request began under the key. Another request leaves the key free: it begins its own. */
const findBegun = async (tx: Transaction, { key, hash }: KeyedRequest): Promise<Id | null> =>
  (
    await tx.first<{ intent: Id }>(sql`
      select intent_id as "intent" from outward_requests
       where account_id = ${tx.account} and key = ${key} and request_hash = ${hash}`)
  )?.intent ?? null

const noteBegun = (tx: Transaction, { key, hash }: KeyedRequest, intent: Id, realNow: string): void =>
  tx.send(sql`
    insert into outward_requests (account_id, key, request_hash, intent_id, created_at)
    values (${tx.account}, ${key}, ${hash}, ${intent}, ${realNow})
    on conflict (account_id, key) do update set request_hash = excluded.request_hash, intent_id = excluded.intent_id,
      created_at = excluded.created_at`)
