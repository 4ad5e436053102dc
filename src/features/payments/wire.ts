import type { Problems } from '../../kernel/fault.ts'
import type { Account } from '../../kernel/context.ts'
import { dateIn } from '../../kernel/zone.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { currencyCode, date, flag, instant, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { allocationsIn, positiveAmount, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import { METHODS, type NewPayment } from '../money/payment-queries.ts'

const inputs = {
  customerID: required(requiredReference()),
  Amount: required(positiveAmount()),
  CurrencyCode: required(currencyCode()),
  Date: required(instant()),
  Method: required(word(METHODS, { anyCase: true })),
  Memo: optional(longText()),
  Ref: optional(text()),
  AutoApply: optional(flag(), 'isAutoApply'),
  Allocations: optional(allocationsIn(), 'allocations', 'LinkedAllocations'),
} satisfies Properties

const COMPUTED = ['paymentID', 'Status']

export const PaymentIn = withoutListWhereAutoApply(
  objectOf(inputs, { name: 'PaymentEdit', ignored: [...COMPUTED, 'sendReceipt'] }),
)
/** Rule: of a payment that was received elsewhere a receipt goes out only where it is asked for. */
export const NewPaymentIn = withoutListWhereAutoApply(
  objectOf({ ...inputs, sendReceipt: optional(flag()) }, { name: 'PaymentAdd', ignored: COMPUTED }),
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

const failing = { Date: required(date()), Reason: required(text()) } satisfies Properties
export const FailIn = objectOf(failing, { name: 'PaymentFailure' })
