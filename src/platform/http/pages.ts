import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Account, RequestContext } from '../../kernel/context.ts'
import { Fault, missing } from '../../kernel/fault.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Queryable, Snapshot } from '../database/database.ts'
import { languageOf, localeOfAccount } from '../locale/format.ts'
import { framed, type Look, type PageContent } from '../page/frame.ts'
import { html } from '../page/html.ts'
import { wantedLocale } from '../page/language.ts'
import { type Link, LINK_KINDS, type LinkKind, type Links } from '../page/links.ts'
import { pageWords, REFUSED_STATUSES } from '../page/words.ts'
import type { Places } from '../places.ts'
import type { SteadyClock } from '../steady-clock.ts'
import { CountedWindows, networkOf } from './counted-windows.ts'
import { faultHeaders, STATUS } from './errors.ts'
import type { Answer } from './answer.ts'
import { checkOrigin, FORM_BYTES_MAX, type FormFields, isOneClick, readForm, type Values } from './page-forms.ts'

/**
 * Public pages: operations of a fourth kind, found by the token of a link and answered as HTML, their refusals too. They have no key and no
 * cookie, and need no script; whoever holds the link sees what it names and nothing else. See decision 22.
 */

/** Requests of one address to pages within a minute. */
const VISITS_MAX = 120

const HTML_TYPE = 'text/html; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Record that a link leads to, as a page found it. */
export interface Named<Found> {
  found: Found
  /** The language of its customer; null: as the browser or the account wishes. */
  locale: string | null
  /** Its page has had its time (410). */
  isGone?: boolean
}

export interface PageRequest<Found> {
  context: RequestContext
  link: Link
  found: Found
  /** BCP 47: the customer's, else the browser's, else the account's; plain English with the account's country. */
  locale: string
  /** The path of the link itself, as a browser knows it, with which the paths of its other pages begin. */
  path: string
  /** Finds the page of another kind of link to the same record. */
  beside(kind: LinkKind): Beside
}

/** A page of another link. */
export interface Beside {
  /** Its path, or its whole address where it has another origin. */
  address: string
  /** Its origin, where that is another one. */
  origin?: string
}

/** A page that is not the one that was asked for has another status. */
export type Shown = PageContent & {
  status?: number
  /** The origin whose pages may show it in a frame; * for any, left out: nobody's. */
  framedBy?: string
  /** The other origin to which its form may lead on. */
  returnsTo?: string | undefined
  /** Sources of scripts beside its own, sources whose pages it frames, and those that its scripts ask. */
  scripts?: readonly string[]
  frames?: readonly string[]
  connects?: readonly string[]
}

/** Facts that the script of a page has asked for by a form, in place of a page: they are written as JSON and kept nowhere. */
export interface ScriptAnswer {
  facts: object
}

/** Visitor of a page, as the browser names itself. */
export interface Visitor {
  /** Somebody may be reading: neither a HEAD request nor what a browser fetches before anybody has asked for it. */
  isReader: boolean
  address: string
  agent: string | null
  languages: string | null
}

interface PageForm<Found> {
  /** Names, or with the characters that each may have. */
  fields: FormFields
  /** Left out: those of a few short fields. */
  bytesMax?: number
  /** Takes the request of a mail server, which has no Origin, as a form without fields. */
  takesOneClick?: boolean
  /**
   * Does what the form asks for, in transactions of its own. Returns the path to go on at, or a page that shows what is wrong, or what the page's script
   * has asked for; undefined: the path of the form.
   */
  submit(
    request: PageRequest<Found>,
    values: Values,
    visitor: Visitor,
  ): Promise<string | Shown | ScriptAnswer | undefined>
}

/** Page below a link: GET shows, POST changes. */
export interface PageOperation<Found> {
  kind: 'page'
  id: string
  link: LinkKind
  /** The path after the token: '' or '/pdf'. */
  below: string
  /** Finds what the link names; undefined where it names nothing any more. */
  find(db: Queryable, context: RequestContext, link: Link): Promise<Named<Found> | undefined>
  show?(db: Snapshot, request: PageRequest<Found>, visitor: Visitor): Promise<Shown | Answer>
  form?: PageForm<Found>
}

/** Ties what a link names to the handlers of its page. */
export const pageOperation = <Found>(operation: Omit<PageOperation<Found>, 'kind'>): PageOperation<any> => ({
  kind: 'page',
  ...operation,
})

/** An account as its pages show it. */
export interface AccountLook {
  name: string
  colour: string | null
  hasLogo: boolean
  locale: string
  country: string | null
}

