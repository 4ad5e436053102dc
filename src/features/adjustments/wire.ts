import { positiveStatus } from '../../engine/status.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { NEGATIVE_KINDS, type NegativeKind, POSITIVE_KINDS, type PositiveKind } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { listQuery } from '../../platform/http/query.ts'
import { date, flag, longText, reference, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  minorDigits,
  orNull,
  outDate,
  outEither,
  outFlag,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { ListedAdjustment, PositiveAdjustment } from '../money/adjustment-queries.ts'
import {
  type LinkedEntry,
  linkedAllocationsIn,
  positiveAmount,
  withoutListWhereAutoApply,
} from '../money/allocation-wire.ts'
import type { AskedEntry } from '../money/choose.ts'
import { LinkedOut, NegativeOut, negativeToWire } from '../money/negative-wire.ts'
import type { NegativeRecord } from '../money/negatives.ts'

export const TYPES = ['positive', 'negative'] as const
export type AdjustmentType = (typeof TYPES)[number]
const KINDS = [...POSITIVE_KINDS, ...NEGATIVE_KINDS] as const
export type AdjustmentKind = PositiveKind | NegativeKind

const isPositiveKind = (kind: AdjustmentKind): kind is PositiveKind => POSITIVE_KINDS.some((one) => one === kind)
/** Which side a kind is on. */
export const typeOf = (kind: AdjustmentKind): AdjustmentType => (isPositiveKind(kind) ? 'positive' : 'negative')

/** A positive adjustment with what is allocated to it. */
export interface PositiveRecord {
  positive: PositiveAdjustment
  allocations: readonly AllocationState[]
}

export const PositiveOut = outObject(
  {
    customerID: outId(),
    positiveAdjustmentID: outId(),
    positiveAdjustmentType: outWord(POSITIVE_KINDS),
    Date: outDate('Calendar date'),
    DueDate: outDate('Calendar date'),
    Amount: outNumber(),
    CurrencyCode: outText(),
    Status: outWord(['Paid', 'Partially Paid', 'Unpaid', 'Past Due']),
    isActive: outFlag(),
    isSuccess: outFlag(),
    Ref: orNull(outText()),
    Memo: orNull(outText()),
    allocations: outList(LinkedOut),
  },
  'PositiveAdjustment',
)

/** `today` decides what is past due. */
export function positiveToWire(
  { positive, allocations }: PositiveRecord,
  timeZone: string,
  today: IsoDate,
): ShapeOf<typeof PositiveOut> {
  const digits = digitsOf(positive.currency)
  const coveredMinor = positive.paidMinor + positive.negativeMinor
  return {
    customerID: positive.customerId,
    positiveAdjustmentID: positive.id,
    positiveAdjustmentType: positive.kind,
    Date: dateWithOffset(positive.dated, timeZone),
    DueDate: dateWithOffset(positive.dueDate, timeZone),
    Amount: minorDigits(positive.amountMinor, digits),
    CurrencyCode: positive.currency,
    Status: positiveStatus({ ...positive, coveredMinor, today }),
    isActive: true,
    isSuccess: true,
    Ref: positive.ref,
    Memo: positive.memo,
    allocations: allocations.map((allocation) => ({
      allocationID: allocation.id,
      objectID: allocation.givenId,
      amountApplied: minorDigits(allocation.amountMinor, digits),
      isAdjustment: allocation.givenKind === 'negative_adjustment',
    })),
  }
}

export type AdjustmentRecord = PositiveRecord | NegativeRecord
export const isPositive = (record: AdjustmentRecord): record is PositiveRecord => 'positive' in record

/** Changes with whatever a PUT would replace, and not with the passing of time. */
export const adjustmentEtag = (record: AdjustmentRecord): string =>
  isPositive(record)
    ? etagOf({ ...positiveToWire(record, 'UTC', record.positive.dated), Status: null })
    : etagOf(negativeToWire(record.negative, record.allocations, 'UTC'))

type EitherShape = ShapeOf<typeof PositiveOut> | ShapeOf<typeof NegativeOut>
const isPositiveShape = (value: EitherShape): value is ShapeOf<typeof PositiveOut> => 'positiveAdjustmentID' in value

export const AdjustmentOut = outObject(
  {
    isSuccess: outFlag(),
    adjustment: outEither(PositiveOut, isPositiveShape, NegativeOut),
    type: outWord(TYPES),
  },
  'AdjustmentAnswer',
)

export const adjustmentToWire = (record: AdjustmentRecord, timeZone: string, today: IsoDate) => ({
  isSuccess: true,
  adjustment: isPositive(record)
    ? positiveToWire(record, timeZone, today)
    : negativeToWire(record.negative, record.allocations, timeZone),
  type: isPositive(record) ? ('positive' as const) : ('negative' as const),
})

export const AddedOut = outObject(
  { isSuccess: outFlag(), AdjustmentID: outId(), Type: outWord(TYPES) },
  'AdjustmentAdded',
)

export const AdjustmentsOut = outObject(
  {
    isSuccess: outFlag(),
    adjustments: outList(
      outObject({
        adjustmentID: outId(),
        customerID: outId(),
        Date: outDate('Calendar date'),
        DueDate: orNull(outDate('Calendar date; of positive ones only')),
        CurrencyCode: outText(),
        Amount: outNumber(),
        Ref: orNull(outText()),
        Memo: orNull(outText()),
        AdjustmentType: outWord(KINDS),
        Type: outWord(TYPES),
      }),
    ),
  },
  'AdjustmentList',
)

export const listedToWire = (rows: readonly ListedAdjustment[], timeZone: string): ShapeOf<typeof AdjustmentsOut> => ({
  isSuccess: true,
  adjustments: rows.map((row) => ({
    adjustmentID: row.id,
    customerID: row.customerId,
    Date: dateWithOffset(row.dated, timeZone),
    DueDate: row.dueDate === null ? null : dateWithOffset(row.dueDate, timeZone),
    CurrencyCode: row.currency,
    Amount: minorDigits(row.amountMinor, digitsOf(row.currency)),
    Ref: row.ref,
    Memo: row.memo,
    AdjustmentType: row.kind,
    Type: row.type,
  })),
})

/** Other names of a record's own identifier. */
const IDENTIFIERS = ['AdjustmentID', 'positiveAdjustmentID', 'NegativeAdjustmentID'] as const

const typeWord = () => word(TYPES, { anyCase: true })

const LIST_TYPES = [...TYPES, 'all'] as const
export const ListQuery = listQuery({
  type: required(word(LIST_TYPES, { anyCase: true }), 'Type'),
  customerID: optional(reference()),
})

export const GetQuery = objectOf({
  type: required(typeWord(), 'Type'),
  adjustmentID: required(requiredReference(), ...IDENTIFIERS),
  customerID: required(requiredReference()),
})

/** Where what is deleted is named, the interface does not say: query and body both do. */
const naming = {
  type: optional(typeWord(), 'Type'),
  adjustmentID: optional(reference(), ...IDENTIFIERS),
  customerID: optional(reference()),
} satisfies Properties
export const Naming = objectOf(naming)
export const NamingIn = objectOf(naming, { name: 'AdjustmentChoice' })
export type NamingBody = BodyOf<typeof naming>

const common = {
  AdjustmentType: required(word(KINDS, { anyCase: true }), 'positiveAdjustmentType', 'NegativeAdjustmentType'),
  customerID: required(requiredReference()),
  Type: required(typeWord(), 'type'),
  Amount: required(positiveAmount()),
  Date: required(date()),
  DueDate: optional(date()),
  Memo: optional(longText()),
} satisfies Properties

/** What is computed, and so ignored where a record that was read is sent back. */
const ignored = ['CurrencyCode', 'Status', 'isActive', 'isSuccess']

const adding = {
  ...common,
  Ref: required(text()),
  AutoApply: optional(flag(), 'isAutoApply'),
  Allocations: optional(linkedAllocationsIn(), 'allocations', 'LinkedAllocations'),
} satisfies Properties
export const AddIn = withoutListWhereAutoApply(
  objectOf(adding, { name: 'AdjustmentAdd', ignored: [...ignored, 'adjustmentID', ...IDENTIFIERS] }),
)
export type AddBody = BodyOf<typeof adding>

const editing = {
  ...common,
  AdjustmentID: required(requiredReference(), 'adjustmentID', ...IDENTIFIERS.slice(1)),
  Ref: optional(text()),
  isAutoApply: optional(flag(), 'AutoApply'),
  LinkedAllocations: optional(linkedAllocationsIn(), 'Allocations', 'allocations'),
} satisfies Properties
export const EditIn = withoutListWhereAutoApply(objectOf(editing, { name: 'AdjustmentEdit', ignored }))
export type EditBody = BodyOf<typeof editing>

/** What both bodies tell of a record itself. */
export type CommonBody = BodyOf<typeof common>

/** The names of a list of linked allocations under the key that this operation documents. */
export const linkedNames = (list: 'Allocations' | 'LinkedAllocations') => ({
  list,
  amount: 'AmtAllocated',
  invoice: 'objectID',
  number: null,
  positive: 'objectID',
})

/** Of a negative adjustment: to invoices, or to positive adjustments. */
export const owedEntries = (entries: readonly LinkedEntry[]): AskedEntry[] =>
  entries.map((entry) => ({
    allocationId: entry.allocationID ?? null,
    invoiceId: entry.isAdjustment === true ? null : (entry.objectID ?? null),
    invoiceNumber: null,
    positiveAdjustmentId: entry.isAdjustment === true ? (entry.objectID ?? null) : null,
    amount: entry.AmtAllocated,
  }))
