import { filter, LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { NEGATIVE_KINDS, type NegativeKind, POSITIVE_KINDS, type PositiveKind } from '../../engine/money/postings.ts'
import type { Writing } from '../../kernel/context.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { amountColumn, dayColumn, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { date, flag, longText, reference, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import { orNull, outDate, outFlag, outId, outObject, outText, outWord } from '../../platform/wire/write.ts'
import type { ListedAdjustment } from '../money/adjustment-queries.ts'
import {
  creditedInvoice,
  creditReason,
  type LinkedEntry,
  linkedAllocationsIn,
  positiveAmount,
  withoutListWhereAutoApply,
} from '../money/allocation-wire.ts'
import { moneyEtag, type PositiveRecord } from '../money/records.ts'
import type { AskedEntry, NegativeRecord } from '../money/types.ts'
import { negativeShape, positiveShape } from '../money/shapes.ts'

export const TYPES = ['positive', 'negative'] as const
export type AdjustmentType = (typeof TYPES)[number]
const KINDS = [...POSITIVE_KINDS, ...NEGATIVE_KINDS] as const
export type AdjustmentKind = PositiveKind | NegativeKind

const isPositiveKind = (kind: AdjustmentKind): kind is PositiveKind => POSITIVE_KINDS.some((one) => one === kind)
/** Returns the side that a kind is on. */
export const typeOf = (kind: AdjustmentKind): AdjustmentType => (isPositiveKind(kind) ? 'positive' : 'negative')

export type AdjustmentRecord = PositiveRecord | NegativeRecord
export const isPositive = (record: AdjustmentRecord): record is PositiveRecord => isPositiveKind(record.kind)

/** Changes with whatever a PUT would replace, and not with the passing of time. */
export const adjustmentEtag = (record: AdjustmentRecord): string =>
  isPositive(record) ? moneyEtag(positiveShape, record) : moneyEtag(negativeShape, record)

export const adjustmentShape = recordShape<AdjustmentRecord>()('AdjustmentAnswer', {
  isSuccess: [outFlag('Always true: a request that fails is answered by its status.'), () => true],
  adjustment: [
    described(
      { schema: { anyOf: [positiveShape.schema, negativeShape.schema] }, write: (text: string) => text },
      'The adjustment; null where there is none.',
    ),
    (record, writing) =>
      isPositive(record) ? positiveShape.write(record, writing) : negativeShape.write(record, writing),
  ],
  type: [outWord(TYPES, 'The side of the adjustment.'), ({ kind }) => typeOf(kind)],
})

export const AddedOut = outObject(
  {
    isSuccess: outFlag('Always true: a request that fails is answered by its status.'),
    AdjustmentID: outId(identifies('adjustment')),
    Type: outWord(TYPES, 'The side to which the adjustment was added.'),
  },
  'AdjustmentAdded',
)

const listedShape = recordShape<ListedAdjustment>()(undefined, {
  adjustmentID: [outId(identifies('adjustment')), ({ id }) => id],
  customerID: [outId(identifies('customer')), ({ customerId }) => customerId],
  Date: dayColumn(({ dated }) => dated, 'The day of the adjustment.'),
  DueDate: [
    orNull(outDate('Calendar date; of positive ones only')),
    ({ dueDate }, { timeZone }) => (dueDate === null ? null : dateWithOffset(dueDate, timeZone)),
  ],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ currency }) => currency],
  Amount: amountColumn(({ amountMinor }) => amountMinor, 'The amount of the adjustment, over 0 on either side.'),
  Ref: [orNull(outText(SHARED.Ref)), ({ ref }) => ref],
  Memo: [orNull(outText(SHARED.Memo)), ({ memo }) => memo],
  AdjustmentType: [outWord(KINDS, 'The kind of adjustment.'), ({ kind }) => kind],
  Type: [
    outWord(TYPES, 'Whether it adds to what the customer owes (positive) or takes from it (negative).'),
    ({ type }) => type,
  ],
})

const pageShape = recordShape<{ rows: readonly ListedAdjustment[] }>()('AdjustmentList', {
  isSuccess: [outFlag('Always true: a request that fails is answered by its status.'), () => true],
  adjustments: recordsColumn(listedShape, ({ rows }) => rows, 'The adjustments, oldest first.'),
})

/** Adjustments of both kinds; a page of them is an object that holds the list. */
export const adjustmentsShape = {
  list: {
    schema: pageShape.schema,
    bytes: (rows: readonly ListedAdjustment[], writing: Writing) => Buffer.from(pageShape.write({ rows }, writing)),
  },
}

/** Other names of a record's own identifier. */
const IDENTIFIERS = ['AdjustmentID', 'positiveAdjustmentID', 'NegativeAdjustmentID'] as const

const typeWord = () => word(TYPES, { anyCase: true })

const LIST_TYPES = [...TYPES, 'all'] as const
export const listFilters = {
  type: required(
    word(LIST_TYPES, { anyCase: true }),
    'The side of the adjustment: positive adds to what the customer owes, negative takes from it.',
    ['Type'],
  ),
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  AdjustmentType: filter(word(KINDS, { anyCase: true }), 'adjustments of this kind'),
  Ref: filter(text({ takesNumbers: true }), 'records with this Ref'),
} satisfies Properties

export const GetQuery = objectOf({
  type: required(
    typeWord(),
    'The side of the adjustment: positive adds to what the customer owes, negative takes from it.',
    ['Type'],
  ),
  adjustmentID: required(requiredReference(), identifies('adjustment'), [...IDENTIFIERS]),
  customerID: required(requiredReference(), identifies('customer')),
})

