import { assert } from '../../kernel/assert.ts'
import type { Moment, RequestContext } from '../../kernel/context.ts'
import { findCountry } from '../../kernel/countries.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { askGateway, type GatewayDeps, keepingName } from '../gateways/call.ts'
import type {
  ChargeState,
  ChargeToMake,
  GatewayAdapter,
  GatewayCall,
  Held,
  NotSent,
  Outcome,
  Unknown,
} from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { referenceFor } from '../gateways/references.ts'
import { sendTransactionId } from '../money/payment-queries.ts'
import { refOfInvoice } from '../money/records.ts'
import { isPending } from '../money/rules.ts'
import { findMethod } from '../payment-methods/queries.ts'
import { finishTry, type Known, otherName, putOffMismatched } from './outcome.ts'
import { findPaidFor, keepTryName, nameTry, noteSending } from './call-queries.ts'
import { ASK_AGAIN_SECONDS, type Claimable, claimTry, lockTry, putOffTry, type Try } from './try-queries.ts'

/** The calls of tries: no transaction is open and no connection held while a gateway is asked. */

export interface CallDeps extends GatewayDeps {
  db: Database
}

/** Answer to a try: its outcome, or what is to happen before it is known. */
export type Answered = { known: Known } | Open

interface Open extends Pick<Try, 'wasUnanswered' | 'wasCalled' | 'silentSince'> {
  known: null
  isNotSent: boolean
  awaitsCustomer?: boolean
  confirmUrl?: string | null
  isWaitKept?: boolean
  /** The gateway's name of the charge, where its answer bears one. */
  name?: string | null
  /** The answer was about another charge: a sentence. */
  mismatch?: string | undefined
}

/** Seconds after which a try that did not reach its gateway is made again: 1, 5 and 30 minutes, then hourly. */
const WAITS = [60, 300, 1800]
const HOURLY = 3600
/** Tries that reach nothing within 20 hours have failed: three short waits and the hours after them. */
const NOT_SENT_MAX = WAITS.length + 20
/** How long a customer has to confirm a charge; then it is ended at the gateway. */
const CONFIRM_SECONDS = 30 * 60

/** Tries are written one customer at a time: plans for lists of identifiers would be made anew each time. */
export const ONE_BY_ONE = { plans: 'lasting' } as const

/** Gateway of a try, and the gateway's name of its card. */
export interface Charged {
  gateway: Gateway
  method: { gatewayToken: string | null }
  /** They can confirm the charge now, where their bank wants that; else such a charge is ended. */
  isCustomerPresent?: boolean
  /** The address at which a gateway hands them back; null: nobody knows it. */
  returnUrl?: string | null
}

/** A try that a report has woken, which is to be left as it is where it still waits for its customer. */
interface Resumed {
  isWoken: boolean
}

async function chargedBy({ db }: CallDeps, account: AccountId, t: Try): Promise<Charged> {
  const reader = db.reader(account)
  const [gateway, method] = await Promise.all([
    findGateway(reader, account, t.gatewayId),
    t.newCard ?? findMethod(reader, account, t.paymentMethodId),
  ])
  assert(gateway && method, `try ${t.paymentId} has its gateway and its card`)
  return { gateway, method }
}

/** Makes the charge of a try: what is asked for, who pays, and what is known of it. */
async function chargeOf({ db }: CallDeps, account: AccountId, t: Try, by: Charged): Promise<ChargeToMake> {
  const token = by.method.gatewayToken
  assert(token !== null, `try ${t.paymentId} is by card`)
  const { number, email, country, postalCode, ...named } = await findPaidFor(db.lookup(account), account, t.invoiceId)
  return {
    reference: referenceFor({ id: t.paymentId, nonce: t.nonce }),
    token,
    amountMinor: t.amountMinor,
    currency: t.currency,
    gatewayReference: t.gatewayReference,
    sentAt: t.sentAt,
    isCustomerPresent: by.isCustomerPresent ?? false,
    returnUrl: by.returnUrl ?? null,
    description: refOfInvoice(number),
    invoiceNumbers: [String(number)],
    payer: {
      customerId: t.customerId,
      name: customerNameOf(named),
      email,
      country: findCountry(country ?? '')?.code ?? null,
      postalCode,
    },
  }
}

