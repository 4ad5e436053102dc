import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import {
  lookupOperation,
  type Operation,
  outwardOperation,
  type PathParams,
  writeOperation,
} from '../../platform/http/operation.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import type { Outcome } from '../gateways/contract.ts'
import type { PaymentRecord } from '../money/records.ts'
import { checkReason } from '../money/rules.ts'
import { paymentKind } from '../payments/record.ts'
import { beginRefund, finishRefund, type RefundCall, reopenRefund, sendRefund } from './actions.ts'
import { findPaymentRefund, listRefundsOf, type PaymentRefund } from './queries.ts'
import { refundKind } from './record.ts'
import { checkResultByHand, checkResultDay } from './rules.ts'
import { RefundBegunOut, RefundIn, RefundMadeOut, refundShape, ResultIn } from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

const tag = 'Payments'

/** Answers what became of a refund: made, refused, or not known yet. */
function answerOf(refund: PaymentRefund): Answer | Fault {
  switch (refund.state) {
    case 'succeeded':
      return { status: 201, body: RefundMadeOut.write({ AdjustmentID: refund.adjustmentId as bigint }) }
    case 'open':
      return { status: 202, body: RefundBegunOut.write({ refundID: refund.id }) }
    case 'failed':
      return new Fault('conflict', [
        { code: 'refund_refused', message: `The gateway refused the refund: ${refund.message}`, field: null },
      ])
  }
}

/** Finds a refund of the payment in the path, or throws its 404. */
async function foundRefund(tx: Transaction, payment: PaymentRecord, params: PathParams): Promise<PaymentRefund> {
  const id = refundKind.pathId(params)
  const refund = await findPaymentRefund(tx, tx.account, id)
  if (refund?.paymentId !== payment.id) throw refundKind.unknown(id)
  return refund
}

/** Answers the refunds of the payment in the path. */
async function answerRefunds(db: Queryable, context: RequestContext, params: PathParams): Promise<Answer> {
  const paymentId = paymentKind.pathId(params)
  const [, refunds] = await Promise.all([
    paymentKind.found(db, context, params),
    listRefundsOf(db, context.account.id, paymentId),
  ])
  return { status: 200, body: refundShape.list.write(refunds, writingOf(context)) }
}

export const refundOperations = (deps: GatewayDeps): Operation[] => [
  outwardOperation({
    id: 'refundPayment',
    method: 'POST',
    path: '/v1/payments/{paymentID}/refund',
    tag,
    summary: 'Give unallocated money of a payment back through the gateway that took it',
    body: RefundIn,
    isBodyOptional: true,
    success: { status: 201, schema: RefundMadeOut.schema, pending: RefundBegunOut.schema },
    refusals: {
      409: 'Nothing of it can be refunded, no gateway processed it, its gateway refused, or its gateway is held',
    },
    record: (tx, context, { params }) => paymentKind.locked(tx, context, params),
    references: async (_tx, _context, { body }, problems, payment) =>
      amountIn(problems, 'Amount', body.Amount ?? undefined, payment.currency),
    begin: async (tx, context, _input, payment, askedMinor, { begunIntent }) => {
      const begun = begunIntent === null ? undefined : await reopenRefund(tx, deps, payment, begunIntent)
      const call =
        begun?.refund.state === 'open' ? begun : await beginRefund(tx, context, deps, payment, askedMinor ?? null)
      return { intent: call.refund.id, call }
    },
    call: (context, _input, call: RefundCall): Promise<Outcome> => sendRefund(deps, context, call),
    finish: async (tx, context, _input, { refund }, outcome: Outcome) =>
      answerOf(await finishRefund(tx, context, refund.id, outcome)),
  }),
  lookupOperation({
    id: 'listPaymentRefunds',
    path: '/v1/payments/{paymentID}/refunds',
    tag,
    summary: 'List the refunds of a payment through its gateway',
    success: { status: 200, schema: refundShape.list.schema },
    read: (db, context, { params }) => answerRefunds(db, context, params),
  }),
  writeOperation({
    id: 'settleRefundByHand',
    method: 'PUT',
    path: '/v1/payments/{paymentID}/refunds/{refundID}/result',
    tag,
    summary: 'Settle a refund by hand once its gateway has been silent for 24 hours',
    body: ResultIn,
    representation: {
      schema: refundShape.list.schema,
      read: (tx, context, { params }) => answerRefunds(tx, context, params),
    },
    refusals: { 409: 'Its outcome is known, or the gateway may still answer' },
    record: async (tx, context, { params }) => foundRefund(tx, await paymentKind.locked(tx, context, params), params),
    references: async (_tx, _context, { body }, problems) => checkReason(body, '', problems),
    write: async (tx, context, { body }, refund: PaymentRefund) => {
      const { now, today } = context.moment
      checkResultByHand(refund, now)
      const on = body.Date ?? today
      checkResultDay(refund, on, today)
      const outcome: Outcome = body.Success
        ? { kind: 'succeeded', gatewayReference: null, on }
        : { kind: 'declined', class: 'unknown', code: 'by_hand', message: body.Reason ?? 'Settled by hand.', on }
      await finishRefund(tx, context, refund.id, outcome)
      return noContent()
    },
  }),
]
