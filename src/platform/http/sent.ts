import type { FastifyRequest } from 'fastify'
import { Fault, type Problems } from '../../kernel/fault.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { RequestTimes } from '../request-times.ts'
import type { IgnoredNames } from '../wire/ignored-names.ts'
import { isJsonObject, type Json } from '../wire/json.ts'
import { REFUSED, type ReadContext } from '../wire/read.ts'
import type { HttpDeps } from './deps.ts'
import { idempotencyKeyOf, type KeyedRequest, keyedRequest } from './idempotency.ts'
import { refuseAbsentPreview, refuseMissedPreviews } from './missed-previews.ts'
import type { Input, Operation, PathParams } from './operation.ts'
import { NO_QUERY, queryAsJson } from './query.ts'
import { bodyIdentity, type SentBody } from './request-body.ts'
import { refuseStrayNumbers } from './stray-numbers.ts'

/** A request as it was sent, and the reading of it by its operation. */

export interface Sent {
  operation: Operation
  params: PathParams
  query: Record<string, unknown>
  body: SentBody
  bodyBytes: number
  url: string
  address: string
  headers: FastifyRequest['headers']
  contentType: string | undefined
  isStrict: boolean
  isRepresented: boolean
  ignored: IgnoredNames
  /** Takes where the time of the request goes. */
  times: RequestTimes
}

/** Returns the request as its Idempotency-Key compares it; undefined when no (valid) key was sent. */
export function keyedRequestOf(deps: HttpDeps, sent: Sent): KeyedRequest | undefined {
  const key = idempotencyKeyOf(sent.headers['idempotency-key'])
  if (typeof key !== 'string') return undefined
  const { method } = sent.operation
  return keyedRequest(deps.secrets, key, { method, path: addressIdentity(sent), body: bodyIdentity(sent.body) })
}

/**
 * Returns the address as the operation sees it: letter case of fixed words, a trailing slash, paging and strange parameters change nothing.
 */
export function addressIdentity({ operation, params, query }: Sent): string {
  const declared = [...(operation.query?.spellings?.keys() ?? [])].filter((name) => !/^page(_size)?$/.test(name))
  return JSON.stringify([operation.path, params, declared.map((name) => query[name] ?? null)])
}

/** Reads everything that was sent, as declared. Fields with a problem are left out, so that what they refer to can still be checked. */
export function gatherInput(sent: Sent, context: RequestContext, problems: Problems): Input<any, any> {
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
  const parameters = refuseAbsentPreview(sent.operation, sent.query, problems)
  const query = declared.read(queryAsJson(parameters, declared, problems), '', asking)
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
    ...('bytes' in sent.body ? { bytes: sent.body.bytes, contentType: sent.contentType } : {}),
    url: sent.url,
    address: sent.address,
    headers: sent.headers,
    isRepresented: sent.isRepresented,
  }
}

/** Returns a refusal whose problems name their fields as they were sent, also by another of their names; whatever else was thrown as it is. */
export function namedAsSent(thrown: unknown, { operation, body }: Sent): unknown {
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
