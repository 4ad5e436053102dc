import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { type Column, NO_READER, recordShape } from '../../platform/wire/columns.ts'
import { longText, text } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outFlag, outId, outObject, outText, outWord, type Shape } from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { EDITABLE, PLAIN_FIELD_NAMES, type GivenFields, type PlainFields } from './fields.ts'
import type { InvoiceRow } from './types.ts'

/** The spelling of the plain fields of an invoice, how they are read, and how they are written. */
const SPELLING = {
  poNumber: {
    name: 'poNumber',
    in: optional(
      text({ takesNumbers: true }),
      'The purchase order number of the customer; it stands on the invoice.',
      LEFT_OUT.noneEditClears,
    ),
    out: orNull(outText('The purchase order number of the customer; it stands on the invoice.')),
  },
  collectionMethod: {
    name: 'CollectionMethod',
    in: optional(word(COLLECTION_METHODS), 'The way in which the invoice is collected.', LEFT_OUT.customerPays),
    out: outWord(COLLECTION_METHODS, 'The way in which the invoice is collected.'),
  },
  notes: {
    name: 'Notes',
    in: optional(longText(), 'The notes that stand on the invoice.', LEFT_OUT.ofAccount),
    out: orNull(outText('The notes that stand on the invoice.')),
  },
  terms: {
    name: 'Terms',
    in: optional(longText(), 'The terms of payment that stand on the document.', LEFT_OUT.ofAccount),
    out: orNull(outText('The terms of payment that stand on the document.')),
  },
} as const satisfies Record<keyof PlainFields, { name: string; in: Properties[string]; out: Shape<any> }>

type Spelling = typeof SPELLING

export const plainIn = Object.fromEntries(
  PLAIN_FIELD_NAMES.map((name) => [SPELLING[name].name, SPELLING[name].in]),
) as {
  -readonly [Key in keyof PlainFields as Spelling[Key]['name']]: Spelling[Key]['in']
}

/** A record that has plain fields, or will have: of a preview some are left out. */
interface HasPlain {
  invoice: Partial<PlainFields>
}

/** Declares the columns of the plain fields, or of some of them, in any record of an invoice. */
const columnsOf = (names: readonly (keyof PlainFields)[]) =>
  Object.fromEntries(
    names.map((name) => [SPELLING[name].name, [SPELLING[name].out, ({ invoice }: HasPlain) => invoice[name] ?? null]]),
  ) as unknown as { [Key in keyof PlainFields as Spelling[Key]['name']]: Column<HasPlain> }

export const plainColumns = columnsOf(PLAIN_FIELD_NAMES)
const keptShape = recordShape<HasPlain>()(undefined, columnsOf(EDITABLE))

export const spellingOf = (name: keyof PlainFields) => SPELLING[name].name

/** Returns the plain fields of a body by their own names; null where it has none. */
export const plainFromWire = (body: Partial<BodyOf<typeof plainIn>>) =>
  Object.fromEntries(PLAIN_FIELD_NAMES.map((name) => [name, body[spellingOf(name)] ?? null])) as {
    [Key in keyof PlainFields]: PlainFields[Key] | null
  }

/** Collection details that are no plain fields, as the event of an issue keeps them. */
const CollectedOut = outObject({
  gatewayID: orNull(outId()),
  customerPaymentMethodID: orNull(outId()),
  isCollectionHold: outFlag(),
  NextTryDate: orNull(outText()),
})

/** Fields that the event of an issue keeps: those that can change later, as the row of the invoice had them. */
export type Kept = Partial<Record<Spelling[keyof Spelling]['name'], string | null>> & {
  gatewayID?: number | null
  customerPaymentMethodID?: number | null
  isCollectionHold?: boolean
  NextTryDate?: IsoDate | null
}

const KEPT_OF_COLLECTION = ['gatewayId', 'paymentMethodId', 'isCollectionHold', 'nextTryDate'] as const

type CollectionKept = Pick<InvoiceRow, (typeof KEPT_OF_COLLECTION)[number]>

/** The fields of an invoice on which the text depends that the event of its issue keeps. */
const KEPT_IN_TEXT = [...EDITABLE, ...KEPT_OF_COLLECTION].filter(
  (name) => name !== 'poNumber' && name !== 'paymentMethodId',
)

/** Returns whether events of two invoices keep the same except for what is each invoice's own. */
export const isKeptAlike = (one: InvoiceRow, other: InvoiceRow): boolean =>
  KEPT_IN_TEXT.every((name) => one[name] === other[name]) &&
  (one.paymentMethodId === null) === (other.paymentMethodId === null)

/** Writes what the event of an issue keeps, without what is the invoice's own; details of collection only where there are any, because most invoices have none. */
export const writeKept = (fields: GivenFields & CollectionKept): string =>
  withCollection(writePlainKept(fields), fields)

/** Writes what the event of an issue keeps of the plain fields, with null for the order number, which is the invoice's own. */
export const writePlainKept = (fields: GivenFields): string => {
  const shared = EDITABLE.map((name) => [name, name === 'poNumber' ? null : fields[name]])
  return keptShape.write({ invoice: Object.fromEntries(shared) }, NO_READER)
}

/** Adds the details of collection to what the event of an issue keeps of the plain fields, with null for the method, which is the invoice's own. */
export function withCollection(plain: string, details: CollectionKept): string {
  const { gatewayId, paymentMethodId, isCollectionHold, nextTryDate } = details
  if (gatewayId === null && paymentMethodId === null && !isCollectionHold && nextTryDate === null) return plain
  const collected = CollectedOut.write({
    gatewayID: gatewayId,
    customerPaymentMethodID: null,
    isCollectionHold,
    NextTryDate: nextTryDate,
  })
  return `${plain.slice(0, -1)},${collected.slice(1)}`
}