export interface PageDeps {
  db: Database
  links: Links
  clock: SteadyClock
  /** Bounds how many pages are made at a time, of all accounts together. */
  places: Pick<Places, 'run'>
  publicUrl: string | undefined
  /** The origin of the frames of capture sessions, where they have one of their own. */
  widgetOrigin?: string | undefined
  findAccount(db: Queryable, account: AccountId): Promise<Account | undefined>
  contextOf(account: Account): RequestContext
  findLook(db: Queryable, account: AccountId): Promise<AccountLook>
  findLogo(db: Queryable, account: AccountId): Promise<{ mediaType: string; content: Buffer } | undefined>
}

/** The pages of a server, as far as it must know of them beside their routes. */
export interface Pages {
  operations: readonly PageOperation<any>[]
  add(app: FastifyInstance): void
  /** Whether an address is below one of pages, also where there is none: nobody is asked for a key there. */
  covers(url: string): boolean
  /** Counts a request of an address. Throws 429 where it has made too many. */
  visit(address: string): void
  /** Answers a refusal as a page; undefined: something that nobody has foreseen. */
  refuse(fault: Fault | undefined, request: FastifyRequest, reply: FastifyReply): FastifyReply
}

const unknownLink = () => missing('link_unknown', 'There is no such link.')

const pageGone = () => new Fault('gone', [{ code: 'page_gone', message: 'This page is no longer shown.', field: null }])

const COVERED = new RegExp(`^/(?:${LINK_KINDS.join('|')})(?:[/?]|$)`, 'i')

/** Links whose pages may be shown in a frame. So may their refusals, by anybody: they hold nothing of anybody, and nothing that could be pressed. */
const FRAMED = /^\/[wm]\//

export function makePages(deps: PageDeps, operations: readonly PageOperation<any>[]): Pages {
  const visits = new CountedWindows(deps.clock)
  const withLogos = [...operations, ...logosOf(deps, operations)]
  return {
    operations: withLogos,
    add: (app) => {
      app.decorateRequest('visited', null)
      for (const operation of withLogos) addPage(app, deps, operation)
    },
    covers: (url) => COVERED.test(url),
    visit: (address) => {
      const { count, secondsLeft } = visits.add(networkOf(address))
      if (count <= VISITS_MAX) return
      const message = `Too many pages for this network; try again in ${secondsLeft} seconds.`
      throw new Fault('throttled', [{ code: 'too_many_visits', message, field: null }], secondsLeft)
    },
    refuse: (fault, request, reply) => {
      const status = fault ? STATUS[fault.kind] : 500
      if (fault) reply.headers(faultHeaders(fault))
      // A path that no router can read has met no decorator.
      const visited: Visited | null | undefined = request.visited
      const language = languageOf(visited?.request.locale ?? wantedLocale(request.headers['accept-language']) ?? 'en')
      const { refusals, ofCodes, again } = pageWords(language)
      const ofCode = ofCodes[fault?.problems[0]?.code ?? '']
      const words = ofCode ?? refusals[REFUSED_STATUSES.find((known) => known === status) ?? 400]
      // Loading a refused form again would send it again: the link leads to the page itself.
      const isThere = visited != null && !visited.isGone && status !== 404
      const content = html`<h1>${words.title}</h1>
        <p>${words.text}</p>
        ${isThere && html`<div class="actions"><a class="button" href="${visited.request.path}">${again}</a></div>`}`
      const framedBy = FRAMED.test(request.url) ? { framedBy: '*' } : {}
      const shown = { status, title: words.title, content, ...framedBy }
      return sendPage(deps, reply, shown, visited?.look ?? null, language)
    },
  }
}

/** Makes the address of the account's logo below each kind of link. */
const logosOf = (deps: PageDeps, operations: readonly PageOperation<any>[]): PageOperation<any>[] =>
  operations
    .filter(({ below }) => below === '')
    .map(({ id, link, find }) =>
      pageOperation({
        id: `${id}Logo`,
        link,
        below: '/logo',
        find,
        show: async (db, { context }) => {
          const logo = await deps.findLogo(db, context.account.id)
          if (!logo) throw unknownLink()
          return { status: 200, body: logo.content, contentType: logo.mediaType }
        },
      }),
    )

