import { amountColumn, dayColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, flag, text } from '../../platform/wire/fields.ts'
import { objectOf, optional, required } from '../../platform/wire/read.ts'
import { orNull, outId, outObject, outText, outWord } from '../../platform/wire/write.ts'
import { positiveAmount } from '../money/allocation-wire.ts'
import { type PaymentRefund, REFUND_STATES } from './queries.ts'

export const refundShape = recordShape<PaymentRefund>()('PaymentRefund', {
  refundID: [outId(), ({ id }) => id],
  Amount: amountColumn(({ amountMinor }) => amountMinor),
  State: [outWord(REFUND_STATES), ({ state }) => state],
  AdjustmentID: [
    orNull(outId('The refund as a positive adjustment; null until it succeeded')),
    ({ adjustmentId }) => adjustmentId,
  ],
  Message: [orNull(outText()), ({ message }) => message],
  Date: dayColumn(({ dated }) => dated),
})

export const RefundIn = objectOf({ Amount: optional(positiveAmount()) }, { name: 'PaymentRefundAdd' })

export const RefundMadeOut = outObject({ AdjustmentID: outId() }, 'PaymentRefundMade')
export const RefundBegunOut = outObject({ refundID: outId() }, 'PaymentRefundBegun')

export const ResultIn = objectOf(
  { Success: required(flag()), Reason: optional(text()), Date: optional(date()) },
  { name: 'PaymentRefundResult' },
)
