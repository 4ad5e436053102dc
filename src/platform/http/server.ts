import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { Fault, missing } from '../../kernel/fault.ts'
import { holdsCardNumber } from '../../kernel/card-number.ts'
import type { Caller } from '../../kernel/context.ts'
import { LARGE_BYTES, type LargeBodies } from './body-bounds.ts'
import {
  arrivalOptions,
  boundAnswered,
  boundConnections,
  boundUnread,
  requestsInTurn,
  whileArriving,
} from './connection-bounds.ts'
import type { HttpDeps } from './deps.ts'
import { errorFacts } from '../error-facts.ts'
import { RequestTimes } from '../request-times.ts'
import { isOutage } from '../database/failures.ts'
import { errorBody, faultHeaders, STATUS } from './errors.ts'
import { handleOperation } from './handle.ts'
import { type Operation, permissionOf } from './operation.ts'
import type { Pages } from './pages.ts'
import { IgnoredNames } from '../wire/ignored-names.ts'
import { collectBody, type CountedBody } from './request-body.ts'
import { loggedPath, sentTexts } from './sent-texts.ts'
import { checkHost } from './host.ts'
import { logRefusal } from './log-refusal.ts'
import { answerLate, answerUnreadable } from './unreadable.ts'
import type { Answer } from './answer.ts'

/** The HTTP server: the order of checks and the conventions of the whole interface, applied to every declared operation. */

declare module 'fastify' {
  interface FastifyContextConfig {
    operation?: Operation
    /** 405: the methods that the path has. */
    allow?: string
    isPublic?: boolean
    /** Served also while the service takes no work: it needs no database. */
    isAlwaysServed?: boolean
    /** Bytes that the body of a route without an operation may have; it arrives as it was sent. */
    rawBytesMax?: number
    /** Bounds the bodies above 64 KiB of a route that is open to everybody. */
    largeBodies?: LargeBodies
    /** The body is a form of a public page, which arrives at once or not at all. */
    isForm?: boolean
  }
  interface FastifyRequest {
    caller: Caller | null
    rateHeaders: Record<string, string> | null
    /** Looked at by operations with a body only: everywhere else any Content-Type is as good as none. */
    contentType: string | undefined
    /** Set for a body that is large, or whose size is not known. */
    countedBody: CountedBody | null
    times: RequestTimes
  }
}

const BODY_BYTES_MAX = 1024 * 1024
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const
const REQUEST_ID = /^[A-Za-z0-9._:@/+=-]{1,128}$/

const fastifyPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/** Fastify's own lines of requests are not written; an answer that broke off is logged without its content. */
class OwnLog extends LogController {
  readonly #outage: HttpDeps['outage']

  constructor(outage: HttpDeps['outage']) {
    super({ disableRequestLogging: true })
    this.#outage = outage
  }

  override streamError(error: Error & { code?: string }, request: FastifyRequest): void {
    const story = { requestId: request.id, method: request.method, path: loggedPath(request) }
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') request.log.debug(story, 'a caller hung up')
    else if (isOutage(error)) this.#outage.met(error)
    else request.log.warn({ ...story, err: errorFacts(error, sentTexts(request)) }, 'an answer broke off')
  }
}

/** Makes the test whether a request is for an operation that takes the number of a card. */
function cardPaths(operations: readonly Operation[]): (url: string) => boolean {
  const paths = new Set(
    operations.filter(({ cardNumberAt }) => cardNumberAt !== undefined).map(({ path }) => path.toLowerCase()),
  )
  return (url) => paths.has((url.split('?', 1)[0] ?? '').toLowerCase().replace(/\/+$/, ''))
}

