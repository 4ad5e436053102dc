import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Database } from '../../platform/database/database.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import type { Outcome } from '../gateways/contract.ts'
import { lockedPayment } from '../money/payments.ts'
import { askRefund, failLater, finishRefund, reopenRefund, type RefundCall } from './actions.ts'
import { findPaymentRefund, listRefundsToAsk, type PaymentRefund } from './queries.ts'

/** Asks gateways what became of refunds: of open ones when it is time, of others when the gateway reports something. */

const AT_A_TIME = 100

/** Asks about the open refunds of an account that are to be asked about by now. Returns how many were: as many as are taken at a time, there may be more. */
export async function askOpenRefunds(db: Database, context: RequestContext, deps: GatewayDeps): Promise<number> {
  const due = await listRefundsToAsk(db.reader(context.account.id), context.account.id, context.moment.now, AT_A_TIME)
  for (const { id } of due) await askAbout(db, context, deps, id)
  return due.length
}

/** Asks about one refund, open or not, and writes what came of it. Returns the refund as it is then, and what the gateway answered. */
export async function askAbout(
  db: Database,
  context: RequestContext,
  deps: GatewayDeps,
  id: Id,
): Promise<{ refund: PaymentRefund; outcome: Outcome } | undefined> {
  const { account } = context
  const opened = await db.transaction(account.id, async (tx): Promise<RefundCall | undefined> => {
    const refund = await findPaymentRefund(tx, account.id, id)
    const payment = refund && (await lockedPayment(tx, refund.paymentId))
    return payment && reopenRefund(tx, deps, payment, id)
  })
  if (opened === undefined) return undefined
  const outcome = await askRefund({ ...deps, db }, context, opened)
  const refund = await db.transaction(account.id, async (tx) =>
    opened.refund.state === 'open'
      ? finishRefund(tx, context, id, outcome)
      : outcome.kind === 'declined'
        ? (await failLater(tx, context, id, outcome)).refund
        : opened.refund,
  )
  return { refund, outcome }
}
