import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { NEGATIVE_KINDS, POSITIVE_KINDS } from '../../engine/money/postings.ts'
import { positiveStatus } from '../../engine/status.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Writing } from '../../kernel/context.ts'
import { amountColumn, type Column, dayColumn, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { orNull, outDate, outFlag, outId, outText, outWord } from '../../platform/wire/write.ts'
import type { PositiveAdjustment } from './adjustment-queries.ts'
import { METHODS } from './payment-queries.ts'
import type { Allocated, NegativeRecord, PaymentRecord, PositiveRecord } from './records.ts'
import { allocatedStatus, GIVEN_STATUSES, paymentStatus } from './rules.ts'

/** Money records as answers and events show them. A negative adjustment has two shapes, one for each of its doors. */

/** Allocation in the currency of its documents. */
export type AllocationOf = AllocationState & { currency: string }

const amountMinor = amountColumn<{ currency: string; amountMinor: bigint }>((row) => row.amountMinor)
const dated = dayColumn<{ dated: IsoDate }>((row) => row.dated)

const toOwed = (kind: OwedKind, otherwise: string): Column<AllocationState, bigint> => [
  outId(`0 where it is to ${otherwise}`),
  (allocation) => (allocation.owedKind === kind ? allocation.owedId : 0n),
]
const toInvoice = toOwed('invoice', 'a positive adjustment')
const toPositive = toOwed('positive_adjustment', 'an invoice')
const ofGiven = (kind: GivenKind, otherwise: string): Column<AllocationState, bigint> => [
  outId(`0 where it is of a ${otherwise}`),
  (allocation) => (allocation.givenKind === kind ? allocation.givenId : 0n),
]

const allocationsOf = ({ currency, allocations }: Allocated<{ currency: string }>): AllocationOf[] =>
  allocations.map((allocation) => ({ ...allocation, currency }))

/** Declares the allocations of money given, each with the identifier of the record under its own name. */
const allocationsOfGiven = (own: 'paymentID' | 'creditNoteID') =>
  recordsColumn(
    recordShape<AllocationOf>()(undefined, {
      allocationID: [outId(), ({ id }) => id],
      amountApplied: amountMinor,
      invoiceID: toInvoice,
      positiveAdjustmentID: toPositive,
      [own]: [outId(), ({ givenId }: AllocationOf) => givenId],
    }),
    allocationsOf,
  )

/** Declares an allocation of an adjustment, with the identifier and the kind of its other side. */
const allocationOfAdjustment = (
  otherSide: (allocation: AllocationOf) => bigint,
  isAdjustment: (allocation: AllocationOf) => boolean,
) =>
  recordShape<AllocationOf>()(undefined, {
    allocationID: [outId(), ({ id }) => id],
    objectID: [outId('What is on the other side: of which kind, isAdjustment says'), otherSide],
    amountApplied: amountMinor,
    isAdjustment: [outFlag(), isAdjustment],
  })

const allocationOfNegative = allocationOfAdjustment(
  ({ owedId }) => owedId,
  ({ owedKind }) => owedKind === 'positive_adjustment',
)
const allocationOfPositive = allocationOfAdjustment(
  ({ givenId }) => givenId,
  ({ givenKind }) => givenKind === 'negative_adjustment',
)

export const paymentShape = recordShape<PaymentRecord>()('Payment', {
  paymentID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  Amount: amountMinor,
  CurrencyCode: [outText(), ({ currency }) => currency],
  Date: [outDate('Instant'), ({ paidAt }) => paidAt],
  Memo: [orNull(outText()), ({ memo }) => memo],
  Ref: [orNull(outText()), ({ ref }) => ref],
  Method: [outWord(METHODS), ({ method }) => method],
  Status: [outWord(GIVEN_STATUSES), paymentStatus],
  Allocations: allocationsOfGiven('paymentID'),
})

export const creditNoteShape = recordShape<NegativeRecord>()('CreditNote', {
  creditNoteID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  Status: [outWord(GIVEN_STATUSES), allocatedStatus],
  Date: dated,
  CurrencyCode: [outText(), ({ currency }) => currency],
  Amount: amountMinor,
  CreditNumber: [outText(), ({ ref }) => ref ?? ''],
  Memo: [orNull(outText()), ({ memo }) => memo],
  Allocations: allocationsOfGiven('creditNoteID'),
})

const LONG_WORDS = { Allocated: 'Allocated', Partial: 'Partially Allocated', Unallocated: 'Unallocated' } as const

export const negativeShape = recordShape<NegativeRecord>()('NegativeAdjustment', {
  customerID: [outId(), ({ customerId }) => customerId],
  NegativeAdjustmentID: [outId(), ({ id }) => id],
  NegativeAdjustmentType: [outWord(NEGATIVE_KINDS), ({ kind }) => kind],
  Date: dated,
  Amount: amountMinor,
  CurrencyCode: [outText(), ({ currency }) => currency],
  Status: [outWord(Object.values(LONG_WORDS)), (negative) => LONG_WORDS[allocatedStatus(negative)]],
  isActive: [outFlag(), () => true],
  isSuccess: [outFlag(), () => true],
  Ref: [orNull(outText()), ({ ref }) => ref],
  Memo: [orNull(outText()), ({ memo }) => memo],
  allocations: recordsColumn(allocationOfNegative, allocationsOf),
})

/** Chooses how events show a negative adjustment: a credit note as `/v1/credits` answers it, a bad debt as `/v1/adjustment/get` does. */
export const negativeEventShape = ({ kind }: Pick<NegativeRecord, 'kind'>) =>
  kind === 'credit_note' ? creditNoteShape : negativeShape

export const positiveShape = recordShape<PositiveRecord>()('PositiveAdjustment', {
  customerID: [outId(), ({ customerId }) => customerId],
  positiveAdjustmentID: [outId(), ({ id }) => id],
  positiveAdjustmentType: [outWord(POSITIVE_KINDS), ({ kind }) => kind],
  Date: dated,
  DueDate: dayColumn(({ dueDate }) => dueDate),
  Amount: amountMinor,
  CurrencyCode: [outText(), ({ currency }) => currency],
  Status: [
    outWord(['Paid', 'Partially Paid', 'Unpaid', 'Past Due']),
    (positive, { today }) =>
      positiveStatus({ ...positive, coveredMinor: positive.paidMinor + positive.negativeMinor, today }),
  ],
  isActive: [outFlag(), () => true],
  isSuccess: [outFlag(), () => true],
  Ref: [orNull(outText()), ({ ref }) => ref],
  Memo: [orNull(outText()), ({ memo }) => memo],
  allocations: recordsColumn(allocationOfPositive, allocationsOf),
})

/** Writes a positive adjustment in pieces while its allocations arrive. */
export const positivePieces = (
  row: PositiveAdjustment,
  allocations: AsyncIterable<readonly AllocationState[]>,
  writing: Writing,
) =>
  positiveShape.pieces({ ...row, allocations: [] }, writing, {
    allocations: allocationOfPositive.list.pieces(inCurrency(allocations, row.currency), writing),
  })

async function* inCurrency(portions: AsyncIterable<readonly AllocationState[]>, currency: string) {
  for await (const allocations of portions) yield allocationsOf({ currency, allocations })
}

/** Fields that events keep of an allocation that the service made or took away by itself. */
export const allocationEventShape = recordShape<AllocationOf>()(undefined, {
  allocationID: [outId(), ({ id }) => id],
  paymentID: ofGiven('payment', 'negative adjustment'),
  NegativeAdjustmentID: ofGiven('negative_adjustment', 'payment'),
  invoiceID: toInvoice,
  positiveAdjustmentID: toPositive,
  amountApplied: amountMinor,
  isServiceMade: [outFlag(), ({ isServiceMade }) => isServiceMade],
})