function addPage(app: FastifyInstance, deps: PageDeps, operation: PageOperation<any>): void {
  const { link, below, show, form } = operation
  const url = `/${link}/:token${below}`
  const config = { isPublic: true }
  if (show) app.get(url, { config }, (request, reply) => showPage(deps, operation, request, reply))
  if (form)
    app.post(
      url,
      {
        config: { ...config, isForm: true, rawBytesMax: form.bytesMax ?? FORM_BYTES_MAX },
        onRequest: (request) => findBeforeBody(deps, operation, request),
      },
      (request, reply) => takeForm(deps, operation, request, reply),
    )
  const allowed = [...(show ? (['GET', 'HEAD'] as const) : []), ...(form ? (['POST'] as const) : [])]
  const others = (['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const).filter(
    (method) => !allowed.some((known) => known === method),
  )
  app.route({
    method: others,
    url,
    config,
    handler: (request, reply) => {
      reply.header('allow', allowed.join(', '))
      const message = `${request.method} is not possible here.`
      throw new Fault('method', [{ code: 'method_not_allowed', message, field: null }])
    },
  })
}

/** Returns the address of the service below which links of a kind lie; undefined: that of the request. */
const addressOf = ({ publicUrl, widgetOrigin }: PageDeps, kind: LinkKind): string | undefined =>
  kind === 'w' || kind === 'p' ? (widgetOrigin ?? publicUrl) : publicUrl

function pathOf(deps: PageDeps, link: Link): string {
  const address = addressOf(deps, link.kind)
  const base = address === undefined ? '' : new URL(address).pathname.replace(/\/$/, '')
  return `${base}/${link.kind}/${deps.links.token(link)}`
}

/** Finds the page of another kind of link to the record of a link. */
function besideOf(deps: PageDeps, link: Link, kind: LinkKind): Beside {
  const [own, origin] = [link.kind, kind].map((one) => {
    const address = addressOf(deps, one)
    return address === undefined ? undefined : new URL(address).origin
  })
  const path = pathOf(deps, { ...link, kind })
  return origin === undefined || origin === own ? { address: path } : { address: origin + path, origin }
}

/** A page request with the face of its account. */
interface Visited {
  request: PageRequest<unknown>
  look: Look
  isGone: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The page that its link names, so that a refusal is in its language too; null: none, or not yet found. */
    visited: Visited | null
  }
}

/**
 * Finds what a link names, in this order: the token itself, its account, its record. Each that fails is the same 404; 410 where it is no longer
 * shown.
 */
async function findNamed(
  deps: PageDeps,
  db: Queryable,
  operation: PageOperation<any>,
  link: Link,
  sent: FastifyRequest,
): Promise<Visited> {
  const account = await deps.findAccount(db, link.account)
  if (!account) throw unknownLink()
  const context = deps.contextOf(account)
  const [named, { name, colour, hasLogo, locale, country }] = await Promise.all([
    operation.find(db, context, link),
    deps.findLook(db, account.id),
  ])
  if (!named) throw unknownLink()
  const path = pathOf(deps, link)
  const { isGone = false, found } = named
  const wanted = named.locale ?? wantedLocale(sent.headers['accept-language']) ?? locale
  const shown = { found, locale: localeOfAccount(wanted, country) }
  // The logo of a page that has had its time is not shown either.
  const logo = hasLogo && !isGone ? `${path}/logo` : null
  const visited: Visited = {
    request: { context, link, path, ...shown, beside: (kind) => besideOf(deps, link, kind) },
    look: { name, colour, logo, isTest: account.mode === 'test' },
    isGone,
  }
  sent.visited = visited
  if (isGone) throw pageGone()
  return visited
}

function linkOf({ links }: PageDeps, { link: kind }: PageOperation<any>, request: FastifyRequest): Link {
  const { token = '' } = request.params as { token?: string }
  const link = links.read(kind, token)
  if (!link) throw unknownLink()
  return link
}

/** Characters of a header that are handed on. */
const HEADER_KEPT = 500

/** All pages wait in one line. */
const ALL = 0n

async function showPage(
  deps: PageDeps,
  operation: PageOperation<any>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const link = linkOf(deps, operation, request)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const { shown, visited } = await deps.places.run(ALL, async () => {
    const snapshot = deps.db.snapshot(link.account, gone.signal)
    try {
      const found = await findNamed(deps, snapshot, operation, link, request)
      return { shown: await operation.show?.(snapshot, found.request, visitorOf(request)), visited: found }
    } finally {
      snapshot.end()
    }
  })
  if (shown && 'content' in shown) return sendPage(deps, reply, shown, visited.look, languageOf(visited.request.locale))
  return sendFile(deps, reply, shown as Answer, gone.signal)
}

