import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { amountColumn, own, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, flag, guid, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  type Field,
  listOf,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import { reference } from '../../platform/wire/fields.ts'
import { orNull, outId } from '../../platform/wire/write.ts'
import { ALLOCATIONS_MAX, invoiceNumber, positiveAmount, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import { METHODS } from '../money/payment-queries.ts'
import type { PaymentRecord } from '../money/records.ts'
import type { AskedEntry, EntryNames } from '../money/types.ts'
import { type AllocationOf, paymentShape } from '../money/shapes.ts'

/** Lines of batches in bodies and answers: payments, with the interface's own names for what they pay. */

const appliedShape = recordShape<AllocationOf>()(undefined, {
  allocationID: [outId(identifies('allocation')), ({ id }) => id],
  invoiceID: [
    outId('0 where it is to a positive adjustment'),
    ({ owedKind, owedId }) => (owedKind === 'invoice' ? owedId : 0n),
  ],
  invoiceNum: own(orNull(outId(SHARED.invoiceNum)), 'invoiceNumber'),
  paymentID: [outId(identifies('payment')), ({ givenId }) => givenId],
  amount: amountColumn(({ amountMinor }) => amountMinor, 'How much of the payment goes to the invoice.'),
})

const { Allocations: _allocations, ...ofPayment } = paymentShape.columns

export const lineShape = recordShape<PaymentRecord>()('BatchPayment', {
  ...ofPayment,
  Amount: described(ofPayment['Amount']!, 'The amount that is debited.'),
  Date: described(ofPayment['Date']!, 'The day of the debit.'),
  Status: described(
    ofPayment['Status']!,
    'How much of the payment is allocated: all, a part or nothing; Pending until its result is known, Failed without money.',
  ),
  PaymentApplied: recordsColumn(
    appliedShape,
    ({ allocations, currency }) => allocations.map((allocation) => ({ ...allocation, currency })),
    'The invoices that the payment pays, and how much of each.',
  ),
})

const entry = {
  allocationID: optional(reference(), identifies('allocation'), LEFT_OUT.allocation),
  amount: required(positiveAmount(), 'How much of the payment goes to the invoice, over 0.', ['amountApplied']),
  invoiceID: optional(reference(), identifies('invoice'), 'Left out, invoiceNumber names the invoice.'),
  invoiceNumber: optional(
    invoiceNumber(),
    'The number of the invoice, where invoiceID is not given.',
    'Left out, invoiceID names the invoice, which counts before it.',
  ),
} satisfies Properties

const EntryIn = objectOf(entry, { name: 'PaymentAppliedInput', ignored: ['paymentID', 'invoiceNum'] })

const inputs = {
  BatchToken: required(guid(), 'The token by which requests name the batch.'),
  customerID: required(requiredReference(), identifies('customer')),
  Amount: required(positiveAmount(), 'The amount that is debited.'),
  Ref: optional(text(), SHARED.Ref, LEFT_OUT.none),
  Memo: optional(longText(), SHARED.Memo, LEFT_OUT.none),
  isAutoApply: optional(flag(), SHARED.AutoApply, LEFT_OUT.false, ['AutoApply']),
  PaymentApplied: optional(
    described(
      listOf(EntryIn, { max: ALLOCATIONS_MAX, what: 'allocations' }),
      'Required unless isAutoApply is true; may be empty',
    ),
    'The invoices that the payment pays, and how much of each.',
    undefined,
    ['allocations', 'Allocations'],
  ),
} satisfies Properties

const COMPUTED = ['Status']

const newInputs = {
  ...inputs,
  paymentMethodID: required(requiredReference(), identifies('payment method')),
} satisfies Properties
const editInputs = {
  paymentID: required(requiredReference(), identifies('payment')),
  ...whenLeftOut(inputs, { Ref: LEFT_OUT.cleared, Memo: LEFT_OUT.cleared }),
  paymentMethodID: optional(reference(), 'The bank account that is debited.', LEFT_OUT.kept),
  CurrencyCode: optional(currencyCode(), 'The currency of the batch; another one is 400.', LEFT_OUT.kept),
  Method: optional(
    word(METHODS, { anyCase: true }),
    'The way of the debit; the payment method decides it.',
    LEFT_OUT.kept,
  ),
} satisfies Properties

const withoutList = <T>(body: Field<T>): Field<T> => withoutListWhereAutoApply(body)

export const NewLineIn = withoutList(
  objectOf(newInputs, {
    name: 'BatchPaymentAdd',
    ignored: ['paymentID', 'CurrencyCode', 'Date', 'Method', ...COMPUTED],
  }),
)
/** The date is that of the batch: one that is sent is ignored. */
export const LineIn = withoutList(objectOf(editInputs, { name: 'BatchPaymentEdit', ignored: ['Date', ...COMPUTED] }))

type NewLineBody = BodyOf<typeof newInputs>
export type LineBody = BodyOf<typeof editInputs>
/** The fields that a body for a new line and one for an edit have in common. */
export type AnyLineBody = Omit<Partial<NewLineBody>, 'paymentMethodID'> & { paymentMethodID?: bigint | null }

export const LINE_NAMES: EntryNames = {
  list: 'PaymentApplied',
  amount: 'amount',
  invoice: 'invoiceID',
  number: 'invoiceNumber',
  positive: 'invoiceID',
}

export const appliedFromWire = (entries: readonly BodyOf<typeof entry>[]): AskedEntry[] =>
  entries.map((one) => ({
    allocationId: one.allocationID ?? null,
    invoiceId: one.invoiceID ?? null,
    invoiceNumber: one.invoiceNumber ?? null,
    positiveAdjustmentId: null,
    amount: one.amount,
  }))