/**
 * Makes the call of a try, or asks what became of one that was made. Rule: nothing is charged under another key, and what may have reached the
 * gateway is asked for before it is sent again. `begun` is what a try that was just begun charges; any other may have been called before.
 */
export async function callTry(
  deps: CallDeps,
  context: Pick<RequestContext, 'account' | 'moment'>,
  t: Try,
  begun?: Charged,
  { isWoken }: Resumed = { isWoken: false },
): Promise<Answered> {
  const { id: account } = context.account
  const by = begun ?? (await chargedBy(deps, account, t))
  const { gateway, isCustomerPresent = false } = by
  const isLeftWaiting = isCustomerPresent || (isWoken && t.awaitsCustomer)
  const charge = await chargeOf(deps, account, t, by)
  const naming = keepingName(charge.gatewayReference, (present, name) =>
    deps.db.transaction(account, async (tx) => {
      const isKept = await keepTryName(tx, { paymentId: t.paymentId, present, name })
      if (isKept) sendTransactionId(tx, { gatewayId: t.gatewayId, chargeId: t.paymentId }, name)
      return isKept
    }),
  )
  const outcome = await askGateway<Outcome | 'never_arrived'>(deps, context, gateway, makeOrEnd, { isCustomerPresent })
  const answered = readOutcome(outcome, t, context.moment, { isLeftWaiting, wasBegun: begun !== undefined })
  // Being asked about makes nobody's time to confirm it longer.
  return isWoken && answered.known === null && answered.awaitsCustomer ? { ...answered, isWaitKept: true } : answered

  async function makeOrEnd(adapter: GatewayAdapter, call: GatewayCall): Promise<Outcome | 'never_arrived'> {
    const answered = await chargeOrAsk(adapter, call)
    if (answered === 'never_arrived' || answered.kind !== 'requires_action' || isLeftWaiting) return answered
    // Should it have been confirmed in this very moment, it is charged.
    // The name that the call itself has kept is among the facts of the question.
    const ended = await adapter.cancelCharge?.(call, { ...charge, gatewayReference: naming.kept() })
    return ended?.kind === 'succeeded' ? ended : answered
  }

  async function chargeOrAsk(adapter: GatewayAdapter, call: GatewayCall): Promise<Outcome | 'never_arrived'> {
    assert(adapter.charge && adapter.askCharge, `a gateway of type ${gateway.type} charges cards`)
    if (!begun && t.wasCalled) {
      const found: ChargeState | Unknown | NotSent | Held = await adapter.askCharge(call, charge)
      if (!('outcome' in found)) return found.kind === 'not_sent' ? { kind: 'unknown' } : found
      if (found.outcome.kind !== 'none') return found.outcome
      if (t.wasUnanswered) return 'never_arrived'
    }
    if (!begun) await deps.db.transaction(account, (tx) => noteSending(tx, t.paymentId))
    return adapter.charge({ ...call, keep: naming.keep }, charge)
  }
}

