import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Fault } from '../../kernel/fault.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Database } from '../database/database.ts'
import { CLOCKS_APART_MS } from '../database/clock-offset.ts'
import { MARK_HEADER } from '../database/mark.ts'
import type { Metrics } from '../metrics.ts'
import { steadyClock } from '../steady-clock.ts'
import type { HttpDeps } from './deps.ts'
import { errorBody } from './errors.ts'
import { openApiDocument } from './openapi.ts'
import type { DescribedDownload } from './openapi-downloads.ts'
import type { Operation } from './operation.ts'
import { referencePath } from './reference-path.ts'

/** Pages that need no key: health, readiness, metrics, the OpenAPI document and its reference page. */

interface PageDeps {
  db: Database
  draining: HttpDeps['draining']
  operations: readonly Operation[]
  downloads: readonly DescribedDownload[]
  metrics: Metrics
  settings: { root: string; version: string; publicUrl: string | undefined }
}

/** Scripts that pages of others load: they hold nothing of anybody. */
const WIDGETS = ['capture.js', 'emandate.js']

/** A database that has answered nothing for so long makes the service not ready. */
const SILENT_MS = 5_000

const isPublic = { config: { isPublic: true, isAlwaysServed: true } }

// The reference has one style and one script of its own; nothing may come from, or go to, another host.
const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const FRONT_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const HTML = 'text/html; charset=utf-8'
const FILE_CACHING = 'public, max-age=300'

const FRONT_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Perennial</title>
<style>body { margin: 2rem auto; max-width: 40rem; padding: 0 1rem; font-family: system-ui, sans-serif; line-height: 1.5 }</style>
</head>
<body>
<h1>Perennial</h1>
<p>Recurring billing, served as JSON over HTTP.</p>
<ul>
<li><a href="/docs">Reference of the interface</a></li>
<li><a href="/openapi.json">The same as an OpenAPI document</a></li>
<li><a href="/readyz">Is the service ready?</a></li>
</ul>
</body>
</html>
`

export function addServicePages(
  app: FastifyInstance,
  { db, draining, operations, downloads, metrics, settings }: PageDeps,
): void {
  app.get('/healthz', isPublic, async (_, reply) => json(reply, 200, '{"Status":"alive"}'))
  addReadiness(app, { db, draining })
  app.get('/metrics', isPublic, async (_, reply) =>
    reply
      .header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(await metrics.text()),
  )
  const serverUrl = settings.publicUrl ?? '/'
  addPublicFile(app, '/openapi.json', {
    type: 'application/json; charset=utf-8',
    // Made when it is first asked for: a start that waits for it is longer by a tenth of what the service itself takes.
    text: async () => JSON.stringify(openApiDocument(operations, { version: settings.version, serverUrl, downloads })),
  })
  addPublicFile(app, '/', { type: HTML, policy: FRONT_POLICY, text: async () => FRONT_PAGE })
  const reference = referenceFiles(operations)
  for (const [url, { file, type }] of reference)
    addPublicFile(app, url, {
      type,
      policy: DOCS_POLICY,
      text: () => readFile(join(settings.root, 'dist', 'docs', file)),
    })
  for (const script of WIDGETS)
    addPublicFile(app, `/widget/${script}`, {
      type: 'text/javascript; charset=utf-8',
      text: () => readFile(join(settings.root, 'web', 'widget', script)),
    })
  refuseOtherMethods(app, [...reference.keys()])
}

/** Returns the files of the reference that the build has written, by their addresses: a page of each tag, their style, script and index. */
function referenceFiles(operations: readonly Operation[]): Map<string, { file: string; type: string }> {
  const tags = [...new Set(operations.map(({ tag }) => tag))].map(referencePath)
  return new Map([
    ['/docs', { file: 'index.html', type: HTML }],
    ...tags.map((url) => [url, { file: `${basename(url)}.html`, type: HTML }] as const),
    ['/docs/style.css', { file: 'style.css', type: 'text/css; charset=utf-8' }],
    ['/docs/search.js', { file: 'search.js', type: 'text/javascript; charset=utf-8' }],
    ['/docs/search.json', { file: 'search.json', type: 'application/json; charset=utf-8' }],
  ])
}

interface PublicFile {
  type: string
  policy?: string
  text(): Promise<string | Buffer>
}

/**
 * Adds a file that is the same for everybody until another version of the service runs: it is read once, may be kept for five minutes, and is
 * then requested with its ETag, which is answered with 304 while it is the same.
 */
function addPublicFile(app: FastifyInstance, url: string, { type, policy, text }: PublicFile): void {
  let read: Promise<{ bytes: Buffer; etag: string }> | undefined
  const load = async () => {
    const bytes = Buffer.from(await text())
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
  }
  app.get(url, isPublic, async (request, reply) => {
    read ??= load()
    // What could not be read is tried again.
    read.catch(() => (read = undefined))
    const { bytes, etag } = await read
    reply.header('etag', etag).header('cache-control', FILE_CACHING)
    if (policy) reply.header('content-security-policy', policy)
    if (isNamedIn(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.header('content-type', type).send(bytes)
  })
}

/** Returns whether If-None-Match names an ETag; a weak one, as proxies make of it, is the same file. */
const isNamedIn = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some((entry) => ['*', etag].includes(entry.trim().replace(/^W\//, ''))) ?? false

/** Answers whether the service is ready, as the watch has found the database last, and whether the service is not on its way out. */
function addReadiness(app: FastifyInstance, { db, draining }: Pick<PageDeps, 'db' | 'draining'>): void {
  const notReady = (reply: FastifyReply, message: string) =>
    json(reply.header('retry-after', '2'), 503, errorBody([{ code: 'not_ready', message, field: null }]))
  app.get('/readyz', isPublic, async (_, reply) => {
    if (draining.hasBegun) return notReady(reply, 'The service is stopping.')
    const { state, refusal: closed } = db.admission
    // A balancer goes on sending requests here, which are answered by what maintenance is.
    if (state === 'maintenance') return json(reply, 200, '{"Status":"maintenance"}')
    if (closed) return notReady(reply, closed.message)
    const { answeredAtMs, mark, isReadOnly, clockOffsetMs, clocksApart, refusal } = db.readiness()
    if (refusal !== undefined) return notReady(reply, refusal)
    if (answeredAtMs === null || steadyClock() - answeredAtMs > SILENT_MS)
      return notReady(reply, 'The database cannot be reached at the moment.')
    if (isReadOnly) return notReady(reply, 'The database takes no writes at the moment.')
    if (Math.abs(clockOffsetMs) > CLOCKS_APART_MS.ready) return notReady(reply, `Not ready: ${clocksApart}.`)
    return json(reply.header(MARK_HEADER, mark), 200, '{"Status":"ready"}')
  })
}

/** Pages answer GET and HEAD; any other method is 405, as everywhere. */
function refuseOtherMethods(app: FastifyInstance, reference: readonly string[]): void {
  const allow = 'GET, HEAD'
  for (const url of [
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    ...reference,
    ...WIDGETS.map((script) => `/widget/${script}`),
  ]) {
    app.route({
      method: ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'],
      url,
      ...isPublic,
      handler: (request, reply) => {
        reply.header('allow', allow)
        throw new Fault('method', [
          {
            code: 'method_not_allowed',
            message: `${request.method} is not possible here, only ${allow}.`,
            field: null,
          },
        ])
      },
    })
  }
}

const json = (reply: FastifyReply, status: number, text: string) =>
  reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(text)