/** Builds the server with all operations and public pages; plain routes (reference, health) may be added before it listens. */
export function buildServer(deps: HttpDeps, operations: readonly Operation[], pages: Pages): FastifyInstance {
  const isForCards = cardPaths(operations)
  const app = Fastify({
    loggerInstance: deps.log as FastifyBaseLogger,
    logController: new OwnLog(deps.outage),
    trustProxy: deps.trustProxy as boolean | string | string[],
    requestIdHeader: false,
    genReqId: (request) => {
      const sent = request.headers['x-request-id']
      if (typeof sent !== 'string' || !REQUEST_ID.test(sent)) return randomUUID()
      return isForCards(request.url ?? '') && holdsCardNumber(sent) ? randomUUID() : sent
    },
    routerOptions: { ignoreTrailingSlash: true, caseSensitive: false, maxParamLength: 300 },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    bodyLimit: 64 * 1024 * 1024,
    frameworkErrors: (error, request, reply) => void answerUnroutable(error, request, reply, deps, pages),
    clientErrorHandler: answerUnreadable,
    ...arrivalOptions(deps.bounds),
  })
  boundConnections(app, deps.bounds, deps.trustProxy, deps.log)
  boundUnread(app, deps.bounds)
  boundAnswered(app, deps.bounds)
  app.decorateRequest('caller', null)
  app.decorateRequest('rateHeaders', null)
  app.decorateRequest('contentType', undefined)
  app.decorateRequest('countedBody', null)
  app.decorateRequest('times', null as unknown as RequestTimes)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, payload, done) => {
    const { operation, rawBytesMax } = request.routeOptions.config
    collectBody(
      payload,
      rawBytesMax ??
        operation?.rawBody?.bytesMax ??
        (operation?.body ? (operation.bodyBytesMax ?? BODY_BYTES_MAX) : 'ignore'),
      request.headers['content-length'],
      request.countedBody,
    ).then(
      (body) => done(null, body),
      // Handed on as if it were the body: a parser's error would make Fastify end the connection while the rest of the body arrives.
      (refusal: Error) => done(null, refusal),
    )
  })
  addHooks(app, deps, pages)
  pages.add(app)
  for (const operation of operations) addOperation(app, deps, operation)
  addWrongMethods(app, operations)
  app.setNotFoundHandler((request) => {
    throw missing('path_unknown', `There is nothing at ${request.method} ${request.url.split('?')[0]?.slice(0, 200)}.`)
  })
  app.setErrorHandler((error, request, reply) => replyWithError(error, request, reply, deps, pages))
  return app
}

/** Calls back when an answer is over: its connection has closed, now or before. */
function onceClosed(raw: FastifyReply['raw'], done: () => void): void {
  if (raw.destroyed) done()
  else raw.once('close', done)
}

/** Refuses a request while the service takes no work, and counts it until its answer has left or its handler is done, whichever is later. */
function admit({ db, underway }: HttpDeps, { raw }: FastifyReply): void {
  db.admission.check()
  onceClosed(raw, underway.begin())
}

