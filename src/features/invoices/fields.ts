import type { CollectionMethod } from '../collection-terms/types.ts'

/**
 * The plain fields of an invoice: callers write them, nothing computes with them. Declared once, by column and by what becomes of them after
 * issue; reads, inserts, updates, differences of an edit, the ETag and the event of the issue follow. wire.ts has their spelling.
 */
export interface PlainFields {
  poNumber: string | null
  collectionMethod: CollectionMethod
  notes: string | null
  terms: string | null
}

interface PlainField {
  column: string
  type: 'text'
  /** Can change after issue. */
  isEditable: boolean
  /** Null in the row means the account's text of the same name, as it was at issue; blank means none. */
  hasAccountText: boolean
}

export const PLAIN_FIELDS: Readonly<Record<keyof PlainFields, PlainField>> = {
  poNumber: { column: 'po_number', type: 'text', isEditable: true, hasAccountText: false },
  collectionMethod: { column: 'collection_method', type: 'text', isEditable: true, hasAccountText: false },
  notes: { column: 'notes', type: 'text', isEditable: true, hasAccountText: true },
  terms: { column: 'terms', type: 'text', isEditable: false, hasAccountText: true },
}

/** Their columns and types, for an insert of many invoices. */
export const PLAIN_COLUMNS = Object.fromEntries(
  Object.entries(PLAIN_FIELDS).map(([name, { column, type }]) => [name, [column, type] as const]),
) as Record<keyof PlainFields, readonly [column: string, type: string]>

export const PLAIN_FIELD_NAMES = Object.keys(PLAIN_FIELDS) as readonly (keyof PlainFields)[]

const NO_FIELDS = Object.fromEntries(PLAIN_FIELD_NAMES.map((name) => [name, null])) as unknown as PlainFields

/** Returns the plain fields alone of a record that has them among others. */
export const plainFieldsOf = (record: PlainFields): PlainFields =>
  Object.fromEntries(PLAIN_FIELD_NAMES.map((name) => [name, record[name]])) as unknown as PlainFields

/** The fields that can change after issue. The event of the issue keeps what they were. */
export const EDITABLE = PLAIN_FIELD_NAMES.filter((name) => PLAIN_FIELDS[name].isEditable)

/** Plain fields as an invoice is made with them; those left out are null. */
export type GivenFields = Partial<PlainFields> & Pick<PlainFields, 'collectionMethod'>

/** Returns given fields with null for those that were left out. */
export const withAllPlain = <Given extends GivenFields>(given: Given): Given & PlainFields => ({
  ...NO_FIELDS,
  ...given,
})
