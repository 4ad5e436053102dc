import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Account } from '../../kernel/context.ts'
import { dateIn } from '../../kernel/zone.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { currencyCode, date, flag, instant, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { allocationsIn, positiveAmount, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import { METHODS, type NewPayment } from '../money/payment-queries.ts'

const inputs = {
  customerID: required(requiredReference(), identifies('customer')),
  Amount: required(positiveAmount(), 'The amount that was paid, over 0.'),
  CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
  Date: required(instant(), 'When the money came; its day in the zone of the account counts in the books.'),
  Method: required(word(METHODS, { anyCase: true }), 'The way in which the money came.'),
  Memo: optional(longText(), SHARED.Memo, LEFT_OUT.none),
  Ref: optional(text(), SHARED.Ref, LEFT_OUT.none),
  AutoApply: optional(flag(), SHARED.AutoApply, LEFT_OUT.false, ['isAutoApply']),
  Allocations: optional(allocationsIn(), SHARED.Allocations, undefined, ['allocations', 'LinkedAllocations']),
} satisfies Properties

const COMPUTED = ['paymentID', 'Status', 'transactionID']

export const PaymentIn = withoutListWhereAutoApply(
  objectOf(whenLeftOut(inputs, { Memo: LEFT_OUT.cleared, Ref: LEFT_OUT.cleared }), {
    name: 'PaymentEdit',
    ignored: [...COMPUTED, 'sendReceipt'],
  }),
)
/** Rule: of a payment that was received elsewhere a receipt goes out only where it is asked for. */
export const NewPaymentIn = withoutListWhereAutoApply(
  objectOf(
    {
      ...inputs,
      sendReceipt: optional(flag(), 'Whether a receipt is mailed to the customer.', LEFT_OUT.false),
    },
    { name: 'PaymentAdd', ignored: COMPUTED },
  ),
)
export type PaymentBody = BodyOf<typeof inputs>

/** Reads a payment from a body; undefined while something that it needs is missing or wrong. */
export function paymentFromWire(
  body: Partial<PaymentBody>,
  { timeZone }: Account,
  problems: Problems,
): NewPayment | undefined {
  const amountMinor = amountIn(problems, 'Amount', body.Amount, body.CurrencyCode)
  const { customerID, CurrencyCode, Date: paidAt, Method } = body
  if (customerID === undefined || CurrencyCode === undefined || paidAt === undefined || Method === undefined)
    return undefined
  if (amountMinor === undefined) return undefined
  return {
    customerId: customerID,
    paidAt,
    dated: dateIn(paidAt, timeZone),
    currency: CurrencyCode,
    amountMinor,
    method: Method,
    origin: 'recorded',
    ref: body.Ref ?? null,
    memo: body.Memo ?? null,
  }
}

const failing = {
  Date: required(date(), 'The day on which the payment failed; its allocations end on it.'),
  Reason: required(text(), 'Why the payment failed, as the bank says.'),
} satisfies Properties
export const FailIn = objectOf(failing, { name: 'PaymentFailure' })
