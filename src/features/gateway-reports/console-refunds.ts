import { earlier } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { amountText } from '../../kernel/currencies.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { ChargeChange } from '../gateways/contract.ts'
import { failLater } from '../refunds/actions.ts'
import { bookConsoleRefund } from '../refunds/console.ts'
import { findRefundByName, getReceivedOfCharge, type PaymentRefund } from '../refunds/queries.ts'
import { type Applying, noteChange, bookableOf } from './applying.ts'
import { APPLIED, refused, type Verdict } from './rules.ts'

/** Money that went back at a gateway's console, or came back of it (§33). No payment fails of it, and nothing of an invoice changes. */

/** Lists a refund of the console, which waits for a person whenever no money covers it. */
export type OnRefunded = (
  tx: Transaction,
  context: RequestContext,
  about: { gatewayId: Id; refund: PaymentRefund },
) => Promise<void>

/** Books what was refunded, as far as the charge has received it and not given it back; what is over is listed. */
export async function applyRefunded(
  tx: Transaction,
  context: RequestContext,
  applying: Applying,
  { kind, reference, amountMinor, on }: ChargeChange,
  onRefunded: OnRefunded,
): Promise<Verdict> {
  const { gatewayId, chargeId, charge } = applying
  const { bookedMinor, overMinor } = bookableOf(amountMinor, await getReceivedOfCharge(tx, gatewayId, chargeId))
  if (bookedMinor > 0n) {
    const made = { gatewayReference: reference, amountMinor: bookedMinor, on: earlier(on, context.moment.today) }
    const refund = await bookConsoleRefund(tx, context, charge, made)
    await onRefunded(tx, context, { gatewayId, refund })
  }
  const paymentId = bookedMinor > 0n ? charge.id : null
  await noteChange(tx, applying, { kind, reference, paymentId, amountMinor: bookedMinor, undoes: null })
  if (overMinor === 0n) return APPLIED
  const over = amountText(overMinor, charge.currency)
  return refused(
    `Of what was refunded at the gateway (${reference}) ${over} is more than is left of payment ${charge.id}.`,
  )
}

/** Books the money of a refund that came back. Rule: of one that was not booked nothing comes back. */
export async function applyRefundFailed(
  tx: Transaction,
  context: RequestContext,
  applying: Applying,
  { kind, reference, undoes, on, message }: ChargeChange,
): Promise<Verdict> {
  const { gatewayId, chargeId } = applying
  const refund = undoes === undefined ? undefined : await findRefundByName(tx, gatewayId, chargeId, undoes)
  if (!refund?.isFromGateway) return APPLIED
  const { money } = await failLater(tx, context, refund.id, { message, on: earlier(on, context.moment.today) })
  const amountMinor = money?.amountMinor ?? 0n
  await noteChange(tx, applying, {
    kind,
    reference,
    paymentId: money?.id ?? null,
    amountMinor,
    undoes: refund.gatewayReference,
  })
  return APPLIED
}
