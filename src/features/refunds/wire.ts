import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, flag, text } from '../../platform/wire/fields.ts'
import { objectOf, optional, required } from '../../platform/wire/read.ts'
import { orNull, outFlag, outId, outObject, outText, outWord } from '../../platform/wire/write.ts'
import { positiveAmount } from '../money/allocation-wire.ts'
import { type PaymentRefund, REFUND_STATES } from './queries.ts'

export const refundShape = recordShape<PaymentRefund>()('PaymentRefund', {
  refundID: [outId(identifies('refund')), ({ id }) => id],
  Amount: amountColumn(({ amountMinor }) => amountMinor, 'The amount that is given back.'),
  State: [
    outWord(REFUND_STATES, 'Whether the refund waits for the gateway, succeeded or failed.'),
    ({ state }) => state,
  ],
  AdjustmentID: [
    orNull(outId('The refund as a positive adjustment; null until it succeeded')),
    ({ adjustmentId }) => adjustmentId,
  ],
  Message: [orNull(outText(SHARED.Problem)), ({ message }) => message],
  isFromGateway: [
    outFlag('Whether it was made at the console of the gateway, not here.'),
    ({ isFromGateway }) => isFromGateway,
  ],
  transactionID: [orNull(outText(SHARED.transactionID)), ({ gatewayReference }) => gatewayReference],
  Date: dayColumn(({ dated }) => dated, 'The day of the refund.'),
})

export const RefundIn = objectOf(
  {
    Amount: optional(
      positiveAmount(),
      'The amount that is given back, at most what is not allocated.',
      'Left out, it is all that is not allocated.',
    ),
  },
  { name: 'PaymentRefundAdd' },
)

export const RefundMadeOut = outObject({ AdjustmentID: outId(identifies('adjustment')) }, 'PaymentRefundMade')
export const RefundBegunOut = outObject({ refundID: outId(identifies('refund')) }, 'PaymentRefundBegun')

export const ResultIn = objectOf(
  {
    Success: required(flag(), 'Whether the money was given back.'),
    Reason: optional(text(), 'Why it was not; only with Success false.', LEFT_OUT.noReason),
    Date: optional(date(), 'The day on which it was given back, or refused.', LEFT_OUT.today),
  },
  { name: 'PaymentRefundResult' },
)
