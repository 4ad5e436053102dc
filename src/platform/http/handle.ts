import type { LongWork } from '../long/presence.ts'
import type { FastifyRequest } from 'fastify'
import { assert } from '../../kernel/assert.ts'
import { Fault, Problems } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Queryable, Snapshot } from '../database/database.ts'
import { TooManyRows } from '../database/failures.ts'
import { LOOKUP_ROWS_MAX } from '../database/lanes.ts'
import { steadyClock } from '../steady-clock.ts'
import { settleUpdates } from '../database/updates.ts'
import type { IgnoredNames } from '../wire/ignored-names.ts'
import type { Caller, RequestContext } from '../../kernel/context.ts'
import { parseJson } from '../wire/json.ts'
import type { HttpDeps } from './deps.ts'
import { tooManyReads } from './errors.ts'
import { type Checked, checked, freshContext, handleWrite } from './handle-write.ts'
import { runUnderKey } from './idempotency.ts'
import type { Input, LongOperation, Operation, OutwardOperation, PathParams, ReadOperation } from './operation.ts'
import { changeOf } from './remembered.ts'
import { changesSomething } from './missed-previews.ts'
import { runOutward } from './outward.ts'
import { bodyOf } from './pieces.ts'
import { preferencesOf } from './prefer.ts'
import { checkJsonType, checkMediaType } from './request-body.ts'
import { sentBody } from './sent-body.ts'
import { addressIdentity, gatherInput, keyedRequestOf, namedAsSent, type Sent } from './sent.ts'
import type { Answer } from './answer.ts'

/** Handling of a request by its operation, in the order of checks that the whole interface keeps. */

/**
 * Answers a request to an operation. `gone` makes a signal that is aborted when the caller hangs up before the answer; `ignored` takes the
 * names that nobody knows.
 */
export async function handleOperation(
  deps: HttpDeps,
  operation: Operation,
  request: FastifyRequest,
  gone: () => AbortSignal,
  ignored: IgnoredNames,
): Promise<Answer> {
  if (request.body instanceof Error && !operation.takesAnyBody) throw request.body
  const bytes = request.body instanceof Error ? undefined : (request.body as Buffer | undefined)
  const hasBody = (bytes?.length ?? 0) > 0
  const caller = request.caller as Caller
  if (operation.body && !operation.takesAnyBody) checkJsonType(request.contentType, hasBody)
  if (operation.rawBody) checkMediaType(request.contentType, hasBody, operation.rawBody.types)
  const { handling, isRepresented } = preferencesOf(request.headers['prefer'])
  const isStrict = handling === undefined ? caller.isStrict : handling === 'strict'
  const sent: Sent = {
    operation,
    params: request.params as PathParams,
    query: request.query as Record<string, unknown>,
    body: await sentBody(deps, operation, caller.account, bytes),
    bodyBytes: bytes?.length ?? 0,
    url: request.url,
    address: `${request.protocol}://${request.host}`,
    headers: request.headers,
    contentType: request.contentType,
    isStrict,
    isRepresented,
    ignored,
    times: request.times,
  }
  const readOnce = () => {
    if (!ignored.isRead) readIgnored(sent, deps.contextOf(caller))
  }
  const answer = await answerOf(deps, operation, caller, sent, gone).finally(readOnce)
  compareComputed(sent, answer, caller)
  return answer
}

/** Compares computed fields that a POST sent with the record that it made; a kept answer is compared like the first one. */
function compareComputed({ operation, ignored }: Sent, { status, body, isPreview }: Answer, caller: Caller): void {
  const isMade = operation.method === 'POST' && changesSomething(operation) && status < 300 && !isPreview
  if (!isMade || !ignored.hasComputed || typeof body !== 'string' || !body.startsWith('{')) return
  ignored.compare(parseJson(body) ?? null, caller.account.timeZone)
}

/** Reads a request that nobody read, for its unknown names alone: its answer was kept, or it was refused before. */
function readIgnored(sent: Sent, context: RequestContext): void {
  try {
    gatherInput(sent, context, new Problems())
  } catch (refusal) {
    if (!(refusal instanceof Fault)) throw refusal
  }
}

