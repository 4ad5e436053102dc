import { backgroundContext, momentOf, type Account, type RealClock } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { Outbound } from '../../platform/outbound/outbound.ts'
import type { Places } from '../../platform/places.ts'
import type { SteadyClock } from '../../platform/steady-clock.ts'
import { getAccount } from '../accounts/queries.ts'
import { type ComposeDeps, eventPortions, eventShape } from '../events/wire.ts'
import {
  claimDeliveries,
  type DueDelivery,
  type EndedTry,
  finishTries,
  listDueDeliveries,
  putOffDeliveries,
  releaseDeliveries,
  wakeFollowers,
} from '../events/delivery-queries.ts'
import { listEventsById } from '../events/queries.ts'
import { disableWebhook } from './actions.ts'
import { lockWebhook, updateFailingSince, type Webhook } from './queries.ts'
import { endpointVerdictOf, HELD_MS_MAX, heldUntil, isOutOfTheWay, verdictOf } from './rules.ts'
import { signedHeaders, signingSecrets } from './secret.ts'

/**
 * Sending: some deliveries of an endpoint are taken under a lease, called side by side, and what came of them is written. No transaction and no
 * connection is held during the calls; a process that dies leaves a lease that lapses, and the deliveries are made again.
 */

export interface SendDeps extends ComposeDeps<never> {
  db: Database
  realClock: RealClock
  envelope: Envelope
  outbound: Outbound
  /** Measures how long calls take. */
  clock: SteadyClock
  /** Chance from 0 up to 1, for jitter. */
  random(): number
  /** Bounds on the transactions, and on the calls, of all endpoints at a time. */
  transactions: Places
  calls: Places
}

export interface Endpoint {
  account: AccountId
  id: Id
}

/** Bytes of bodies that one endpoint has in memory at a time; the rest of what was taken is let go of. */
const BODY_BYTES_MAX = 8 * 1024 * 1024
/** A call that takes longer makes an endpoint slow, in milliseconds. */
const QUICK_MS = 1_000

/** Progress of one endpoint: whether anything was due, and whether it takes events as fast as they come. */
export interface Served {
  hadDue: boolean
  isQuick: boolean
}

/** Sends an endpoint what is due to it, so many deliveries at most. */
export async function serveEndpoint(deps: SendDeps, endpoint: Endpoint, width: number): Promise<Served> {
  const taken = await inTurn(deps, endpoint, (tx) => take(deps, tx, endpoint, width))
  if (!taken || taken.due.length === 0) return { hadDue: taken?.hadDue ?? false, isQuick: true }
  const { due } = taken
  const messages = await composed(deps, taken.account, due)
  const begunMs = deps.clock()
  const ended = await Promise.all(messages.map((message) => callOnce(deps, endpoint, taken, message)))
  const isQuick = deps.clock() - begunMs < QUICK_MS && ended.every(({ state }) => state === 'delivered')
  const unsent = due.filter(({ id }) => !messages.some(({ delivery }) => delivery.id === id))
  await inTurn(deps, endpoint, (tx) => finish(deps, tx, endpoint, ended, unsent))
  return { hadDue: true, isQuick }
}

const inTurn = <T>({ db, transactions }: SendDeps, { account }: Endpoint, work: (tx: Transaction) => Promise<T>) =>
  transactions.run(account, () => db.transaction(account, work))

interface Taken {
  account: Account
  url: URL
  secrets: readonly string[]
  /** Taken under a lease. */
  due: readonly DueDelivery[]
  /** Something was due, be it behind something else. */
  hadDue: boolean
}

