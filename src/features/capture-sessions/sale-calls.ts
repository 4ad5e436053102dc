import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Database } from '../../platform/database/database.ts'
import { askGateway, type GatewayDeps, keepingName } from '../gateways/call.ts'
import type { GatewayAdapter, GatewayCall, Outcome, Succeeded } from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { giveBackMethod } from './actions.ts'
import { type CapturedDeps, openSaleMethod } from './captured.ts'
import { findSession } from './queries.ts'
import { isCapturingOver } from './rules.ts'
import { chargeOfSale, claimSale, keepSaleName, noteSaleSending, refundOfSale, type Sale } from './sale-queries.ts'
import { type ChargeAnswer, finishGivingBack, finishSale, type SaleResult } from './sales.ts'

/** The calls of sales: no transaction is open and no connection held while a gateway is asked. */

export interface SaleDeps extends GatewayDeps, CapturedDeps {
  db: Database
}

/** Wish of whoever is at the page of a charge that waits for a confirmation: to know whether it came, or to pay no more. */
export type Answering = 'ask' | 'cancel'

async function gatewayOf({ db }: SaleDeps, { account }: RequestContext, { gatewayId }: Sale): Promise<Gateway> {
  const gateway = await findGateway(db.reader(account.id), account.id, gatewayId)
  assert(gateway, `gateway ${gatewayId} exists`)
  return gateway
}

/** Charges the card of a sale; the same sale again is the same charge there. */
export const chargeSale = async (
  deps: SaleDeps,
  context: RequestContext,
  sale: Sale,
  isCustomerPresent: boolean,
): Promise<Outcome> =>
  askGateway(
    deps,
    context,
    await gatewayOf(deps, context, sale),
    (adapter, call) => charge(deps, context, adapter, call, sale, isCustomerPresent),
    { isCustomerPresent },
  )

async function charge(
  { db, envelope }: SaleDeps,
  { account }: RequestContext,
  adapter: GatewayAdapter,
  call: GatewayCall,
  sale: Sale,
  isCustomerPresent: boolean,
): Promise<Outcome> {
  assert(adapter.charge, 'the gateway of a sale charges cards')
  const method = openSaleMethod(envelope, account.id, sale)
  assert(method.kind === 'card' && method.card.gatewayToken !== null, `sale ${sale.chargeId} is by card`)
  const { chargeId } = sale
  const session = await findSession(db.reader(account.id), account.id, sale.sessionId)
  const { keep } = keepingName(sale.gatewayReference, (present, name) =>
    db.transaction(account.id, (tx) => keepSaleName(tx, { chargeId, present, name })),
  )
  return adapter.charge(
    { ...call, keep },
    {
      ...chargeOfSale(sale),
      token: method.card.gatewayToken,
      isCustomerPresent,
      returnUrl: null,
      description: session?.description ?? `Sale ${chargeId}`,
      invoiceNumbers: [],
      payer: null,
    },
  )
}

/**
 * Asks what became of a charge. Rule: one that got no answer and is found not made is none; one whose process died goes on with its own key, but
 * not after the end of its session. One that was not confirmed in time is ended at the gateway.
 */
async function askSale(
  deps: SaleDeps,
  context: RequestContext,
  sale: Sale,
  { isOver, isEnded }: { isOver: boolean; isEnded: boolean },
): Promise<ChargeAnswer> {
  const asked = chargeOfSale(sale)
  return askGateway<ChargeAnswer>(deps, context, await gatewayOf(deps, context, sale), async (adapter, call) => {
    assert(adapter.askCharge, 'the gateway of a sale can be asked')
    const found = await adapter.askCharge(call, asked)
    // A question that did not arrive leaves what may have arrived before as unknown as it was.
    if (!('outcome' in found)) return found.kind === 'not_sent' ? { kind: 'unknown' } : found
    const { outcome } = found
    if (outcome.kind === 'none') {
      if (sale.wasUnanswered || isOver) return { kind: 'never_arrived' }
      await deps.db.transaction(context.account.id, (tx) => noteSaleSending(tx, sale.chargeId, 'charge'))
      return charge(deps, context, adapter, call, sale, false)
    }
    if (outcome.kind !== 'requires_action' || !isEnded) return outcome
    const ended = await adapter.cancelCharge?.(call, asked)
    return ended === undefined || ended.kind === 'none' ? outcome : ended
  })
}

