import type { FastifyRequest } from 'fastify'
import { assert } from '../../kernel/assert.ts'
import { Fault, Problems } from '../../kernel/fault.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { type Queryable, type Transaction, WRITE_STATEMENT_MS } from '../database/database.ts'
import { TooManyRows } from '../database/failures.ts'
import { LOOKUP_ROWS_MAX } from '../database/lanes.ts'
import type { Snapshot } from '../database/reads.ts'
import { settleUpdates } from '../database/updates.ts'
import { isJsonObject, type Json } from '../wire/json.ts'
import type { IgnoredNames } from '../wire/ignored-names.ts'
import { REFUSED, type ReadContext } from '../wire/read.ts'
import type { Caller, RequestContext } from '../../kernel/context.ts'
import type { HttpDeps } from './deps.ts'
import { tooManyReads } from './errors.ts'
import { checkIfMatch } from './etag.ts'
import {
  findKeptAnswer,
  idempotencyKeyOf,
  type KeyedRequest,
  keyedRequest,
  keepAnswer,
  runUnderKey,
  takeKey,
} from './idempotency.ts'
import type {
  Answer,
  Input,
  LongOperation,
  Operation,
  OutwardOperation,
  PathParams,
  ReadOperation,
  WriteOperation,
} from './operation.ts'
import { runOutward } from './outward.ts'
import { bodyOf } from './pieces.ts'
import { NotPlain } from './plain-body.ts'
import { preferencesOf } from './prefer.ts'
import { NO_QUERY, queryAsJson } from './query.ts'
import { refuseMissedPreviews } from './missed-previews.ts'
import { represented } from './represented.ts'
import { bodyIdentity, checkJsonType, checkMediaType, type SentBody } from './request-body.ts'
import { sentBody } from './sent-body.ts'
import { refuseStrayNumbers } from './stray-numbers.ts'

/** Handling of a request by its operation, in the order of checks that the whole interface keeps. */

interface Sent {
  operation: Operation
  params: PathParams
  query: Record<string, unknown>
  body: SentBody
  url: string
  address: string
  headers: FastifyRequest['headers']
  isStrict: boolean
  isRepresented: boolean
  ignored: IgnoredNames
}

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
    url: request.url,
    address: `${request.protocol}://${request.host}`,
    headers: request.headers,
    isStrict,
    isRepresented,
    ignored,
  }
  try {
    return await answerOf(deps, operation, caller, sent, gone)
  } finally {
    if (!ignored.isRead) readIgnored(sent, deps.contextOf(caller))
  }
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
  if (operation.kind === 'long') return handleLong(deps, operation, caller, sent)
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
  const context = deps.contextOf(caller)
  const problems = new Problems()
  const input = gatherInput(sent, context, problems)
  const answerFrom = async (db: Queryable, read = operation.read): Promise<Answer> => {
    if (problems.found.length > 0) await findMissing(operation, db, context, input)
    problems.throwIfAny()
    return read(db, context, input)
  }
  if (problems.found.length === 0 && operation.asksForUpdates?.(input.query))
    input.settled = await settleUpdates(deps.db)
  const { isLookup, readLong } = operation
  const isShort =
    typeof isLookup === 'function' ? problems.found.length === 0 && isLookup(input.query) : isLookup === true
  if (!isShort && !readLong)
    return readSnapshot(deps, id, answerFrom, { isExpensive: operation.isExpensive === true, gone })
  const { knownLong } = deps
  const name = () => `${id} ${addressIdentity(sent)}`
  if (knownLong.isEmpty || !knownLong.has(name())) {
    try {
      if (isShort) return await answerFrom(deps.db.lookup(id, typeof isLookup === 'function' ? 'page' : 'record'))
      return await readSnapshot(deps, id, answerFrom, { isExpensive: false, gone, rowsMax: LOOKUP_ROWS_MAX })
    } catch (error) {
      if (!(error instanceof TooManyRows)) throw error
      knownLong.add(name())
    }
  }
  const answerLong = (db: Snapshot) => answerFrom(db, readLong ?? operation.read)
  return readSnapshot(deps, id, answerLong, { isExpensive: true, gone })
}

