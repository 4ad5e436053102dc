import { createHmac, timingSafeEqual } from 'node:crypto'
import { type AnswerObject, nameIn, record, referenceIn, textIn, wholeIn } from './answer-objects.ts'
import type {
  GatewayCall,
  GatewayReport,
  NotSent,
  ReportsFrom,
  ReportsListed,
  ReportsRead,
  Unknown,
} from './contract.ts'
import type { Form, StripeApi } from './stripe-api.ts'

/** Reports of Stripe: signed ones that it sends, and the same events as its list has them (§35). */

/** So far a report's time may lie from ours, in seconds, either way. */
const TOLERANCE_S = 300

type Whose = Pick<GatewayCall, 'scope' | 'isLive'>

type About = Omit<GatewayReport, 'id'>

/** Reads an intent of a kind. Those of others have no name of ours; that of another scope is another's. */
const ofNamed =
  (kind: 'charge' | 'card', about: GatewayReport['about']) =>
  (whose: Whose, intent: AnswerObject): About | undefined => {
    const reference = referenceIn(whose, kind, intent.metadata)
    const gatewayReference = textIn(intent, 'id')
    return reference === undefined || gatewayReference === '' ? undefined : { about, reference, gatewayReference }
  }
const ofIntent = ofNamed('charge', 'charge')
const ofSetup = ofNamed('card', 'storing')

/** Reads a charge of Stripe, or a dispute: whose it is shows by the intent alone. */
function ofCharge(_whose: Whose, object: AnswerObject): About | undefined {
  const gatewayReference = nameIn(object, 'payment_intent')
  return gatewayReference === '' ? undefined : { about: 'charge', gatewayReference }
}

/** Reads a refund of ours, or one of the console: about the charge of that Stripe is asked. */
function ofRefund(whose: Whose, refund: AnswerObject): About | undefined {
  const reference = referenceIn(whose, 'refund', refund.metadata)
  const gatewayReference = textIn(refund, 'id')
  if (reference === undefined) return ofCharge(whose, refund)
  return gatewayReference === '' ? undefined : { about: 'refund', reference, gatewayReference }
}

function ofMethod(_whose: Whose, method: AnswerObject, data: AnswerObject): About | undefined {
  const customer = nameIn(method, 'customer') || nameIn(record(data.previous_attributes), 'customer')
  const id = textIn(method, 'id')
  return customer === '' || id === '' ? undefined : { about: 'stored', reference: `${customer}/${id}` }
}

const EVENTS: Readonly<Record<string, (whose: Whose, object: AnswerObject, data: AnswerObject) => About | undefined>> =
  {
    'payment_intent.succeeded': ofIntent,
    'payment_intent.payment_failed': ofIntent,
    'payment_intent.canceled': ofIntent,
    'payment_intent.processing': ofIntent,
    'charge.refunded': ofCharge,
    'charge.dispute.created': ofCharge,
    'charge.dispute.updated': ofCharge,
    'charge.dispute.closed': ofCharge,
    'charge.dispute.funds_withdrawn': ofCharge,
    'charge.dispute.funds_reinstated': ofCharge,
    'refund.updated': ofRefund,
    'refund.failed': ofRefund,
    'payment_method.automatically_updated': ofMethod,
    'payment_method.updated': ofMethod,
    'payment_method.detached': ofMethod,
    'setup_intent.succeeded': ofSetup,
    'setup_intent.setup_failed': ofSetup,
  }

/** Types of events that are read, of all that Stripe has. */
export const EVENT_TYPES_READ = Object.keys(EVENTS)

/** Reads an event; undefined where it is of nothing here. Of its object only what names it is read: the rest has the shape of whichever version. */
function reportOf(whose: Whose, event: AnswerObject): GatewayReport | undefined {
  const id = textIn(event, 'id')
  const read = EVENTS[textIn(event, 'type')]
  if (id === '' || !read || event.livemode !== whose.isLive) return undefined
  const data = record(event.data)
  const about = read(whose, record(data.object), data)
  return about && { id, ...about }
}

/** Returns whether a header signs a body by one of some secrets, at a time close to ours (§35). */
function isSigned(raw: Buffer, header: string, secrets: readonly string[], nowS: number): boolean {
  const parts = header.split(',').map((part) => part.trim().split(/=(.*)/s))
  const times = parts.filter(([name]) => name === 't')
  const [, time = ''] = times[0] ?? []
  if (times.length !== 1 || !/^\d{1,12}$/.test(time) || Math.abs(nowS - Number(time)) > TOLERANCE_S) return false
  const signatures = parts.filter(([name]) => name === 'v1').map(([, value = '']) => Buffer.from(value))
  return secrets.some((secret) => {
    const right = Buffer.from(createHmac('sha256', secret).update(`${time}.`).update(raw).digest('hex'))
    return signatures.some((signature) => signature.length === right.length && timingSafeEqual(signature, right))
  })
}

export function readStripeReport(
  whose: Pick<GatewayCall, 'scope' | 'isLive' | 'settings'>,
  raw: Buffer,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  realNow: string,
): ReportsRead {
  const { 'stripe-signature': header } = headers
  const { WebhookSecrets: secrets } = whose.settings
  const nowS = Math.floor(Date.parse(realNow) / 1000)
  if (typeof header !== 'string' || !Array.isArray(secrets) || !isSigned(raw, header, secrets as string[], nowS))
    return { kind: 'refused' }
  try {
    const report = reportOf(whose, record(JSON.parse(raw.toString('utf8'))))
    return { kind: 'read', reports: report ? [report] : [] }
  } catch {
    return { kind: 'refused' }
  }
}

