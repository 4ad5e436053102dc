import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { identifies } from '../../platform/wire/shared-sentences.ts'
import { ZERO } from '../../kernel/decimal.ts'
import { decimalField, flag, reference, text } from '../../platform/wire/fields.ts'
import { isJsonObject, JsonNumber } from '../../platform/wire/json.ts'
import {
  type BodyOf,
  type Field,
  listOf,
  objectOf,
  optional,
  type Properties,
  required,
} from '../../platform/wire/read.ts'
import type { AskedEntry, EntryNames } from './types.ts'

/** Lists of allocations, and what else bodies of money given carry at several doors. */

/** Most allocations that a record may have. */
export const ALLOCATIONS_MAX = 1000

/** Declares an amount that is given or allocated: over 0; its decimals are checked against its currency elsewhere. */
export const positiveAmount = () => decimalField({ min: ZERO, isMinOpen: true, decimalsMax: 8 })

/** Declares an invoice number, which some clients send as text. */
export const invoiceNumber = (): Field<bigint | null> => {
  const plain = reference()
  return {
    ...plain,
    schema: { ...plain.schema, type: ['integer', 'string'] },
    read: (value, path, context) =>
      plain.read(
        typeof value === 'string' && /^\s*\d{1,30}\s*$/.test(value) ? new JsonNumber(value.trim()) : value,
        path,
        context,
      ),
  }
}

/** Declares the invoice for which a new credit note is made. */
export const creditedInvoice = () =>
  optional(
    described(
      reference(),
      'Invoice that a new credit note corrects: it is settled for it whole, and closed. Left out: it settles what its allocations raise',
    ),
  )

/** Declares why a credit note is made. */
export const creditReason = () => optional(text({ description: 'Why it was made' }))

const entry = {
  allocationID: optional(reference(), identifies('allocation'), LEFT_OUT.allocation),
  amountApplied: required(positiveAmount(), 'How much of the money goes to this record, over 0.', ['AmtAllocated']),
  invoiceID: optional(
    reference(),
    identifies('invoice'),
    'Left out, invoiceNumber names the invoice, or positiveAdjustmentID the adjustment.',
  ),
  invoiceNumber: optional(
    invoiceNumber(),
    'The number of the invoice, where invoiceID is not given.',
    'Left out, invoiceID names the invoice, which counts before it.',
  ),
  positiveAdjustmentID: optional(
    reference(),
    identifies('positive adjustment'),
    'Left out, the entry is about an invoice.',
  ),
} satisfies Properties

const EntryIn = objectOf(entry, { name: 'AllocationInput', ignored: ['paymentID', 'creditNoteID', 'invoiceNum'] })

const listOfAllocations = <T>(item: Field<T>, whenRequired: string): Field<T[]> =>
  described(listOf(item, { max: ALLOCATIONS_MAX, what: 'allocations' }), whenRequired)

/** Declares the list as payments and credit notes take it. */
export const allocationsIn = (whenRequired = 'Required unless AutoApply is true; may be empty') =>
  listOfAllocations(EntryIn, whenRequired)

export const ENTRY_NAMES: EntryNames = {
  list: 'Allocations',
  amount: 'amountApplied',
  invoice: 'invoiceID',
  number: 'invoiceNumber',
  positive: 'positiveAdjustmentID',
}

export const entriesFromWire = (entries: readonly BodyOf<typeof entry>[]): AskedEntry[] =>
  entries.map((one) => ({
    allocationId: one.allocationID ?? null,
    invoiceId: one.invoiceID ?? null,
    invoiceNumber: one.invoiceNumber ?? null,
    positiveAdjustmentId: one.positiveAdjustmentID ?? null,
    amount: one.amountApplied,
  }))

const LISTS = ['Allocations', 'allocations', 'LinkedAllocations', 'PaymentApplied']

/**
 * Rule: where AutoApply is true the list is neither needed nor read, so nothing in it can be wrong; but that of a positive adjustment
 * names what pays it, whatever else may pay the rest.
 */
export const withoutListWhereAutoApply = <T>(body: Field<T>): Field<T> => ({
  ...body,
  read(value, path, context) {
    if (!isJsonObject(value) || (value['AutoApply'] !== true && value['isAutoApply'] !== true))
      return body.read(value, path, context)
    const type = value['Type'] ?? value['type']
    if (typeof type === 'string' && type.trim().toLowerCase() === 'positive') return body.read(value, path, context)
    const kept = Object.entries(value).filter(([name]) => !LISTS.includes(name))
    return body.read(Object.fromEntries(kept), path, context)
  },
})

const linkedEntry = {
  allocationID: optional(reference(), identifies('allocation'), LEFT_OUT.allocation),
  objectID: leftOut(
    optional(
      described(
        reference(),
        'The identifier of the invoice on the other side, or with isAdjustment that of the adjustment.',
      ),
    ),
    'Left out, the entry needs an allocationID.',
  ),
  AmtAllocated: required(positiveAmount(), 'How much of the adjustment goes to this record, over 0.', [
    'amountApplied',
  ]),
  isAdjustment: optional(
    flag(),
    'Whether objectID names an adjustment; else it names an invoice, or of a positive adjustment a payment.',
    LEFT_OUT.false,
  ),
} satisfies Properties

const LinkedEntryIn = objectOf(linkedEntry, { name: 'LinkedAllocationInput', ignored: ['invoiceNum'] })

/** Declares the list as adjustments take it: what is on the other side is named by its identifier and by whether it is an adjustment. */
export const linkedAllocationsIn = () =>
  listOfAllocations(LinkedEntryIn, 'Of a negative adjustment required unless AutoApply is true; may be empty')

export type LinkedEntry = BodyOf<typeof linkedEntry>