async function answerOf(
  deps: HttpDeps,
  operation: Operation,
  caller: Caller,
  sent: Sent,
  gone: () => AbortSignal,
): Promise<Answer> {
  if (operation.kind === 'read') return handleRead(deps, operation, caller, sent, gone)
  if (operation.kind === 'long') return handleLong(deps, operation, caller, sent, gone)
  if (operation.kind === 'outward') return handleOutward(deps, operation, caller, sent)
  return handleWrite(deps, operation, caller, sent)
}

async function handleRead(
  deps: HttpDeps,
  operation: ReadOperation<any, any, any>,
  caller: Caller,
  sent: Sent,
  gone: () => AbortSignal,
): Promise<Answer> {
  const { id } = caller.account
  const { times } = sent
  const context = deps.contextOf(caller)
  const problems = new Problems()
  const input = gatherInput(sent, context, problems)
  const answerFrom = async (db: Queryable, read = operation.read): Promise<Answer> => {
    if (problems.found.length > 0) await findMissing(operation, db, context, input)
    problems.throwIfAny()
    return read(db, context, input)
  }
  if (problems.found.length === 0 && operation.asksForUpdates?.(input.query))
    input.settled = await times.asks(settleUpdates(deps.db))
  const { isLookup, readLong } = operation
  const isShort =
    typeof isLookup === 'function' ? problems.found.length === 0 && isLookup(input.query) : isLookup === true
  if (!isShort && !readLong)
    return readSnapshot(deps, id, answerFrom, { isExpensive: operation.isExpensive === true, gone, times })
  const { knownLong } = deps
  const name = () => `${id} ${addressIdentity(sent)}`
  if (knownLong.isEmpty || !knownLong.has(name())) {
    try {
      if (isShort)
        return await answerFrom(times.of(deps.db.lookup(id, typeof isLookup === 'function' ? 'page' : 'record')))
      return await readSnapshot(deps, id, answerFrom, { isExpensive: false, gone, times, rowsMax: LOOKUP_ROWS_MAX })
    } catch (error) {
      if (!(error instanceof TooManyRows)) throw error
      knownLong.add(name())
    }
  }
  const answerLong = (db: Snapshot) => answerFrom(db, readLong ?? operation.read)
  return readSnapshot(deps, id, answerLong, { isExpensive: true, gone, times })
}

/** Answers from a snapshot. An expensive answer waits for its place, or is refused (429) where the account waits for two already. */
function readSnapshot(
  deps: HttpDeps,
  id: AccountId,
  answerFrom: (db: Snapshot) => Promise<Answer>,
  {
    isExpensive,
    gone,
    times,
    rowsMax,
  }: { isExpensive: boolean; gone: () => AbortSignal; times: Sent['times']; rowsMax?: number },
): Promise<Answer> {
  const entered = isExpensive ? times.waits() : () => {}
  return new Promise<Answer>((answered, failed) => {
    // An answer may leave while it is still read: its snapshot, and its place among the expensive ones, are kept until it is over.
    const read = async () => {
      entered()
      const snapshot = deps.db.snapshot(id, gone(), rowsMax)
      try {
        const { pieces, ...answer } = await answerFrom(times.ofSnapshot(snapshot))
        if (!pieces) return answer
        const { body, over } = await bodyOf(pieces, deps.db.turns.of(id))
        answered({ ...answer, body })
        await over
        return undefined
      } finally {
        snapshot.end()
      }
    }
    const whole = async () => {
      // What only computes gives the place among those that read to the next one, and keeps that of its account.
      const answer = await (isExpensive ? deps.expensiveReads.run(id, read) : read())
      if (answer) answered(answer.makeBody ? { ...answer, body: await answer.makeBody(gone()) } : answer)
    }
    const done = isExpensive ? deps.expensiveAnswers.run(id, whole, tooManyReads) : whole()
    done.finally(entered).catch(failed)
  })
}

/**
 * Finds the record of a request. A missing record (404) is reported before errors in the query or body (400). If an operation does not
 * declare how to find its record, the read itself finds it: it changes nothing, and its answer is thrown away.
 */
