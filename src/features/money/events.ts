import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { minorDigits, outFlag, outId, outNumber, outObject } from '../../platform/wire/write.ts'

/** What events keep of an allocation that the service made or took away by itself. */

const AllocationEventOut = outObject({
  allocationID: outId(),
  paymentID: outId('0 where it is of a negative adjustment'),
  NegativeAdjustmentID: outId('0 where it is of a payment'),
  invoiceID: outId('0 where it is to a positive adjustment'),
  positiveAdjustmentID: outId('0 where it is to an invoice'),
  amountApplied: outNumber(),
  isServiceMade: outFlag(),
})

export const allocationRecord = (a: AllocationState, currency: string): string =>
  AllocationEventOut.write({
    allocationID: a.id,
    paymentID: a.givenKind === 'payment' ? a.givenId : 0n,
    NegativeAdjustmentID: a.givenKind === 'negative_adjustment' ? a.givenId : 0n,
    invoiceID: a.owedKind === 'invoice' ? a.owedId : 0n,
    positiveAdjustmentID: a.owedKind === 'positive_adjustment' ? a.owedId : 0n,
    amountApplied: minorDigits(a.amountMinor, digitsOf(currency)),
    isServiceMade: a.isServiceMade,
  })