function addHooks(app: FastifyInstance, deps: HttpDeps, pages: Pages): void {
  app.addHook('onRoute', (route) => {
    const { handler } = route
    if (!route.config?.isAlwaysServed)
      route.handler = function (request, reply) {
        return deps.underway.during(async () => handler.call(this, request, reply))
      }
  })
  app.addHook('preClose', async () => {
    deps.draining.hasBegun = true
  })
  app.addHook('onRequest', (request, _reply, done) => {
    request.times = new RequestTimes(deps.clock)
    done()
  })
  app.addHook('onRequest', requestsInTurn())
  app.addHook('onSend', (_request, reply, payload, done) => {
    // A connection that is kept alive after its last answer would hold up the end of the service.
    if (deps.draining.hasBegun) reply.header('connection', 'close')
    done(null, payload)
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    checkHost(request, deps.publicUrl)
    if (request.routeOptions.config.isForm)
      whileArriving(request, deps.bounds.formMs, (socket) => answerLate(socket, reply.raw.headersSent))
    // Fastify would refuse a malformed type on its own, whatever the operation.
    request.contentType = request.raw.headers['content-type']
    if (request.contentType !== undefined) delete request.raw.headers['content-type']
    if (pages.covers(request.url)) {
      admit(deps, reply)
      return pages.visit(request.ip)
    }
    if (deps.corsOrigins.length > 0 && answerCors(request, reply, deps.corsOrigins)) return reply.code(204).send()
    const { operation, isPublic, isAlwaysServed, largeBodies } = request.routeOptions.config
    if (!isAlwaysServed) admit(deps, reply)
    if (largeBodies && maySendLarge(request)) countBody(request, reply, largeBodies.count())
    if (isPublic || operation?.isPublic) return
    const caller = await identify(request, deps)
    if (request.is404) return
    if (maySendLarge(request)) countBody(request, reply, deps.bodies.count(caller.account.id))
    const { allow } = request.routeOptions.config
    if (allow !== undefined) {
      reply.header('allow', allow)
      throw new Fault('method', [
        { code: 'method_not_allowed', message: `${request.method} is not possible here, only ${allow}.`, field: null },
      ])
    }
    if (
      operation &&
      permissionOf(operation) === 'full' &&
      caller.permission !== 'full' &&
      !isPreview(request, operation)
    ) {
      throw new Fault('forbidden', [
        { code: 'key_read_only', message: 'This API key may only read; use a key with full permission.', field: null },
      ])
    }
  })
  app.addHook('onResponse', async (request, reply) => {
    const name = request.routeOptions.config.operation?.id ?? request.routeOptions.url ?? 'unknown'
    deps.metrics.measured(name, reply.statusCode, reply.elapsedTime / 1000)
    deps.slowRequests.answered(name, request, reply)
    request.log.debug(
      {
        method: request.method,
        path: loggedPath(request),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    )
  })
}

/** Returns whether the body of a request is large, or does not declare its size. */
function maySendLarge({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > LARGE_BYTES || headers['transfer-encoding'] !== undefined
}

function countBody(request: FastifyRequest, { raw }: FastifyReply, counted: CountedBody): void {
  request.countedBody = counted
  // However the request ends, and only once what was made of its body is no longer needed.
  onceClosed(raw, counted.end)
}

async function identify(request: FastifyRequest, deps: HttpDeps): Promise<Caller> {
  const caller = await request.times.asks(deps.authenticate(request.headers.authorization, request.ip))
  const { headers, refusal } = deps.rateLimit(caller)
  request.caller = caller
  request.rateHeaders = headers
  if (refusal) throw refusal
  return caller
}

/** Returns whether a request asks for a preview, which changes nothing, so that a key that may only read may ask for it. */
function isPreview(request: FastifyRequest, operation: Operation): boolean {
  const properties = (operation.query?.schema['properties'] ?? {}) as object
  const wish = (request.query as Record<string, unknown>)['preview']
  return Object.hasOwn(properties, 'preview') && typeof wish === 'string' && wish.toLowerCase() === 'true'
}

/** Lets configured browser origins call the API; true for a preflight, which is answered before credentials are looked at. */
function answerCors(request: FastifyRequest, reply: FastifyReply, origins: readonly string[]): boolean {
  const { origin } = request.headers
  reply.header('vary', 'origin')
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin))) return false
  reply.header('access-control-allow-origin', origin)
  reply.header(
    'access-control-expose-headers',
    'allow, etag, idempotency-replayed, link, location, perennial-ignored, perennial-until, perennial-warning, preference-applied, ratelimit-limit, ratelimit-remaining, ratelimit-reset, retry-after, total-count, x-request-id',
  )
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
  reply.header('access-control-allow-methods', 'GET, POST, PUT, DELETE')
  reply.header(
    'access-control-allow-headers',
    'authorization, content-type, idempotency-key, if-match, prefer, x-request-id',
  )
  reply.header('access-control-max-age', '600')
  return true
}

function addOperation(app: FastifyInstance, deps: HttpDeps, operation: Operation): void {
  app.route({
    method: operation.method,
    url: fastifyPath(operation.path),
    config: { operation },
    handler: async (request, reply) => {
      let signal: AbortSignal | undefined
      const gone = () => (signal ??= goneSignal(reply))
      const ignored = new IgnoredNames()
      const answer = await handleOperation(deps, operation, request, gone, ignored).finally(() => {
        const header = ignored.header()
        if (header !== '') reply.header('perennial-ignored', header)
        if (ignored.count > 0) deps.metrics.ignoredNames(operation.id, ignored.count)
      })
      return send(reply, answer, request.rateHeaders)
    },
  })
}

