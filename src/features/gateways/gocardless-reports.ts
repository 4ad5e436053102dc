import { createHmac, timingSafeEqual } from 'node:crypto'
import { type AnswerObject, listIn, type NameKind, record, referenceIn, textIn } from './answer-objects.ts'
import type {
  GatewayCall,
  GatewayReport,
  NotSent,
  ReportsFrom,
  ReportsListed,
  ReportsRead,
  Unknown,
} from './contract.ts'
import { type GoCardlessApi, listPage, unanswered } from './gocardless-api.ts'
import { paymentOf } from './gocardless-payments.ts'

/** Reports of GoCardless: signed requests of several events, and the same events as its list has them (§38). */

type Whose = Pick<GatewayCall, 'scope'>

/** Kinds of objects that events are about: the link with their name, what a report of them is about, and the kind of our names for them. */
const RESOURCES: Readonly<Record<string, { link: string; about: GatewayReport['about']; kind: NameKind }>> = {
  payments: { link: 'payment', about: 'charge', kind: 'charge' },
  refunds: { link: 'refund', about: 'refund', kind: 'refund' },
  billing_requests: { link: 'billing_request', about: 'storing', kind: 'mandate' },
}

/** Reads an event; undefined where it is of nothing here, or of another scope. */
function reportOf(whose: Whose, event: AnswerObject): GatewayReport | undefined {
  const id = textIn(event, 'id')
  const links = record(event.links)
  const type = textIn(event, 'resource_type')
  if (id === '') return undefined
  if (type === 'mandates') {
    const reference = textIn(links, 'mandate')
    return reference === '' ? undefined : { id, about: 'stored', reference }
  }
  const resource = RESOURCES[type]
  const gatewayReference = resource ? textIn(links, resource.link) : ''
  if (!resource || gatewayReference === '') return undefined
  const { about, kind } = resource
  const reference = referenceIn(whose, kind, event.resource_metadata)
  if (reference !== undefined) return { id, about, reference, gatewayReference }
  const name = textIn(record(event.resource_metadata), 'perennial')
  if (name !== '') return undefined
  // A refund of the console is a matter of its payment.
  const payment = paymentOf(event)
  if (about === 'refund') return payment === '' ? undefined : { id, about: 'charge', gatewayReference: payment }
  return about === 'charge' ? { id, about, gatewayReference } : undefined
}

/** Returns whether a header signs a body by one of some secrets. GoCardless signs no time: a repeated report is but a question more. */
function isSigned(raw: Buffer, header: string, secrets: readonly string[]): boolean {
  const given = Buffer.from(header)
  return secrets.some((secret) => {
    const right = Buffer.from(createHmac('sha256', secret).update(raw).digest('hex'))
    return given.length === right.length && timingSafeEqual(given, right)
  })
}

export function readGoCardlessReport(
  whose: Pick<GatewayCall, 'scope' | 'settings'>,
  raw: Buffer,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ReportsRead {
  const { 'webhook-signature': header } = headers
  const { WebhookSecrets: secrets } = whose.settings
  if (typeof header !== 'string' || !Array.isArray(secrets) || !isSigned(raw, header, secrets as string[]))
    return { kind: 'refused' }
  try {
    const events = listIn(record(JSON.parse(raw.toString('utf8'))), 'events')
    return { kind: 'read', reports: events.flatMap((event) => reportOf(whose, event) ?? []) }
  } catch {
    return { kind: 'refused' }
  }
}

const PAGES_MAX = 20
/** Events appear late: each look begins so long before the newest one that was seen, and what is found twice is one. */
const BEHIND_MS = 10 * 60_000

/** Place at which a look goes on: from a moment on, newest first, behind an event where the look before did not come to the end. */
interface Cursor {
  from: string
  after?: string
  newest?: string
}

const cursorOf = ({ cursor, since }: ReportsFrom): Cursor =>
  cursor === null ? { from: since } : (JSON.parse(cursor) as Cursor)

export function gocardlessReports(api: GoCardlessApi) {
  /** Names the payment of a refund that was made at the console, where its event does not. */
  async function withPayment(call: GatewayCall, event: AnswerObject): Promise<AnswerObject> {
    const isUnnamed = textIn(event, 'resource_type') === 'refunds' && paymentOf(event) === ''
    if (!isUnnamed || textIn(record(event.resource_metadata), 'perennial') !== '') return event
    const refund = await api.get(call, ['refunds', textIn(record(event.links), 'refund')])
    const payment = refund.kind === 'ok' ? paymentOf(refund.object) : ''
    return payment === '' ? event : { ...event, links: { ...record(event.links), payment } }
  }

  return {
    listReports: async (call: GatewayCall, given: ReportsFrom): Promise<ReportsListed | Unknown | NotSent> => {
      const from = cursorOf(given)
      let { after, newest } = from
      const events: AnswerObject[] = []
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const page = await listPage(api, call, 'events', { 'created_at[gte]': from.from, after })
        if (page.kind !== 'page') return unanswered(page)
        for (const event of page.objects) events.push(await withPayment(call, event))
        newest ??= textIn(page.objects[0] ?? {}, 'created_at') || undefined
        after = page.after
        if (after === '') break
      }
      const reports = events.toReversed().flatMap((event) => reportOf(call, event) ?? [])
      const isMore = after !== ''
      const cursor = isMore ? { from: from.from, after, newest } : { from: nextFrom(from.from, newest) }
      return { kind: 'listed', reports, cursor: JSON.stringify(cursor), isMore }
    },
  }
}

function nextFrom(from: string, newest: string | undefined): string {
  const behind = Date.parse(newest ?? '') - BEHIND_MS
  return Number.isNaN(behind) || behind <= Date.parse(from) ? from : new Date(behind).toISOString()
}