function readOutcome(
  outcome: Outcome | 'never_arrived',
  t: Try,
  { now, today }: Moment,
  { isLeftWaiting, wasBegun }: { isLeftWaiting: boolean; wasBegun: boolean },
): Answered {
  const failed = (declineClass: Extract<Known, { kind: 'failed' }>['class'], code: string | null, message: string) => ({
    known: { kind: 'failed', class: declineClass, code, message, on: today } as const,
  })
  if (outcome === 'never_arrived') return failed('unknown', null, 'The gateway gave no answer and has not charged.')
  switch (outcome.kind) {
    case 'succeeded':
      return { known: { kind: 'succeeded', on: outcome.on, name: outcome.gatewayReference } }
    case 'declined':
      return {
        known: { kind: 'failed', class: outcome.class, code: outcome.code, message: outcome.message, on: outcome.on },
      }
    case 'requires_action':
      if (isLeftWaiting)
        return {
          known: null,
          wasUnanswered: false,
          wasCalled: true,
          isNotSent: false,
          silentSince: now,
          awaitsCustomer: true,
          confirmUrl: outcome.url,
          name: outcome.gatewayReference,
        }
      return failed('action_required', 'requires_action', 'The customer has to confirm the payment.')
    case 'not_sent':
      if (t.attempts + 1 >= NOT_SENT_MAX) return failed('not_sent', null, 'The gateway could not be reached.')
      return {
        known: null,
        wasUnanswered: t.wasUnanswered,
        wasCalled: false,
        isNotSent: true,
        silentSince: t.silentSince,
      }
    case 'held':
      return {
        known: null,
        wasUnanswered: t.wasUnanswered,
        // What may have been called before is asked about after the release.
        wasCalled: !wasBegun && t.wasCalled,
        isNotSent: false,
        silentSince: now,
      }
    case 'unknown':
      return {
        known: null,
        wasUnanswered: true,
        wasCalled: true,
        isNotSent: false,
        silentSince: t.silentSince,
        mismatch: outcome.mismatch,
      }
    case 'pending':
      return {
        known: null,
        wasUnanswered: false,
        wasCalled: true,
        isNotSent: false,
        silentSince: now,
        name: outcome.gatewayReference,
      }
  }
}

/** Writes what a call brought: the outcome, or when the try is taken up again. */
export async function writeAnswer(
  deps: CallDeps,
  context: RequestContext,
  t: Try,
  answered: Answered,
): Promise<'succeeded' | 'failed' | 'open'> {
  if (answered.known) {
    const { known } = answered
    const written = await deps.db.transaction(context.account.id, (tx) => finishTry(tx, context, t, known), ONE_BY_ONE)
    return isPending(written) ? 'open' : known.kind
  }
  await deps.db.transaction(context.account.id, (tx) => putOff(tx, context, t, answered))
  return 'open'
}

/** Writes that the outcome of a try is not known yet, and when it is taken up again. */
export async function putOff(tx: Transaction, context: RequestContext, t: Try, open: Open): Promise<void> {
  const { name = null, mismatch, isNotSent, awaitsCustomer = false, confirmUrl = null, isWaitKept = false } = open
  const attempts = isNotSent ? t.attempts + 1 : t.attempts
  const askSeconds = awaitsCustomer ? CONFIRM_SECONDS : ASK_AGAIN_SECONDS
  const waitSeconds = isNotSent ? (WAITS[t.attempts] ?? HOURLY) : askSeconds
  const { wasCalled, wasUnanswered, silentSince } = open
  const to = { wasCalled, wasUnanswered, silentSince, attempts, awaitsCustomer, confirmUrl, isWaitKept, waitSeconds }
  if (name !== null && !(await keepName(tx, t, name))) return putOffMismatched(tx, context, t, otherName(t, name))
  if (mismatch !== undefined) return putOffMismatched(tx, context, t, mismatch)
  await putOffTry(tx, t.paymentId, to)
}

/** Keeps the name that an answer bears; false where the try has another, or another try has it. */
async function keepName(tx: Transaction, { paymentId, gatewayId }: Try, name: string): Promise<boolean> {
  const [named, now] = await Promise.all([nameTry(tx, paymentId, name), lockTry(tx, paymentId)])
  if (named.length > 0) sendTransactionId(tx, { gatewayId, chargeId: paymentId }, name)
  return now?.gatewayReference === name
}

/** Takes up an open try that may be claimed; undefined where there is nothing to do. One that is claimed as idle was woken by a report. */
export async function resumeTry(
  deps: CallDeps,
  context: RequestContext,
  paymentId: Id,
  which: Claimable,
): Promise<'succeeded' | 'failed' | 'open' | undefined> {
  const t = await deps.db.transaction(context.account.id, (tx) => claimTry(tx, paymentId, which))
  if (!t) return undefined
  return writeAnswer(deps, context, t, await callTry(deps, context, t, undefined, { isWoken: which === 'idle' }))
}
