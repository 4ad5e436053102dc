import { amountColumn, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, flag, guid, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  described,
  type Field,
  listOf,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import { reference } from '../../platform/wire/fields.ts'
import { outId } from '../../platform/wire/write.ts'
import { ALLOCATIONS_MAX, invoiceNumber, positiveAmount, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import { METHODS } from '../money/payment-queries.ts'
import type { PaymentRecord } from '../money/records.ts'
import type { AskedEntry, EntryNames } from '../money/types.ts'
import { type AllocationOf, paymentShape } from '../money/shapes.ts'

/** Lines of batches in bodies and answers: payments, with the interface's own names for what they pay. */

const appliedShape = recordShape<AllocationOf>()(undefined, {
  allocationID: [outId(), ({ id }) => id],
  invoiceID: [
    outId('0 where it is to a positive adjustment'),
    ({ owedKind, owedId }) => (owedKind === 'invoice' ? owedId : 0n),
  ],
  paymentID: [outId(), ({ givenId }) => givenId],
  amount: amountColumn(({ amountMinor }) => amountMinor),
})

const { Allocations: _allocations, ...ofPayment } = paymentShape.columns

export const lineShape = recordShape<PaymentRecord>()('BatchPayment', {
  ...ofPayment,
  PaymentApplied: recordsColumn(appliedShape, ({ allocations, currency }) =>
    allocations.map((allocation) => ({ ...allocation, currency })),
  ),
})

const entry = {
  allocationID: optional(reference()),
  amount: required(positiveAmount(), 'amountApplied'),
  invoiceID: optional(reference()),
  invoiceNumber: optional(invoiceNumber()),
} satisfies Properties

const EntryIn = objectOf(entry, { name: 'PaymentAppliedInput', ignored: ['paymentID'] })

const inputs = {
  BatchToken: required(guid()),
  customerID: required(requiredReference()),
  Amount: required(positiveAmount()),
  Ref: optional(text()),
  Memo: optional(longText()),
  isAutoApply: optional(flag(), 'AutoApply'),
  PaymentApplied: optional(
    described(
      listOf(EntryIn, { max: ALLOCATIONS_MAX, what: 'allocations' }),
      'Required unless isAutoApply is true; may be empty',
    ),
    'allocations',
    'Allocations',
  ),
} satisfies Properties

const COMPUTED = ['Status']

const newInputs = { ...inputs, paymentMethodID: required(requiredReference()) } satisfies Properties
const editInputs = {
  paymentID: required(requiredReference()),
  ...inputs,
  paymentMethodID: optional(reference()),
  CurrencyCode: optional(currencyCode()),
  Method: optional(word(METHODS, { anyCase: true })),
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
