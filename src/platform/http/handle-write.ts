import { Fault, Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Account, Caller, RequestContext } from '../../kernel/context.ts'
import { type Transaction, WRITE_STATEMENT_MS } from '../database/database.ts'
import { isJsonObject } from '../wire/json.ts'
import type { HttpDeps } from './deps.ts'
import type { Groupable } from './group.ts'
import { checkIfMatch } from './etag.ts'
import { findKeptAnswer, keepAnswer, type KeptRow, lockOf, takeKey } from './idempotency.ts'
import type { Input, OutwardOperation, WriteOperation } from './operation.ts'
import { NotPlain } from './plain-body.ts'
import { changeOf, invoiceNumbersIn } from './remembered.ts'
import { represented } from './represented.ts'
import { sentBody } from './sent-body.ts'
import { gatherInput, keyedRequestOf, namedAsSent, type Sent } from './sent.ts'
import type { Answer } from './answer.ts'

/** Handling of a write: its checks, its work and its Idempotency-Key, in one transaction. */

export async function handleWrite(
  deps: HttpDeps,
  operation: WriteOperation<any, any, any, any, any>,
  caller: Caller,
  sent: Sent,
): Promise<Answer> {
  const keyed = keyedRequestOf(deps, sent)
  const account = caller.account.id
  const { times } = sent
  const again = (kept: Answer): Answer => {
    deps.db.rememberNumbers(account, invoiceNumbersIn(kept))
    return kept
  }
  if (keyed && operation.prepare) {
    const kept = await findKeptAnswer(
      times.of(deps.db.lookup(account)),
      account,
      keyed,
      deps.secrets,
      instantOf(deps.realClock()),
    )
    if (kept) return again(kept)
  }
  const prepared = await prepare(deps, operation, caller, sent)
  /** Takes the key and makes the checks. Returns the work, or the answer that was kept. An account that is not known is read, under a key by the same statement as what was kept. */
  const begin = async (tx: Transaction, known?: () => Promise<Account>) => {
    const realNow = instantOf(deps.realClock())
    const reading = keyed && !known ? () => (fresh = deps.freshAccountUnder(tx, keyed, realNow)) : undefined
    let fresh: Promise<Account & KeptRow> | undefined
    const kept = keyed && (await takeKey(tx, keyed, deps.secrets, realNow, reading))
    if (kept) return again(kept)
    const { body } = sent
    const context = deps.contextOf({ ...caller, account: await (fresh ?? known?.() ?? deps.freshAccount(tx)) })
    const asked = 'plain' in body ? undefined : await checked(context, operation, sent, tx)
    return async (): Promise<Answer> => {
      const answer =
        'plain' in body
          ? await workPlain(context, operation, { ...sent, body }, tx)
          : await work(deps, operation, caller, { ...sent, prepared }, tx, asked as Checked)
      if (answer.isPreview) throw new Previewed(answer)
      if (keyed) keepAnswer(tx, keyed, answer, deps.secrets, realNow)
      tx.remember(() => changeOf(operation, sent, answer))
      return answer
    }
  }
  const alone = () =>
    deps.db.transaction(
      account,
      async (tx) => {
        const begun = await begin(tx)
        return typeof begun === 'function' ? begun() : begun
      },
      {
        plans: operation.plans ?? 'lasting',
        statementMs: WRITE_STATEMENT_MS,
        isShared: true,
        times,
        ...(keyed && { lock: lockOf(account, keyed) }),
      },
    )
  const record = recordInGroup(operation, sent)
  const answer =
    record === undefined || !operation.grouping
      ? alone()
      : inGroup(deps, account, times, {
          grouping: operation.grouping,
          record,
          key: keyed?.key,
          begin,
          alone,
        })
  return answer.catch(async (thrown: unknown) => {
    if (thrown instanceof Previewed) return thrown.answer
    if (thrown instanceof NotPlain && 'plain' in sent.body) {
      const body = await sentBody(deps, operation, caller.account, sent.body.unread, false)
      return handleWrite(deps, operation, caller, { ...sent, body })
    }
    throw namedAsSent(thrown, sent)
  })
}