const PAGES_MAX = 20
const PAGE = 100
/** Events appear late: the cursor stays behind by so much real time, and what is found twice is one. In seconds. */
const BEHIND_S = 600

/** Place at which a look goes on: above an event, or from a moment on, which begins with the newest and goes down. In seconds of real time. */
interface Cursor {
  /** The newest event that was read and is old enough, and when it was made. */
  above?: string
  at: number
  /** Going down: the last event that was read, and the newest one that the way up begins with. */
  below?: string
  top?: { id: string; at: number }
}

function cursorOf({ cursor, since }: ReportsFrom): Cursor {
  const begun = { at: Math.floor(Date.parse(since) / 1000) }
  return cursor === null ? begun : (JSON.parse(cursor) as Cursor)
}

const isCursor = ([name, value]: Form[number]): boolean =>
  (name === 'ending_before' || name === 'starting_after') && value !== undefined

type Page = { kind: 'page'; events: AnswerObject[]; hasMore: boolean } | { kind: 'forgotten' } | Unknown | NotSent

export function stripeReports(api: StripeApi, { realNow }: { realNow: () => number }) {
  async function page(call: GatewayCall, where: Form): Promise<Page> {
    const types: Form = EVENT_TYPES_READ.map((type, at) => [`types[${at}]`, type])
    const answer = await api.get(call, ['events'], [...types, ['limit', String(PAGE)], ...where])
    if (answer.kind === 'refused') return { kind: answer.meaning.kind === 'gone' ? 'forgotten' : 'unknown' }
    // Which word Stripe has for a cursor that it has forgotten is not documented.
    if (answer.kind === 'not_sent' && answer.refused?.by === 'request' && where.some(isCursor))
      return { kind: 'forgotten' }
    if (answer.kind !== 'ok') return answer
    const { data, has_more: hasMore } = answer.object
    return Array.isArray(data)
      ? { kind: 'page', events: data.map(record), hasMore: hasMore === true }
      : { kind: 'unknown' }
  }

  const listed = (reports: GatewayReport[], cursor: Cursor, isMore: boolean): ReportsListed => ({
    kind: 'listed',
    reports,
    cursor: JSON.stringify(cursor),
    isMore,
  })

  const reportsOf = (call: GatewayCall, events: readonly AnswerObject[]): GatewayReport[] =>
    events.flatMap((event) => reportOf(call, event) ?? [])

  const madeAt = (event: AnswerObject): number => wholeIn(event, 'created') ?? 0

  /** Reads upwards from an event, oldest first. */
  async function upwards(
    call: GatewayCall,
    from: Cursor & { above: string },
  ): Promise<ReportsListed | Unknown | NotSent> {
    const reports: GatewayReport[] = []
    const oldEnough = realNow() / 1000 - BEHIND_S
    let { above } = from
    let cursor: Cursor = from
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const found = await page(call, [['ending_before', above]])
      if (found.kind === 'forgotten') return downwards(call, { at: from.at })
      if (found.kind !== 'page') return found
      // Each page has its newest event first.
      const events = found.events.toReversed()
      reports.push(...reportsOf(call, events))
      for (const event of events)
        if (madeAt(event) <= oldEnough) cursor = { above: textIn(event, 'id'), at: madeAt(event) }
      above = textIn(events.at(-1) ?? {}, 'id')
      if (!found.hasMore || above === '') return listed(reports, cursor, false)
    }
    return listed(reports, cursor, cursor !== from)
  }

  /** Reads downwards to a moment, over several looks if need be; only then the way up begins. */
  async function downwards(call: GatewayCall, from: Cursor): Promise<ReportsListed | Unknown | NotSent> {
    const pages: AnswerObject[][] = []
    const oldEnough = realNow() / 1000 - BEHIND_S
    let { below, top } = from
    // So that nothing is missed between the moment of this look and the first event.
    const end = { at: Math.max(from.at, Math.floor(oldEnough)) }
    for (let read = 0; read < PAGES_MAX; read += 1) {
      const found = await page(call, [
        ['created[gte]', String(from.at)],
        ['starting_after', below],
      ])
      // The event that this look goes on from was forgotten meanwhile, and all below it.
      if (found.kind === 'forgotten') break
      if (found.kind !== 'page') return found
      pages.push(found.events)
      const newest = found.events.find((event) => madeAt(event) <= oldEnough)
      if (!top && newest) top = { id: textIn(newest, 'id'), at: madeAt(newest) }
      below = textIn(found.events.at(-1) ?? {}, 'id') || below
      if (!found.hasMore || found.events.length === 0) {
        const cursor = top ? { above: top.id, at: top.at } : end
        return listed(reportsOf(call, pages.flat().toReversed()), cursor, false)
      }
    }
    const reports = reportsOf(call, pages.flat().toReversed())
    if (pages.length < PAGES_MAX) return listed(reports, top ? { above: top.id, at: top.at } : end, false)
    return listed(reports, { at: from.at, ...(below && { below }), ...(top && { top }) }, true)
  }

  return {
    listReports: (call: GatewayCall, from: ReportsFrom): Promise<ReportsListed | Unknown | NotSent> => {
      const cursor = cursorOf(from)
      return cursor.above === undefined ? downwards(call, cursor) : upwards(call, { ...cursor, above: cursor.above })
    },
  }
}