/** Names of what is deleted: the interface leaves open where they stand, so query and body both do. */
const naming = {
  type: optional(typeWord(), 'The side of the adjustment: positive or negative.', LEFT_OUT.fromQuery, ['Type']),
  adjustmentID: optional(reference(), identifies('adjustment'), LEFT_OUT.fromQuery, [...IDENTIFIERS]),
  customerID: optional(reference(), identifies('customer'), LEFT_OUT.fromQuery),
} satisfies Properties
const FROM_BODY = 'Left out, the body names it.'
export const Naming = objectOf({
  type: described(naming.type, 'The side of the adjustment.', FROM_BODY),
  adjustmentID: described(naming.adjustmentID, identifies('adjustment'), FROM_BODY),
  customerID: described(naming.customerID, 'The customer of the adjustment.', FROM_BODY),
})
export const NamingIn = objectOf(naming, { name: 'AdjustmentChoice' })
export type NamingBody = BodyOf<typeof naming>

const common = {
  AdjustmentType: required(word(KINDS, { anyCase: true }), undefined, [
    'positiveAdjustmentType',
    'NegativeAdjustmentType',
  ]),
  customerID: required(requiredReference(), identifies('customer')),
  Type: required(typeWord(), undefined, ['type']),
  Amount: required(positiveAmount(), 'The amount of the adjustment, over 0 on either side.'),
  Date: required(date(), SHARED.BookedDate),
  DueDate: optional(
    date(),
    'The day until which a positive adjustment is to be paid, not before Date. Required of positive ones, and only of them.',
    'Left out of a negative one.',
  ),
  Memo: optional(longText(), 'A note of your own. On a credit note without a Reason it is printed.', LEFT_OUT.none),
  TaxReliefDate: optional(
    date(),
    'The day on which the tax of the bad debt is taken back; null where it is not.',
    'Left out, the tax of a bad debt is not taken back.',
  ),
} satisfies Properties

/** Computed fields, ignored where a record that was read is sent back. */
const ignored = ['CurrencyCode', 'Status', 'isActive', 'isSuccess', 'isClosed', 'isSent']

const adding = {
  ...common,
  AdjustmentType: described(
    common.AdjustmentType,
    'The kind of adjustment: opening_balance, refund and interest are positive, credit_note and bad_debt negative.',
  ),
  Type: described(common.Type, 'The side: positive adds to what the customer owes, negative takes from it.'),
  Ref: required(text(), 'A reference of your own; of a credit note its number.'),
  AutoApply: optional(flag(), SHARED.AutoApply, LEFT_OUT.false, ['isAutoApply']),
  invoiceID: creditedInvoice(),
  Reason: leftOut(creditReason(), LEFT_OUT.none),
  Allocations: optional(linkedAllocationsIn(), undefined, undefined, ['allocations', 'LinkedAllocations']),
} satisfies Properties
export const AddIn = withoutListWhereAutoApply(
  objectOf(adding, { name: 'AdjustmentAdd', ignored: [...ignored, 'adjustmentID', ...IDENTIFIERS] }),
)
export type AddBody = BodyOf<typeof adding>

const editing = {
  ...whenLeftOut(common, {
    Memo: 'Left out, it is cleared; that of a note that was sent stays.',
    TaxReliefDate: 'Left out, it stays as it is; null ends the relief.',
  }),
  AdjustmentType: described(common.AdjustmentType, 'The kind of the adjustment, which an edit cannot change.'),
  Type: described(common.Type, 'The side of the adjustment, which an edit cannot change.'),
  AdjustmentID: required(requiredReference(), identifies('adjustment that is edited'), [
    'adjustmentID',
    ...IDENTIFIERS.slice(1),
  ]),
  Ref: optional(
    text(),
    'A reference of your own; of a credit note its number.',
    'Left out, that of a credit note stays, and any other is cleared.',
  ),
  isAutoApply: optional(flag(), SHARED.AutoApply, LEFT_OUT.false, ['AutoApply']),
  Reason: leftOut(creditReason(), LEFT_OUT.kept),
  LinkedAllocations: optional(linkedAllocationsIn(), undefined, undefined, ['Allocations', 'allocations']),
} satisfies Properties
export const EditIn = withoutListWhereAutoApply(
  objectOf(editing, { name: 'AdjustmentEdit', ignored: [...ignored, 'invoiceID'] }),
)
export type EditBody = BodyOf<typeof editing>

/** Fields of a record itself, in both bodies. */
export type CommonBody = BodyOf<typeof common>

/** Returns the names of a list of linked allocations under the key that this operation documents. */
export const linkedNames = (list: 'Allocations' | 'LinkedAllocations') => ({
  list,
  amount: 'AmtAllocated',
  invoice: 'objectID',
  number: null,
  positive: 'objectID',
})

/** Returns the allocations of a negative adjustment: to invoices, or to positive adjustments. */
export const owedEntries = (entries: readonly LinkedEntry[]): AskedEntry[] =>
  entries.map((entry) => ({
    allocationId: entry.allocationID ?? null,
    invoiceId: entry.isAdjustment === true ? null : (entry.objectID ?? null),
    invoiceNumber: null,
    positiveAdjustmentId: entry.isAdjustment === true ? (entry.objectID ?? null) : null,
    amount: entry.AmtAllocated,
  }))