/** Makes a signal that is aborted when the caller hangs up before the answer has left. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const reason = () => new Fault('unavailable', [{ code: 'caller_gone', message: 'The caller hung up.', field: null }])
  onceClosed(raw, () => {
    if (!raw.writableFinished) gone.abort(reason())
  })
  return gone.signal
}

function send(reply: FastifyReply, answer: Answer, rateHeaders: Record<string, string> | null): FastifyReply {
  if (rateHeaders) reply.headers(rateHeaders)
  if (answer.headers) reply.headers(answer.headers)
  if (answer.etag) reply.header('etag', answer.etag)
  reply.header('cache-control', 'no-store').code(answer.status)
  if (answer.body === undefined) return reply.send()
  reply.header('content-type', answer.contentType ?? 'application/json; charset=utf-8')
  // The headers are the whole answer to HEAD, so the rows of a long one need not be read.
  if (reply.request.method === 'HEAD' && answer.body instanceof Readable) answer.body.destroy()
  return reply.send(answer.body)
}

/** Answers every other method of a known path with 405 and Allow, after the credentials were checked. */
function addWrongMethods(app: FastifyInstance, operations: readonly Operation[]): void {
  // Paths that differ only in the name of a parameter, or in letter case, are one path.
  const byPath = new Map<string, { url: string; methods: Set<string> }>()
  for (const { path, method } of operations) {
    const key = path.toLowerCase().replace(/\{\w+\}/g, '{}')
    const known = byPath.get(key) ?? { url: fastifyPath(path), methods: new Set<string>() }
    known.methods.add(method)
    if (method === 'GET') known.methods.add('HEAD')
    byPath.set(key, known)
  }
  for (const { url, methods } of byPath.values()) {
    const others = METHODS.filter((method) => !methods.has(method))
    const allow = METHODS.filter((method) => methods.has(method)).join(', ')
    app.route({ method: others, url, config: { allow }, handler: (_, reply) => reply.code(405).send() })
  }
}

function replyWithError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HttpDeps,
  pages: Pages,
): FastifyReply {
  const fault = asFault(error)
  logRefusal(error, fault, request, deps)
  if (pages.covers(request.url)) {
    // Nobody waits for the body of a form whose page is not there.
    if ((fault?.kind === 'missing' || fault?.kind === 'gone') && !request.raw.complete)
      reply.header('connection', 'close')
    return pages.refuse(fault, request, reply)
  }
  reply.header('cache-control', 'no-store').header('content-type', 'application/json; charset=utf-8')
  if (request.rateHeaders) reply.headers(request.rateHeaders)
  if (fault) return reply.code(STATUS[fault.kind]).headers(faultHeaders(fault)).send(errorBody(fault.problems))
  const message = `Something went wrong in the service. Its log tells more under request ${request.id}.`
  return reply.code(500).send(errorBody([{ code: 'internal_error', message, field: null }]))
}

/** Refuses a path that no router can read, such as one with a broken escape, in the same order as any other. Hooks have not run here. */
async function answerUnroutable(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: HttpDeps,
  pages: Pages,
): Promise<void> {
  reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
  request.times = new RequestTimes(deps.clock)
  try {
    deps.db.admission.check()
    if (pages.covers(request.url)) pages.visit(request.ip)
    else await identify(request, deps)
    replyWithError(error, request, reply, deps, pages)
  } catch (refusal) {
    replyWithError(refusal, request, reply, deps, pages)
  }
  deps.metrics.measured('unknown', reply.statusCode, reply.elapsedTime / 1000)
}

/** Turns an error of Fastify itself (a malformed URL, a broken body) into the Fault of a caller's mistake. */
function asFault(error: unknown): Fault | undefined {
  if (error instanceof Fault) return error
  const { statusCode, code } = error as { statusCode?: number; code?: string }
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return undefined
  if (statusCode === 404 || code === 'FST_ERR_BAD_URL' || statusCode === 414)
    return missing('path_unknown', 'There is nothing at this path.')
  return new Fault('invalid', [{ code: 'malformed_request', message: 'The request could not be read.', field: null }])
}