/** Hands a write to those that come at once. In a group all is time of the database from its first step to the commit. */
function inGroup(
  { groupedWrites }: HttpDeps,
  account: AccountId,
  times: Sent['times'],
  request: Groupable,
): Promise<Answer> {
  const entered = times.waits()
  let committed = () => {}
  return groupedWrites
    .run(account, {
      ...request,
      begin: (tx, found) => {
        entered()
        const ended = new Promise<void>((resolve) => (committed = resolve))
        void times.asks(ended)
        return request.begin(tx, found)
      },
      alone: () => {
        entered()
        committed()
        return request.alone()
      },
    })
    .finally(() => {
      entered()
      committed()
    })
}

/** Does a write of a plain body. Whatever is refused, the way of all requests explains. */
async function workPlain(
  context: RequestContext,
  { plainWay }: WriteOperation<any, any, any, any, any>,
  sent: Sent & { body: { plain: unknown } },
  tx: Transaction,
): Promise<Answer> {
  const problems = new Problems()
  gatherInput(sent, context, problems)
  if (!plainWay || problems.found.length > 0) throw new NotPlain()
  try {
    return await plainWay.write(tx, context, sent.body.plain)
  } catch (thrown) {
    throw thrown instanceof Fault ? new NotPlain() : thrown
  }
}

/** Larger requests are done alone: others would wait for them. */
const GROUPED_BYTES_MAX = 16 * 1024

/** Returns the record by which a request may share a transaction, null where it adds one; undefined where it is done alone. */
function recordInGroup(
  { grouping, representation, preview }: WriteOperation<any, any, any, any, any>,
  { params, body, bodyBytes, isRepresented }: Sent,
): bigint | null | undefined {
  if (!grouping || preview || 'plain' in body || bodyBytes > GROUPED_BYTES_MAX || (representation && isRepresented))
    return undefined
  return grouping.recordOf(params, 'json' in body ? body.json : undefined)
}

/** Reads the account of a caller in a transaction. */
export const freshContext = async (deps: HttpDeps, caller: Caller, tx: Transaction): Promise<RequestContext> =>
  deps.contextOf({ ...caller, account: await deps.freshAccount(tx) })

/** Runs the slow part of a write before its transaction. What is wrong with the input is left for the transaction to find, in its order. */
async function prepare(
  deps: HttpDeps,
  operation: WriteOperation<any, any, any, any, any>,
  caller: Caller,
  sent: Sent,
): Promise<unknown> {
  if (!operation.prepare) return undefined
  const context = deps.contextOf(caller)
  const problems = new Problems()
  const input = gatherInput(sent, context, problems)
  if (problems.found.length > 0) return undefined
  return operation.prepare(sent.times.of(deps.db.reader(caller.account.id)), context, input)
}

/** Ends the transaction of a preview: the change was really made, so the answer is true, and is taken back. */
class Previewed extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('a preview is rolled back')
    this.answer = answer
  }
}

async function work(
  deps: HttpDeps,
  operation: WriteOperation<any, any, any, any, any>,
  caller: Caller,
  sent: Sent & { prepared: unknown },
  tx: Transaction,
  { context, input, record, found }: Checked,
): Promise<Answer> {
  const answer = await operation.write(tx, context, input, record, found, sent.prepared)
  const { representation } = operation
  if (!sent.isRepresented || !representation || answer.isPreview) return answer
  // Read under the settings that the change may have left.
  return represented(answer, representation, async (read) => read(tx, await freshContext(deps, caller, tx), input))
}

export interface Checked {
  context: RequestContext
  input: Input<any, any>
  record: unknown
  found: unknown
}

/** Makes the checks that come before the work, in the transaction of the work: the record (404), If-Match (412), the input (400). */
export async function checked(
  context: RequestContext,
  operation: WriteOperation<any, any, any, any, any> | OutwardOperation<any, any, any, any>,
  sent: Sent,
  tx: Transaction,
): Promise<Checked> {
  const problems = new Problems()
  const input = gatherInput(sent, context, problems)
  const record = await operation.record?.(tx, context, input)
  if (operation.kind === 'write' && operation.etag)
    checkIfMatch(sent.headers['if-match'], operation.etag(record, context))
  // The fields of a body that could not be read cannot be checked.
  const isUnread = 'problem' in sent.body || ('json' in sent.body && !isJsonObject(sent.body.json))
  if (operation.body && isUnread) problems.throwIfAny()
  const found = await operation.references?.(tx, context, input as Input<object, unknown>, problems, record)
  problems.throwIfAny()
  return { context, input, record, found }
}
