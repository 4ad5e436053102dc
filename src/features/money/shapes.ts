import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { NEGATIVE_KINDS, POSITIVE_KINDS } from '../../engine/money/postings.ts'
import { positiveStatus } from '../../engine/status.ts'
import type { Writing } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import {
  amountColumn,
  answeredOnly,
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
  outInstant,
  outNumber,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import type { PositiveAdjustment } from './adjustment-queries.ts'
import { onlyInvoiceOf, taxesTaken } from './corrected.ts'
import { takenTaxes, type TaxOfNote, unsettledMinor } from './note-paper.ts'
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
/** The number of the invoice beside its identifier: answers have it, and what is recorded does not. */
const invoiceNumber = answeredOnly(own(orNull(outId(SHARED.invoiceNum)), 'invoiceNumber'))
const toPositive = toOwed('positive_adjustment', 'an invoice')
const ofGiven = (kind: GivenKind, otherwise: string): Column<AllocationState, bigint> => [
  outId(`0 where it is of a ${otherwise}`),
  (allocation) => (allocation.givenKind === kind ? allocation.givenId : 0n),
]

const allocationsOf = ({ currency, allocations }: Allocated<{ currency: string }>): AllocationOf[] =>
  allocations.map((allocation) => ({ ...allocation, currency }))

/** Declares the allocations of money given, each with the identifier of the record under its own name. */
const allocationsOfGiven = (own: 'paymentID' | 'creditNoteID', name: string) =>
  recordsColumn(
    recordShape<AllocationOf>()(undefined, {
      allocationID: [outId(identifies('allocation')), ({ id }) => id],
      amountApplied: described(amountMinor, 'How much of the money goes to this record.'),
      invoiceID: toInvoice,
      invoiceNum: invoiceNumber,
      positiveAdjustmentID: toPositive,
      [own]: [outId(identifies(name)), ({ givenId }: AllocationOf) => givenId],
    }),
    allocationsOf,
  )

/** Declares an allocation of an adjustment, with the identifier and the kind of its other side. */
const allocationOfAdjustment = (
  otherSide: (allocation: AllocationOf) => bigint,
  isAdjustment: (allocation: AllocationOf) => boolean,
) =>
  recordShape<AllocationOf>()(undefined, {
    allocationID: [outId(identifies('allocation')), ({ id }) => id],
    objectID: [outId('What is on the other side: of which kind, isAdjustment says'), otherSide],
    invoiceNum: invoiceNumber,
    amountApplied: described(amountMinor, 'How much of the money goes to this record.'),
    isAdjustment: [
      outFlag('Whether objectID names an adjustment; else it names an invoice, or of a positive adjustment a payment.'),
      isAdjustment,
    ],
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
  paymentID: own(outId(identifies('payment')), 'id'),
  customerID: own(outId(identifies('customer')), 'customerId'),
  Amount: described(amountMinor, 'The amount that was paid.'),
  CurrencyCode: own(outText(SHARED.CurrencyCode), 'currency'),
  Date: own(outInstant('When the money came.'), 'paidAt'),
  Memo: own(orNull(outText(SHARED.Memo)), 'memo'),
  Ref: own(orNull(outText(SHARED.Ref)), 'ref'),
  Method: own(outWord(METHODS, 'The way in which the money came.'), 'method'),
  Status: [
    outWord(
      GIVEN_STATUSES,
      'How much of the payment is allocated: all, a part or nothing; Pending until its money is sure, Failed without money.',
    ),
    paymentStatus,
  ],
  transactionID: own(orNull(outText(SHARED.transactionID)), 'transactionId'),
  Allocations: described(allocationsOfGiven('paymentID', 'payment'), SHARED.Allocations),
})

/** Tax that a note takes back, in its currency. */
type TakenOf = TaxOfNote & { currency: string }

const takenTax = recordShape<TakenOf>()(undefined, {
  invoiceID: [outId(identifies('invoice')), ({ invoiceId }) => invoiceId],
  invoiceNum: invoiceNumber,
  Name: [outText(SHARED.TaxName), ({ name }) => name],
  Perc: [outNumber(SHARED.Perc), ({ rate }) => decimalDigits(rate)],
  Category: [orNull(outWord(TAX_CATEGORIES, SHARED.Category)), ({ category }) => category],
  Base: amountColumn(({ baseMinor }) => baseMinor, 'What of the invoice the tax was charged on'),
  TaxAmount: described(amountMinor, 'The amount of the tax.'),
})

const correctedLine = recordShape<CorrectedLine & { currency: string }>()(undefined, {
  chargeID: [outId(identifies('charge, a line of an invoice')), ({ chargeId }) => chargeId],
  Name: [outText(SHARED.LineName), ({ name }) => name],
  AmountEx: amountColumn(({ netMinor }) => netMinor, SHARED.AmountEx),
})

const inCurrencyOf = <Part>(parts: readonly Part[], currency: string) => parts.map((part) => ({ ...part, currency }))

export const creditNoteShape = recordShape<NegativeRecord>()('CreditNote', {
  creditNoteID: [outId(identifies('credit note')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  Status: [outWord(GIVEN_STATUSES, 'How much of the note is allocated: all, a part or nothing.'), allocatedStatus],
  Date: described(dated, 'The day of the note.'),
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Amount: described(amountMinor, SHARED.NoteAmount),
  CreditNumber: [outText(SHARED.CreditNumber), ({ ref }) => ref ?? ''],
  Memo: [orNull(outText('A note of your own. Where the credit note has no Reason it is printed.')), ({ memo }) => memo],
  Reason: [orNull(outText('Why it was made')), ({ reason }) => reason],
  invoiceID: [
    orNull(outId('The only invoice that it corrects; null where it corrects none, or several')),
    ({ settlements }) => onlyInvoiceOf(settlements)?.invoiceId ?? null,
  ],
  invoiceNum: answeredOnly([
    orNull(outId('The number of that invoice; null where there is none.')),
    ({ settlements }) => onlyInvoiceOf(settlements)?.invoiceNumber ?? null,
  ]),
  TotalEx: amountColumn(
    (note) => note.amountMinor - taxesTaken(note.settlements),
    'Amount less the taxes that it takes back of the invoices that it corrects',
  ),
  TotalTax: amountColumn(({ settlements }) => taxesTaken(settlements), 'The sum of all taxes.'),
  Taxes: recordsColumn(
    takenTax,
    ({ settlements, currency }) => inCurrencyOf(takenTaxes(settlements), currency),
    SHARED.Taxes,
  ),
  Lines: recordsColumn(
    correctedLine,
    ({ lines, currency }) => inCurrencyOf(lines, currency),
    'The lines of invoices that the note gives back; empty where it takes a part of a total.',
  ),
  Unsettled: amountColumn<NegativeRecord>(unsettledMinor, 'What of it corrects no invoice'),
  isClosed: [outFlag('Whether what it corrects is fixed.'), ({ closedAt }) => closedAt !== null],
  isSent: [
    outFlag('Whether the document was sent to the customer, by mail or otherwise.'),
    ({ sentAt }) => sentAt !== null,
  ],
  DateSent: [orNull(outDate('Instant at which it was first sent')), ({ sentAt }) => sentAt],
  Allocations: described(allocationsOfGiven('creditNoteID', 'credit note'), SHARED.Allocations),
})

/** A credit note made for an invoice, with the refund of what was left of it. */
export const invoiceCreditShape = recordShape<NegativeRecord & { refundAdjustmentId: Id | null }>()('InvoiceCredit', {
  ...creditNoteShape.columns,
  Memo: described(creditNoteShape.columns['Memo']!, 'A note of your own.'),
  Lines: described(
    creditNoteShape.columns['Lines']!,
    'The lines of the invoice that the note gives back; empty where it takes a part of the total.',
  ),
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
  Status: described(
    creditNoteShape.columns['Status']!,
    'How much of the note would be allocated: all, a part or nothing.',
  ),
  Amount: described(creditNoteShape.columns['Amount']!, 'The amount that the note would have, taxes included.'),
  Memo: described(creditNoteShape.columns['Memo']!, 'A note of your own.'),
  Lines: described(
    creditNoteShape.columns['Lines']!,
    'The lines of the invoice that the note would give back; empty where it takes a part of the total.',
  ),
  creditNoteID: NOT_YET,
  CreditNumber: [orNull(outText('As it was sent, else null')), ({ ref }) => ref],
  Allocations: recordsColumn(
    recordShape<AllocationOf & { isOfRefund: boolean }>()(undefined, {
      allocationID: NOT_YET,
      amountApplied: described(amountMinor, 'How much of the money goes to this record.'),
      invoiceID: toInvoice,
      invoiceNum: invoiceNumber,
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
    SHARED.Allocations,
  ),
  refundAdjustmentID: NOT_YET,
})

const LONG_WORDS = { Allocated: 'Allocated', Partial: 'Partially Allocated', Unallocated: 'Unallocated' } as const

export const negativeShape = recordShape<NegativeRecord>()('NegativeAdjustment', {
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  NegativeAdjustmentID: [outId(identifies('negative adjustment')), ({ id }) => id],
  NegativeAdjustmentType: [outWord(NEGATIVE_KINDS, 'The kind of negative adjustment.'), ({ kind }) => kind],
  Date: described(dated, 'The day of the adjustment.'),
  Amount: described(amountMinor, 'The amount of the adjustment.'),
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Status: [
    outWord(Object.values(LONG_WORDS), 'How much of it is allocated: all, a part or nothing.'),
    (negative) => LONG_WORDS[allocatedStatus(negative)],
  ],
  isActive: [outFlag('Always true: a deleted adjustment is not answered.'), () => true],
  isSuccess: [outFlag('Always true: a request that fails is answered by its status.'), () => true],
  Ref: [orNull(outText(SHARED.Ref)), ({ ref }) => ref],
  Memo: [orNull(outText(SHARED.Memo)), ({ memo }) => memo],
  TaxReliefDate: optionalDayColumn(
    ({ reliefDate }) => reliefDate,
    'The day on which the tax of the bad debt is taken back; null where it is not.',
  ),
  Reason: [orNull(outText('Why a credit note was made; null of a bad debt')), ({ reason }) => reason],
  isClosed: [outFlag('Whether what it corrects is fixed; false of a bad debt.'), ({ closedAt }) => closedAt !== null],
  isSent: [
    outFlag('Whether the document was sent to the customer, by mail or otherwise.'),
    ({ sentAt }) => sentAt !== null,
  ],
  allocations: recordsColumn(
    allocationOfNegative,
    allocationsOf,
    'What the adjustment is allocated to, and how much of it.',
  ),
})

/** Chooses how events show a negative adjustment: a credit note as `/v1/credits` answers it, a bad debt as `/v1/adjustment/get` does. */
export const negativeEventShape = ({ kind }: Pick<NegativeRecord, 'kind'>) =>
  kind === 'credit_note' ? creditNoteShape : negativeShape

export const positiveShape = recordShape<PositiveRecord>()('PositiveAdjustment', {
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  positiveAdjustmentID: [outId(identifies('positive adjustment')), ({ id }) => id],
  positiveAdjustmentType: [outWord(POSITIVE_KINDS, 'The kind of positive adjustment.'), ({ kind }) => kind],
  Date: described(dated, 'The day of the adjustment.'),
  DueDate: dayColumn(({ dueDate }) => dueDate, SHARED.DueDate),
  Amount: described(amountMinor, 'The amount of the adjustment.'),
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Status: [
    outWord(
      ['Paid', 'Partially Paid', 'Unpaid', 'Past Due'],
      'How much of it is paid: all, a part or nothing; Past Due after its due date.',
    ),
    (positive, { today }) =>
      positiveStatus({ ...positive, coveredMinor: positive.paidMinor + positive.negativeMinor, today }),
  ],
  isActive: [outFlag('Always true: a deleted adjustment is not answered.'), () => true],
  isSuccess: [outFlag('Always true: a request that fails is answered by its status.'), () => true],
  Ref: [orNull(outText(SHARED.Ref)), ({ ref }) => ref],
  Memo: [orNull(outText(SHARED.Memo)), ({ memo }) => memo],
  allocations: recordsColumn(
    allocationOfPositive,
    allocationsOf,
    'What the adjustment is allocated to, and how much of it.',
  ),
})

/** Writes a positive adjustment in pieces while its allocations arrive: as it is answered, or as it is recorded. */
export const positivePieces = (
  as: 'answered' | 'recorded',
  row: PositiveAdjustment,
  allocations: AsyncIterable<readonly AllocationState[]>,
  writing: Writing,
) => {
  const [whole, one] =
    as === 'answered' ? [positiveShape, allocationOfPositive] : [positiveShape.recorded, allocationOfPositive.recorded]
  return whole.pieces({ ...row, allocations: [] }, writing, {
    allocations: one.list.pieces(inCurrency(allocations, row.currency), writing),
  })
}

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
