import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { NEGATIVE_KINDS, POSITIVE_KINDS } from '../../engine/money/postings.ts'
import { positiveStatus } from '../../engine/status.ts'
import type { Writing } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import {
  amountColumn,
  type Column,
  dayColumn,
  NO_READER,
  optionalDayColumn,
  own,
  ownAmount,
  ownDay,
  recordsColumn,
  recordShape,
} from '../../platform/wire/columns.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outNumber,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import type { PositiveAdjustment } from './adjustment-queries.ts'
import { onlyInvoiceOf, takenTaxes, taxesTaken, type TaxOfNote, unsettledMinor } from './corrected.ts'
import { METHODS } from './payment-queries.ts'
import type { PaymentRecord, PositiveRecord } from './records.ts'
import { allocatedStatus, paymentStatus } from './rules.ts'
import { type Allocated, type CorrectedLine, GIVEN_STATUSES, type NegativeRecord } from './types.ts'

/** Money records as answers and events show them. A negative adjustment has two shapes, one for each of its doors. */

/** Allocation in the currency of its documents. */
export type AllocationOf = AllocationState & { currency: string }

const amountMinor = ownAmount('amountMinor')
const dated = ownDay('dated')

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
  paymentID: own(outId(), 'id'),
  customerID: own(outId(), 'customerId'),
  Amount: amountMinor,
  CurrencyCode: own(outText(), 'currency'),
  Date: own(outDate('Instant'), 'paidAt'),
  Memo: own(orNull(outText()), 'memo'),
  Ref: own(orNull(outText()), 'ref'),
  Method: own(outWord(METHODS), 'method'),
  Status: [outWord(GIVEN_STATUSES), paymentStatus],
  Allocations: allocationsOfGiven('paymentID'),
})

/** Tax that a note takes back, in its currency. */
type TakenOf = TaxOfNote & { currency: string }

const takenTax = recordShape<TakenOf>()(undefined, {
  invoiceID: [outId(), ({ invoiceId }) => invoiceId],
  Name: [outText(), ({ name }) => name],
  Perc: [outNumber(), ({ rate }) => decimalDigits(rate)],
  Category: [orNull(outWord(TAX_CATEGORIES)), ({ category }) => category],
  Base: amountColumn(({ baseMinor }) => baseMinor, 'What of the invoice the tax was charged on'),
  TaxAmount: amountMinor,
})

const correctedLine = recordShape<CorrectedLine & { currency: string }>()(undefined, {
  chargeID: [outId(), ({ chargeId }) => chargeId],
  Name: [outText(), ({ name }) => name],
  AmountEx: amountColumn(({ netMinor }) => netMinor),
})

const inCurrencyOf = <Part>(parts: readonly Part[], currency: string) => parts.map((part) => ({ ...part, currency }))

export const creditNoteShape = recordShape<NegativeRecord>()('CreditNote', {
  creditNoteID: [outId(), ({ id }) => id],
  customerID: [outId(), ({ customerId }) => customerId],
  Status: [outWord(GIVEN_STATUSES), allocatedStatus],
  Date: dated,
  CurrencyCode: [outText(), ({ currency }) => currency],
  Amount: amountMinor,
  CreditNumber: [outText(), ({ ref }) => ref ?? ''],
  Memo: [orNull(outText()), ({ memo }) => memo],
  Reason: [orNull(outText({ description: 'Why it was made' })), ({ reason }) => reason],
  invoiceID: [
    orNull(outId('The only invoice that it corrects; null where it corrects none, or several')),
    ({ settlements }) => onlyInvoiceOf(settlements),
  ],
  TotalEx: amountColumn(
    (note) => note.amountMinor - taxesTaken(note.settlements),
    'Amount less the taxes that it takes back of the invoices that it corrects',
  ),
  TotalTax: amountColumn(({ settlements }) => taxesTaken(settlements)),
  Taxes: recordsColumn(takenTax, ({ settlements, currency }) => inCurrencyOf(takenTaxes(settlements), currency)),
  Lines: recordsColumn(correctedLine, ({ lines, currency }) => inCurrencyOf(lines, currency)),
  Unsettled: amountColumn<NegativeRecord>(unsettledMinor, 'What of it corrects no invoice'),
  isClosed: [outFlag(), ({ closedAt }) => closedAt !== null],
  isSent: [outFlag(), ({ sentAt }) => sentAt !== null],
  DateSent: [orNull(outDate('Instant at which it was first sent')), ({ sentAt }) => sentAt],
  Allocations: allocationsOfGiven('creditNoteID'),
})

/** A credit note made for an invoice, with the refund of what was left of it. */
export const invoiceCreditShape = recordShape<NegativeRecord & { refundAdjustmentId: Id | null }>()('InvoiceCredit', {
  ...creditNoteShape.columns,
  refundAdjustmentID: [
    orNull(outId('The refund that takes what was left of it; null without one')),
    ({ refundAdjustmentId }) => refundAdjustmentId,
  ],
})

type PreviewedCredit = NegativeRecord & { refundAdjustmentId: Id | null }
const NOT_YET: Column<unknown, bigint | null> = [orNull(outId('Null: nothing has it yet')), () => null]

/** A credit note that is not made: what would be drawn for it is null, its number where none was sent. */
export const invoiceCreditPreviewShape = recordShape<PreviewedCredit>()('InvoiceCreditPreview', {
  ...creditNoteShape.columns,
  creditNoteID: NOT_YET,
  CreditNumber: [orNull(outText({ description: 'As it was sent, else null' })), ({ ref }) => ref],
  Allocations: recordsColumn(
    recordShape<AllocationOf & { isOfRefund: boolean }>()(undefined, {
      allocationID: NOT_YET,
      amountApplied: amountMinor,
      invoiceID: toInvoice,
      positiveAdjustmentID: [
        orNull(outId('0 where it is to an invoice; null where it is to the refund')),
        (allocation) => (allocation.isOfRefund ? null : toPositive[1](allocation, NO_READER)),
      ],
      creditNoteID: NOT_YET,
    }),
    (note: PreviewedCredit) =>
      allocationsOf(note).map((allocation) => ({
        ...allocation,
        isOfRefund: allocation.owedKind === 'positive_adjustment' && allocation.owedId === note.refundAdjustmentId,
      })),
  ),
  refundAdjustmentID: NOT_YET,
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
  TaxReliefDate: optionalDayColumn(({ reliefDate }) => reliefDate),
  Reason: [orNull(outText({ description: 'Why a credit note was made; null of a bad debt' })), ({ reason }) => reason],
  isClosed: [outFlag(), ({ closedAt }) => closedAt !== null],
  isSent: [outFlag(), ({ sentAt }) => sentAt !== null],
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

/** Fields that events keep of an allocation that the service made or took away automatically. */
export const allocationEventShape = recordShape<AllocationOf>()(undefined, {
  allocationID: [outId(), ({ id }) => id],
  paymentID: ofGiven('payment', 'negative adjustment'),
  NegativeAdjustmentID: ofGiven('negative_adjustment', 'payment'),
  invoiceID: toInvoice,
  positiveAdjustmentID: toPositive,
  amountApplied: amountMinor,
  isServiceMade: [outFlag(), ({ isServiceMade }) => isServiceMade],
})