/** Takes what is due, with what it is sent by. Returns undefined where there is no such endpoint any more, or it is disabled. */
async function take(deps: SendDeps, tx: Transaction, { id }: Endpoint, width: number): Promise<Taken | undefined> {
  const webhook = await lockWebhook(tx, tx.account, id)
  if (!webhook?.isActive) return undefined
  const nowMs = deps.realClock()
  const now = instantOf(nowMs)
  const found = await listDueDeliveries(tx, id, { now, heldAfter: instantOf(nowMs - HELD_MS_MAX), limit: width })
  const behind = found.filter(({ isBehind }) => isBehind).map((one) => ({ id: one.id, until: heldUntil(one, nowMs) }))
  const due = found.filter(({ isBehind }) => !isBehind)
  if (behind.length > 0) putOffDeliveries(tx, id, behind)
  if (due.length > 0) claimDeliveries(tx, id, due)
  const account = await getAccount(tx, tx.account)
  return {
    account,
    url: new URL(webhook.url),
    secrets: signingSecrets(deps.envelope, tx.account, webhook, now),
    due,
    hadDue: found.length > 0,
  }
}

interface OutgoingEvent {
  delivery: DueDelivery
  body: string
}

/** Makes the bodies of deliveries from their events as they are now. */
async function composed(deps: SendDeps, account: Account, due: readonly DueDelivery[]): Promise<OutgoingEvent[]> {
  const reader = deps.db.reader(account.id)
  const moment = momentOf(account, deps.realClock)
  const found = await listEventsById(reader, account.id, [...new Set(due.map(({ eventId }) => eventId))])
  const messages: OutgoingEvent[] = []
  let bytes = 0
  for await (const portion of eventPortions(deps, reader, { account, moment }, found)) {
    for (const event of portion) {
      const body = eventShape.write(event, { timeZone: account.timeZone, today: moment.today })
      const asking = due.filter(({ eventId }) => eventId === event.id)
      messages.push(...asking.map((delivery) => ({ delivery, body })))
      bytes += body.length
    }
    if (bytes > BODY_BYTES_MAX) break
  }
  return messages
}

async function callOnce(
  { outbound, realClock, random, calls }: SendDeps,
  { account }: Endpoint,
  { url, secrets }: Taken,
  { delivery, body }: OutgoingEvent,
): Promise<EndedTry> {
  const { id, eventId, type, recordId } = delivery
  const called = await calls.run(account, () => {
    const name = `evt_${account}_${eventId}`
    const signed = signedHeaders(secrets, { id: name, seconds: Math.floor(realClock() / 1000), body })
    const headers = { ...signed, 'content-type': 'application/json', 'user-agent': 'Perennial' }
    return outbound.post(url, { headers, body: Buffer.from(body) })
  })
  const nowMs = realClock()
  const tries = delivery.tries + 1
  const { state, status, nextTryAt } = verdictOf(called, tries, nowMs, random())
  return { id, eventId, type, recordId, tries, state, status, nextTryAt, at: instantOf(nowMs) }
}

/** Writes what came of tries, and disables an endpoint that has failed for too long. */
async function finish(
  deps: SendDeps,
  tx: Transaction,
  { id }: Endpoint,
  ended: readonly EndedTry[],
  unsent: readonly DueDelivery[],
): Promise<void> {
  const webhook = await lockWebhook(tx, tx.account, id)
  if (!webhook) return
  const nowMs = deps.realClock()
  finishTries(tx, id, ended)
  if (unsent.length > 0) releaseDeliveries(tx, id, unsent)
  const past = ended.filter(isOutOfTheWay)
  if (past.length > 0) wakeFollowers(tx, id, past, instantOf(nowMs))
  await judge(deps, tx, webhook, ended, nowMs)
}

async function judge(
  { realClock }: SendDeps,
  tx: Transaction,
  webhook: Webhook,
  ended: readonly EndedTry[],
  nowMs: number,
): Promise<void> {
  const { failingSince, disabledFor } = endpointVerdictOf(webhook.failingSince, ended, nowMs)
  if (failingSince !== webhook.failingSince) await updateFailingSince(tx, webhook.id, failingSince)
  if (disabledFor === null || !webhook.isActive) return
  const account = await getAccount(tx, tx.account)
  const context = backgroundContext(account, momentOf(account, realClock), { actor: 'webhooks' })
  await disableWebhook(tx, context, { ...webhook, failingSince }, disabledFor)
}