/** Refunds a charge that nobody has taken over, or asks what became of that; the same refund again changes nothing at the gateway. */
async function refundSale(deps: SaleDeps, context: RequestContext, sale: Sale): Promise<Outcome> {
  const request = refundOfSale(sale)
  return askGateway<Outcome>(deps, context, await gatewayOf(deps, context, sale), async (adapter, call) => {
    assert(adapter.refund, 'a gateway that charges cards refunds')
    const known = sale.asks === 0 ? undefined : await adapter.askRefund?.(call, request)
    if (known !== undefined && known.kind !== 'none')
      return known.kind === 'not_sent' ? { kind: 'unknown' } : orRefundedThere(adapter, call, sale, known)
    await deps.db.transaction(context.account.id, (tx) => noteSaleSending(tx, sale.chargeId, 'refund'))
    return orRefundedThere(adapter, call, sale, await adapter.refund(call, request))
  })
}

/** Returns what became of the refund of a sale. Rule: where the gateway refuses it because its console has refunded the whole charge, that gives it back. */
export async function orRefundedThere<Answer extends Outcome>(
  adapter: GatewayAdapter,
  call: GatewayCall,
  sale: Sale,
  answer: Answer,
): Promise<Answer | Succeeded> {
  if (answer.kind !== 'declined') return answer
  const found = await adapter.askCharge?.(call, chargeOfSale(sale))
  const refunds = found !== undefined && 'outcome' in found ? found.changes : []
  const refundedMinor = refunds.reduce((sum, { kind, amountMinor, reference }) => {
    // One that came back does not count, whether or not the gateway still lists it as made.
    const isBack = refunds.some((one) => one.kind === 'refund_failed' && one.undoes === reference)
    return kind === 'refunded' && !isBack ? sum + amountMinor : sum
  }, 0n)
  const last = refunds.findLast(({ kind }) => kind === 'refunded')
  if (last === undefined || refundedMinor < sale.amountMinor) return answer
  return { kind: 'succeeded', gatewayReference: null, on: last.on }
}

/** Occasion on which a sale is taken up again. */
export interface Resuming {
  /** Its wait need not be over, and the time in which its customer may confirm it counts as over. */
  isAll?: boolean
  /** A report has woken it: its wait need not be over, and a customer keeps the time to confirm it. */
  isWoken?: boolean
  /** Somebody is at its page. */
  answering?: Answering
}

/** Takes up a sale whose gateway owes an answer, of its charge or of its refund; undefined where another is at it. */
export async function resumeSale(
  deps: SaleDeps,
  context: RequestContext,
  chargeId: Id,
  { isAll = false, isWoken = false, answering }: Resuming = {},
): Promise<SaleResult | 'given_back' | undefined> {
  const { account, moment } = context
  const isAtOnce = isAll || isWoken || answering !== undefined
  const sale = await deps.db.transaction(account.id, (tx) => claimSale(tx, chargeId, isAtOnce))
  if (!sale) return undefined
  if (sale.refundState === 'open') {
    const outcome = await refundSale(deps, context, sale)
    await deps.db.transaction(account.id, (tx) =>
      finishGivingBack(tx, context, sale, outcome, (session) => giveBackMethod(tx, context, deps, session)),
    )
    return 'given_back'
  }
  const session = await findSession(deps.db.reader(account.id), account.id, sale.sessionId)
  assert(session, `the session of sale ${chargeId} exists`)
  const isOver = isCapturingOver(session, moment.now)
  const isEnded =
    answering === 'cancel' || (answering === undefined && (isAll || !sale.awaitsCustomer || sale.isConfirmingOver))
  const outcome = await askSale(deps, context, sale, { isOver, isEnded })
  return deps.db.transaction(account.id, (tx) => finishSale(tx, context, deps, sale, outcome))
}
