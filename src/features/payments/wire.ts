import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Account } from '../../kernel/context.ts'
import { dateIn } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { currencyCode, date, flag, instant, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outDate,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import { allocationsIn, positiveAmount, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import { METHODS, type NewPayment, type Payment } from '../money/payment-queries.ts'
import { GIVEN_STATUSES } from '../money/rules.ts'
import { paymentStatus } from './rules.ts'

export const PaymentOut = outObject(
  {
    paymentID: outId(),
    customerID: outId(),
    Amount: outNumber(),
    CurrencyCode: outText(),
    Date: outDate('Instant'),
    Memo: orNull(outText()),
    Ref: orNull(outText()),
    Method: outWord(METHODS),
    Status: outWord(GIVEN_STATUSES),
    Allocations: outList(
      outObject({
        allocationID: outId(),
        amountApplied: outNumber(),
        invoiceID: outId('0 where it is to a positive adjustment'),
        positiveAdjustmentID: outId('0 where it is to an invoice'),
        paymentID: outId(),
      }),
    ),
  },
  'Payment',
)
export const PaymentsOut = outList(PaymentOut)

export const paymentToWire = (
  payment: Payment,
  allocations: readonly AllocationState[],
): ShapeOf<typeof PaymentOut> => {
  const digits = digitsOf(payment.currency)
  return {
    paymentID: payment.id,
    customerID: payment.customerId,
    Amount: minorDigits(payment.amountMinor, digits),
    CurrencyCode: payment.currency,
    Date: payment.paidAt,
    Memo: payment.memo,
    Ref: payment.ref,
    Method: payment.method,
    Status: paymentStatus(payment),
    Allocations: allocations.map((allocation) => ({
      allocationID: allocation.id,
      amountApplied: minorDigits(allocation.amountMinor, digits),
      invoiceID: allocation.owedKind === 'invoice' ? allocation.owedId : 0n,
      positiveAdjustmentID: allocation.owedKind === 'positive_adjustment' ? allocation.owedId : 0n,
      paymentID: payment.id,
    })),
  }
}

/** Changes with whatever a PUT would replace. */
export const paymentEtag = (payment: Payment, allocations: readonly AllocationState[]): string =>
  etagOf(paymentToWire(payment, allocations))

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

/** A payment as a body says it; undefined while something that it needs is missing or wrong. */
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
