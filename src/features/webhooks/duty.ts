import type { Duty, DutyDeps } from '../../platform/duty.ts'
import { isOutage } from '../../platform/database/failures.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { Places } from '../../platform/places.ts'
import { type SteadyClock, steadyClock } from '../../platform/steady-clock.ts'
import { within } from '../../platform/within.ts'
import { instantOf } from '../../kernel/zone.ts'
import { listWebhooksToServe } from '../events/delivery-queries.ts'
import { type Endpoint, type SendDeps, serveEndpoint } from './send.ts'

/** The duty that sends events to endpoints: each endpoint is served on its own, so that a slow one holds up no other. */

const LOOK_EVERY_MS = 1_000
/** Deliveries of an endpoint in flight at a time: few at first and where calls fail or are slow, more and more while they are quick. */
const WIDTH_MIN = 4
const WIDTH_MAX = 64
/** Of the process. */
const CALLS = 512
const TRANSACTIONS = 3

export type WebhookDutyDeps = Pick<SendDeps, 'envelope' | 'outbound' | 'writeIssuedRecords' | 'writeUsageRecords'> & {
  /** Left out: that of the process. */
  clock?: SteadyClock
  /** Left out: Math.random. */
  random?: () => number
}

export const webhookDuty = ({ clock = steadyClock, random = Math.random, ...about }: WebhookDutyDeps): Duty => {
  const bounds = { transactions: new Places({ running: TRANSACTIONS }), calls: new Places({ running: CALLS }) }
  return {
    name: 'webhooks',
    everyMs: LOOK_EVERY_MS,
    run: (duty, goOn) => serveAll({ ...about, ...bounds, clock, random, ...duty }, goOn),
  }
}

/** Serves every endpoint to which something is due, and those to which it falls due meanwhile, until nothing is. */
async function serveAll(deps: SendDeps & DutyDeps, goOn: () => void): Promise<void> {
  const serving = new Map<string, Promise<void>>()
  let isOver = false
  let outage: unknown
  let hasServed = false
  const start = (endpoint: Endpoint) => {
    const key = `${endpoint.account} ${endpoint.id}`
    if (serving.has(key)) return
    const progress = { isOver: () => isOver, onServed: () => (hasServed = true) }
    const work = serveWhileDue(deps, endpoint, progress).catch((error: unknown) => {
      if (isOutage(error)) outage ??= error
      else
        deps.log.error(
          { err: errorFacts(error), account: String(endpoint.account), webhook: String(endpoint.id) },
          'a webhook could not be served; it is tried again',
        )
    })
    serving.set(
      key,
      work.finally(() => serving.delete(key)),
    )
  }
  try {
    for (;;) {
      goOn()
      if (outage !== undefined) throw outage
      const due = await listWebhooksToServe(deps.db.unscoped, instantOf(deps.realClock()))
      hasServed = false
      for (const endpoint of due) start(endpoint)
      await within(LOOK_EVERY_MS, Promise.all(serving.values()))
      // What is due and could not be taken is held by another process.
      if (serving.size === 0 && !hasServed) return
    }
  } finally {
    // Calls that are under way end on their own within seconds, and what came of them is written.
    isOver = true
    await Promise.all(serving.values())
  }
}

async function serveWhileDue(
  deps: SendDeps,
  endpoint: Endpoint,
  { isOver, onServed }: { isOver(): boolean; onServed(): void },
): Promise<void> {
  for (let width = WIDTH_MIN; !isOver();) {
    const { hadDue, isQuick } = await serveEndpoint(deps, endpoint, width)
    if (!hadDue) return
    onServed()
    width = isQuick ? Math.min(2 * width, WIDTH_MAX) : WIDTH_MIN
  }
}
