import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { askGateway } from '../gateways/call.ts'
import type { Held, NotSent, Unknown } from '../gateways/contract.ts'
import type { Gateway } from '../gateways/queries.ts'
import { orRefundedThere, resumeSale, type SaleDeps } from './sale-calls.ts'
import { chargeOfSale, findSale, refundOfSale, type Sale } from './sale-queries.ts'
import { failGivingBack, finishSale } from './sales.ts'

/** Reports of gateways about sales: one that is open is asked about at once, any other whether its outcome is another now. */

/** Asks about an open sale, unless somebody is at it. Returns true where it was not charged: nothing of it is to come. */
export async function wakeSale(deps: SaleDeps, context: RequestContext, chargeId: Id): Promise<boolean> {
  const result = await resumeSale(deps, context, chargeId, { isWoken: true })
  return result === 'declined' || result === 'no_answer'
}

/** Result of asking: the gateway's answer where that leaves open what was asked. */
export type SaleAsked = 'applied' | Unknown | NotSent | Held

/** Asks about a charge that was declined or found not made, and begins its refund where it was made after all. */
export async function askEndedSale(
  deps: SaleDeps,
  context: RequestContext,
  gateway: Gateway,
  chargeId: Id,
): Promise<SaleAsked> {
  const { id: account } = context.account
  const sale = await findSale(deps.db.reader(account), account, chargeId)
  if (sale?.state !== 'declined' && sale?.state !== 'not_made') return 'applied'
  const found = await askGateway(deps, context, gateway, async (adapter, call) =>
    adapter.askCharge?.(call, chargeOfSale(sale)),
  )
  if (found === undefined) return 'applied'
  if (!('outcome' in found)) return found
  const { outcome } = found
  if (outcome.kind === 'unknown' || outcome.kind === 'not_sent' || outcome.kind === 'held') return outcome
  if (outcome.kind === 'succeeded')
    await deps.db.transaction(account, (tx) => finishSale(tx, context, deps, sale, outcome))
  return 'applied'
}

/** Asks about the refund of a sale that was made. One that is open is asked about in its turn. */
export async function askSaleRefund(
  deps: SaleDeps,
  context: RequestContext,
  gateway: Gateway,
  sale: Sale,
): Promise<SaleAsked> {
  if (sale.refundState !== 'made') return 'applied'
  const found = await askGateway(deps, context, gateway, async (adapter, call) => {
    const answer = await adapter.askRefund?.(call, refundOfSale(sale))
    return answer === undefined || answer.kind === 'none' ? undefined : orRefundedThere(adapter, call, sale, answer)
  })
  if (found?.kind === 'unknown' || found?.kind === 'not_sent' || found?.kind === 'held') return found
  if (found?.kind === 'declined')
    await deps.db.transaction(context.account.id, (tx) => failGivingBack(tx, context, sale, found))
  return 'applied'
}