async function findMissing(
  operation: ReadOperation<any, any, any>,
  db: Queryable,
  context: RequestContext,
  input: Input<any, any>,
): Promise<void> {
  if (operation.record) {
    await operation.record(db, context, input.params)
    return
  }
  if (Object.keys(input.params).length === 0) return
  try {
    await operation.read(db, context, input)
  } catch (error) {
    if (error instanceof Fault && (error.kind === 'missing' || error.kind === 'unavailable')) throw error
  }
}

/**
 * Runs long work, which commits in a way of its own. First the key, as a row with a lease, so that a repeated call is refused at once; then
 * its presence, which all processes see; then a place of its kind in this process; then a connection of those that long operations have for themselves.
 */
async function handleLong(
  deps: HttpDeps,
  operation: LongOperation<any, any>,
  caller: Caller,
  sent: Sent,
  callerGone: () => AbortSignal,
): Promise<Answer> {
  const account = caller.account.id
  const { longKind: kind, refusal } = operation
  const { signal: stops } = deps.db.admission
  const gone = operation.endsWithCaller ? AbortSignal.any([callerGone(), stops]) : stops
  const run = () => {
    const sinceMs = steadyClock()
    const context = deps.contextOf(caller)
    const problems = new Problems()
    const input = gatherInput(sent, context, problems)
    problems.throwIfAny()
    const asked = { kind, account, isTest: caller.account.mode === 'test', refusal, gone }
    const { isAsync } = preferencesOf(sent.headers['prefer'])
    const entered = sent.times.waits()
    return new Promise<Answer>((answer, refuse) => {
      const work = (about: LongWork) => {
        entered()
        return operation.run(context, input, { ...about, gone, ...(isAsync && { answerAhead: answer }) })
      }
      // What comes after an answer ahead is for the operation to note.
      const done = deps.underway.during(() => deps.longOperations.run(asked, work))
      const answered = (made: Answer) => {
        if (made.status < 300 && !made.isPreview)
          deps.db.rememberChange(account, changeOf(operation, sent, made), sinceMs)
        answer(made)
      }
      done.finally(entered).then(answered, refuse)
    })
  }
  const keyed = keyedRequestOf(deps, sent)
  return keyed ? runUnderKey({ ...deps, db: sent.times.ofTransactions(deps.db) }, account, keyed, run) : run()
}

async function handleOutward(
  deps: HttpDeps,
  operation: OutwardOperation<any, any, any, any>,
  caller: Caller,
  sent: Sent,
): Promise<Answer> {
  let asked: Checked | undefined
  const known = (): Checked => {
    assert(asked, 'an outward operation is checked before it calls')
    return asked
  }
  const asking = { ...deps, db: sent.times.ofTransactions(deps.db) }
  return runOutward(asking, caller.account.id, keyedRequestOf(deps, sent), {
    begin: async (tx, key) => {
      asked = await checked(await freshContext(deps, caller, tx), operation, sent, tx)
      const begun = await operation.begin(tx, asked.context, asked.input, asked.record, asked.found, key)
      if ('answer' in begun) tx.remember(() => changeOf(operation, sent, begun.answer))
      return begun
    },
    call: (call) => operation.call(known().context, known().input, call),
    finish: async (tx, call, result) => {
      const ended = await operation.finish(tx, await freshContext(deps, caller, tx), known().input, call, result)
      if (!(ended instanceof Fault)) tx.remember(() => changeOf(operation, sent, ended))
      return ended
    },
  }).catch((thrown: unknown) => {
    throw namedAsSent(thrown, sent)
  })
}

/** Returns the identifier in a path; anything that cannot be one belongs to no record. */
export function pathId(params: PathParams, name: string, unknown: (value: string) => Fault): bigint {
  const text = params[name] ?? ''
  if (!/^\d{1,16}$/.test(text) || Number(text) > Number.MAX_SAFE_INTEGER || Number(text) < 1)
    throw unknown(text.slice(0, 40))
  return BigInt(text)
}