/** Answers from a snapshot. An expensive answer waits for its place, or is refused (429) where the account waits for two already. */
function readSnapshot(
  deps: HttpDeps,
  id: AccountId,
  answerFrom: (db: Snapshot) => Promise<Answer>,
  { isExpensive, gone, rowsMax }: { isExpensive: boolean; gone: () => AbortSignal; rowsMax?: number },
): Promise<Answer> {
  return new Promise<Answer>((answered, failed) => {
    // An answer may leave while it is still read: its snapshot, and its place among the expensive ones, are kept until it is over.
    const read = async () => {
      const snapshot = deps.db.snapshot(id, gone(), rowsMax)
      try {
        const { pieces, ...answer } = await answerFrom(snapshot)
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
    done.catch(failed)
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

/** Returns the request as its Idempotency-Key compares it; undefined when no (valid) key was sent. */
function keyedRequestOf(deps: HttpDeps, sent: Sent): KeyedRequest | undefined {
  const key = idempotencyKeyOf(sent.headers['idempotency-key'])
  if (typeof key !== 'string') return undefined
  const { method } = sent.operation
  return keyedRequest(deps.secrets, key, { method, path: addressIdentity(sent), body: bodyIdentity(sent.body) })
}

/**
 * Returns the address as the operation sees it: letter case of fixed words, a trailing slash, paging and strange parameters change nothing.
 */
function addressIdentity({ operation, params, query }: Sent): string {
  const declared = [...(operation.query?.spellings?.keys() ?? [])].filter((name) => !/^page(_size)?$/.test(name))
  return JSON.stringify([operation.path, params, declared.map((name) => query[name] ?? null)])
}

async function handleWrite(
  deps: HttpDeps,
  operation: WriteOperation<any, any, any, any, any>,
  caller: Caller,
  sent: Sent,
): Promise<Answer> {
  const keyed = keyedRequestOf(deps, sent)
  const account = caller.account.id
  if (keyed && operation.prepare) {
    const kept = await findKeptAnswer(
      deps.db.lookup(account),
      account,
      keyed,
      deps.secrets,
      instantOf(deps.realClock()),
    )
    if (kept) return kept
  }
  const prepared = await prepare(deps, operation, caller, sent)
  const work = async (tx: Transaction): Promise<Answer> => {
    const realNow = instantOf(deps.realClock())
    const kept = keyed && (await takeKey(tx, keyed, deps.secrets, realNow))
    if (kept) return kept
    const answer = await runWrite(deps, operation, caller, { ...sent, prepared }, tx)
    if (answer.isPreview) throw new Previewed(answer)
    if (keyed) keepAnswer(tx, keyed, answer, deps.secrets, realNow)
    return answer
  }
  return deps.db
    .transaction(account, work, {
      plans: operation.plans ?? 'lasting',
      statementMs: WRITE_STATEMENT_MS,
      isShared: true,
    })
    .catch(async (thrown: unknown) => {
      if (thrown instanceof Previewed) return thrown.answer
      if (thrown instanceof NotPlain && 'plain' in sent.body) {
        const body = await sentBody(deps, operation, caller.account, sent.body.unread, false)
        return handleWrite(deps, operation, caller, { ...sent, body })
      }
      throw namedAsSent(thrown, sent)
    })
}

/** Does a write of a plain body. Whatever is refused, the way of all requests explains. */
async function runPlain(
  deps: HttpDeps,
  { plainWay }: WriteOperation<any, any, any, any, any>,
  caller: Caller,
  sent: Sent & { body: { plain: unknown } },
  tx: Transaction,
): Promise<Answer> {
  const context = await deps.freshContext(tx, caller)
  const problems = new Problems()
  gatherInput(sent, context, problems)
  if (!plainWay || problems.found.length > 0) throw new NotPlain()
  try {
    return await plainWay.write(tx, context, sent.body.plain)
  } catch (thrown) {
    throw thrown instanceof Fault ? new NotPlain() : thrown
  }
}

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
  return operation.prepare(deps.db.reader(caller.account.id), context, input)
}

/** Ends the transaction of a preview: the change was really made, so the answer is true, and is taken back. */
class Previewed extends Error {
  readonly answer: Answer

  constructor(answer: Answer) {
    super('a preview is rolled back')
    this.answer = answer
  }
}

/**
 * Runs long work, which commits in a way of its own. First the key, as a row with a lease, so that a repeated call is refused at once; then
 * a place among the long operations of this process; then a connection of those that long operations have for themselves.
 */
async function handleLong(
  deps: HttpDeps,
  operation: LongOperation<any, any>,
  caller: Caller,
  sent: Sent,
): Promise<Answer> {
  const account = caller.account.id
  const run = () => {
    const context = deps.contextOf(caller)
    const problems = new Problems()
    const input = gatherInput(sent, context, problems)
    problems.throwIfAny()
    return deps.longPlaces.run(account, () => operation.run(context, input), operation.refusal)
  }
  const keyed = keyedRequestOf(deps, sent)
  return keyed ? runUnderKey(deps, account, keyed, run) : run()
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
  return runOutward(deps, caller.account.id, keyedRequestOf(deps, sent), {
    begin: async (tx, key) => {
      asked = await checked(deps, operation, caller, sent, tx)
      return operation.begin(tx, asked.context, asked.input, asked.record, asked.found, key)
    },
    call: (call) => operation.call(known().context, known().input, call),
    finish: async (tx, call, result) =>
      operation.finish(tx, await deps.freshContext(tx, caller), known().input, call, result),
  }).catch((thrown: unknown) => {
    throw namedAsSent(thrown, sent)
  })
}

async function runWrite(
  deps: HttpDeps,
  operation: WriteOperation<any, any, any, any, any>,
  caller: Caller,
  sent: Sent & { prepared: unknown },
  tx: Transaction,
): Promise<Answer> {
  const { body } = sent
  if ('plain' in body) return runPlain(deps, operation, caller, { ...sent, body }, tx)
  const { context, input, record, found } = await checked(deps, operation, caller, sent, tx)
  const answer = await operation.write(tx, context, input, record, found, sent.prepared)
  const { representation } = operation
  if (!sent.isRepresented || !representation || answer.isPreview) return answer
  // Read under the settings that the change may have left.
  return represented(answer, representation, async (read) => read(tx, await deps.freshContext(tx, caller), input))
}

interface Checked {
  context: RequestContext
  input: Input<any, any>
  record: unknown
  found: unknown
}

/** Makes the checks that come before the work, in the transaction of the work: the record (404), If-Match (412), the input (400). */
async function checked(
  deps: HttpDeps,
  operation: WriteOperation<any, any, any, any, any> | OutwardOperation<any, any, any, any>,
  caller: Caller,
  sent: Sent,
  tx: Transaction,
): Promise<Checked> {
  const context = await deps.freshContext(tx, caller)
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

/** Reads everything that was sent, as declared. Fields with a problem are left out, so that what they refer to can still be checked. */
function gatherInput(sent: Sent, context: RequestContext, problems: Problems): Input<any, any> {
  sent.ignored.begin()
  const reading: ReadContext = {
    problems,
    timeZone: context.account.timeZone,
    isStrict: sent.isStrict,
    isSecret: sent.operation.cardNumberAt !== undefined,
    ignored: sent.ignored,
  }
  const key = sent.operation.kind === 'read' ? undefined : idempotencyKeyOf(sent.headers['idempotency-key'])
  if (typeof key === 'object') problems.add(key.code, key.field, key.message)
  const declared = sent.operation.query ?? NO_QUERY
  const asking: ReadContext = sent.operation.hasStrictQuery
    ? { ...reading, isStrict: true, nameOf: 'parameter' }
    : reading
  const query = declared.read(queryAsJson(sent.query, declared, problems), '', asking)
  const body = sent.operation.body && !('plain' in sent.body) ? readBody(sent, reading) : undefined
  if (sent.operation.preview && !reading.isStrict)
    refuseMissedPreviews(sent.query, 'json' in sent.body ? sent.body.json : undefined, problems)
  const { cardNumberAt } = sent.operation
  // Thrown before anything looks for what the body names, and could repeat a number that stands there.
  if (cardNumberAt !== undefined && 'json' in sent.body) refuseStrayNumbers(sent.body.json, cardNumberAt)
  return {
    params: sent.params,
    query: query === REFUSED ? {} : query,
    body: body === REFUSED ? {} : body,
    ...('bytes' in sent.body ? { bytes: sent.body.bytes } : {}),
    url: sent.url,
    address: sent.address,
    headers: sent.headers,
    isRepresented: sent.isRepresented,
  }
}

/** Returns a refusal whose problems name their fields as they were sent, also by another of their names; whatever else was thrown as it is. */
function namedAsSent(thrown: unknown, { operation, body }: Sent): unknown {
  const spellings = operation.body?.spellings
  if (!(thrown instanceof Fault) || !spellings || !('json' in body) || !isJsonObject(body.json)) return thrown
  const sent = new Map<string, string>()
  for (const name of Object.keys(body.json)) {
    const field = spellings.get(name)
    if (field !== undefined && field !== name && !Object.hasOwn(body.json, field)) sent.set(field, name)
  }
  if (sent.size === 0) return thrown
  const problems = thrown.problems.map((problem) => {
    const [field = ''] = problem.field?.split(/[.[]/, 1) ?? []
    const name = sent.get(field)
    if (name === undefined || problem.field === null) return problem
    const path = `${name}${problem.field.slice(field.length)}`
    return { ...problem, field: path, message: problem.message.replaceAll(problem.field, path) }
  })
  return new Fault(thrown.kind, problems, thrown.retryAfterSeconds)
}

function readBody(sent: Sent, reading: ReadContext): unknown {
  const { body, operation } = sent
  if (operation.takesAnyBody && !('json' in body && isJsonObject(body.json)))
    return operation.body?.read({}, '', reading)
  if ('problem' in body) {
    reading.problems.add('malformed_json', null, body.problem)
    return REFUSED
  }
  let json: Json
  if ('json' in body) json = body.json
  else if (operation.isBodyOptional) json = {}
  else {
    reading.problems.add('body_missing', null, 'A JSON body is needed.')
    return REFUSED
  }
  return operation.body?.read(json, '', reading)
}

/** Returns the identifier in a path; anything that cannot be one belongs to no record. */
export function pathId(params: PathParams, name: string, unknown: (value: string) => Fault): bigint {
  const text = params[name] ?? ''
  if (!/^\d{1,16}$/.test(text) || Number(text) > Number.MAX_SAFE_INTEGER || Number(text) < 1)
    throw unknown(text.slice(0, 40))
  return BigInt(text)
}