/** Refuses a form of a link that names nothing, before any of its body is read. Once that is there the link is looked up anew. */
async function findBeforeBody(deps: PageDeps, operation: PageOperation<any>, request: FastifyRequest): Promise<void> {
  const link = linkOf(deps, operation, request)
  await deps.places.run(ALL, () => findNamed(deps, deps.db.reader(link.account), operation, link, request))
}

async function takeForm(
  deps: PageDeps,
  operation: PageOperation<any>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { form } = operation as { form: PageForm<unknown> }
  const link = linkOf(deps, operation, request)
  const { body, contentType } = request
  if (body instanceof Error) throw body
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  const isFromMail = form.takesOneClick === true && (await isOneClick(contentType, bytes))
  checkOrigin(request, addressOf(deps, link.kind), isFromMail)
  const values: Values = isFromMail ? new Map() : readForm(contentType, bytes, form.fields)
  const reader = deps.db.reader(link.account)
  const visited = await findNamed(deps, reader, operation, link, request)
  const next = await form.submit(visited.request, values, visitorOf(request))
  if (typeof next === 'object' && 'facts' in next)
    return safe(deps, reply).type(JSON_TYPE).send(JSON.stringify(next.facts))
  if (typeof next === 'object') return sendPage(deps, reply, next, visited.look, languageOf(visited.request.locale))
  const path = next ?? visited.request.path + operation.below
  // A mail server follows no redirect: RFC 8058 asks for none.
  if (isFromMail) return safe(deps, reply).code(200).type('text/plain; charset=utf-8').send('')
  return safe(deps, reply).code(303).header('location', path).send()
}

/** Headers by which browsers of several ages name what they fetch before anybody has asked for it. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const

/** Returns whether somebody may be looking at what a request gets. A browser names where it shows it, a program that looks at links need not. */
function isShown({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>): boolean {
  const isAhead = PURPOSES.some((name) => /prefetch|prerender|preview/i.test(String(headers[name] ?? '')))
  const place = headers['sec-fetch-dest']
  return method !== 'HEAD' && !isAhead && (place === undefined || /^i?frame$|^document$/.test(String(place)))
}

const visitorOf = ({ method, ip, headers }: FastifyRequest): Visitor => ({
  isReader: isShown({ method, headers }),
  address: ip,
  agent: headers['user-agent']?.slice(0, HEADER_KEPT) ?? null,
  languages: headers['accept-language']?.slice(0, HEADER_KEPT) ?? null,
})

/** Sets the headers of every answer below a link, whatever it is. */
function safe(
  { publicUrl }: Pick<PageDeps, 'publicUrl'>,
  reply: FastifyReply,
  policy = "default-src 'none'",
  ancestors = "'none'",
): FastifyReply {
  reply
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff')
    .header('x-robots-tag', 'noindex')
    .header('permissions-policy', 'camera=(), geolocation=(), microphone=()')
    .header('content-security-policy', `${policy}; base-uri 'none'; frame-ancestors ${ancestors}`)
  if (publicUrl?.startsWith('https:')) reply.header('strict-transport-security', 'max-age=31536000')
  return reply
}

function sendPage(
  deps: Pick<PageDeps, 'publicUrl'>,
  reply: FastifyReply,
  { status = 200, framedBy, returnsTo, scripts = [], frames = [], connects = [], ...page }: Shown,
  look: Look | null,
  language: 'en' | 'de',
): FastifyReply {
  const nonce = randomBytes(16).toString('base64')
  const script = page.script === undefined ? '' : `script-src ${[`'nonce-${nonce}'`, ...scripts].join(' ')}; `
  const sources = (directive: string, of: readonly string[]) => (of.length > 0 ? `${directive} ${of.join(' ')}; ` : '')
  const wider = sources('frame-src', frames) + sources('connect-src', connects)
  const policy = `default-src 'none'; ${script}${wider}style-src 'nonce-${nonce}'; img-src 'self' data:; form-action 'self'${returnsTo ? ` ${returnsTo}` : ''}`
  return safe(deps, reply, policy, framedBy)
    .code(status)
    .header('content-language', language)
    .type(HTML_TYPE)
    .send(framed(page, look, language, nonce))
}

/** Sends a document or an image: no page, so that nothing in it may ask for anything. */
async function sendFile(deps: PageDeps, reply: FastifyReply, answer: Answer, gone: AbortSignal): Promise<FastifyReply> {
  const { status, body, makeBody, contentType = 'application/octet-stream', headers = {} } = answer
  const bytes = makeBody ? await makeBody(gone) : body
  return safe(deps, reply).code(status).headers(headers).type(contentType).send(bytes)
}
