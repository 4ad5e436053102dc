import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import {
  minorDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { NegativeAdjustment } from './adjustment-queries.ts'
import { allocatedStatus, GIVEN_STATUSES } from './rules.ts'

/** The same negative record as the two doors show it; events keep it as the door of its kind does. */

export const CreditNoteOut = outObject(
  {
    creditNoteID: outId(),
    customerID: outId(),
    Status: outWord(GIVEN_STATUSES),
    Date: outDate('Calendar date'),
    CurrencyCode: outText(),
    Amount: outNumber(),
    CreditNumber: outText(),
    Memo: orNull(outText()),
    Allocations: outList(
      outObject({
        allocationID: outId(),
        amountApplied: outNumber(),
        invoiceID: outId('0 where it is to a positive adjustment'),
        positiveAdjustmentID: outId('0 where it is to an invoice'),
        creditNoteID: outId(),
      }),
    ),
  },
  'CreditNote',
)

export function creditNoteToWire(
  note: NegativeAdjustment,
  allocations: readonly AllocationState[],
  timeZone: string,
): ShapeOf<typeof CreditNoteOut> {
  const digits = digitsOf(note.currency)
  return {
    creditNoteID: note.id,
    customerID: note.customerId,
    Status: allocatedStatus(note.amountMinor, note.appliedMinor),
    Date: dateWithOffset(note.dated, timeZone),
    CurrencyCode: note.currency,
    Amount: minorDigits(note.amountMinor, digits),
    CreditNumber: note.ref ?? '',
    Memo: note.memo,
    Allocations: allocations.map((allocation) => ({
      allocationID: allocation.id,
      amountApplied: minorDigits(allocation.amountMinor, digits),
      invoiceID: allocation.owedKind === 'invoice' ? allocation.owedId : 0n,
      positiveAdjustmentID: allocation.owedKind === 'positive_adjustment' ? allocation.owedId : 0n,
      creditNoteID: note.id,
    })),
  }
}

export const LinkedOut = outObject({
  allocationID: outId(),
  objectID: outId('What is on the other side: of which kind, isAdjustment says'),
  amountApplied: outNumber(),
  isAdjustment: outFlag(),
})

export const NegativeOut = outObject(
  {
    customerID: outId(),
    NegativeAdjustmentID: outId(),
    NegativeAdjustmentType: outWord(['credit_note', 'bad_debt']),
    Date: outDate('Calendar date'),
    Amount: outNumber(),
    CurrencyCode: outText(),
    Status: outWord(['Allocated', 'Partially Allocated', 'Unallocated']),
    isActive: outFlag(),
    isSuccess: outFlag(),
    Ref: orNull(outText()),
    Memo: orNull(outText()),
    allocations: outList(LinkedOut),
  },
  'NegativeAdjustment',
)

const LONG_WORDS = { Allocated: 'Allocated', Partial: 'Partially Allocated', Unallocated: 'Unallocated' } as const

export function negativeToWire(
  negative: NegativeAdjustment,
  allocations: readonly AllocationState[],
  timeZone: string,
): ShapeOf<typeof NegativeOut> {
  const digits = digitsOf(negative.currency)
  return {
    customerID: negative.customerId,
    NegativeAdjustmentID: negative.id,
    NegativeAdjustmentType: negative.kind,
    Date: dateWithOffset(negative.dated, timeZone),
    Amount: minorDigits(negative.amountMinor, digits),
    CurrencyCode: negative.currency,
    Status: LONG_WORDS[allocatedStatus(negative.amountMinor, negative.appliedMinor)],
    isActive: true,
    isSuccess: true,
    Ref: negative.ref,
    Memo: negative.memo,
    allocations: allocations.map((allocation) => ({
      allocationID: allocation.id,
      objectID: allocation.owedId,
      amountApplied: minorDigits(allocation.amountMinor, digits),
      isAdjustment: allocation.owedKind === 'positive_adjustment',
    })),
  }
}

/** What an event keeps: a credit note as `/v1/credits` answers it, a bad debt as `/v1/adjustment/get` does. */
export const negativeRecord = (
  negative: NegativeAdjustment,
  allocations: readonly AllocationState[],
  timeZone: string,
): string =>
  negative.kind === 'credit_note'
    ? CreditNoteOut.write(creditNoteToWire(negative, allocations, timeZone))
    : NegativeOut.write(negativeToWire(negative, allocations, timeZone))
