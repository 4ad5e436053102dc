import { longText, text } from '../../platform/wire/fields.ts'
import { type BodyOf, optional, type Properties, word } from '../../platform/wire/read.ts'
import { orNull, outObject, outText, outWord, type Shape, type ShapeOf } from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from './check-collection.ts'
import { EDITABLE, PLAIN_FIELD_NAMES, type GivenFields, type PlainFields } from './fields.ts'

/** The spelling of the plain fields of an invoice, how they are read, and how they are written. */
const SPELLING = {
  poNumber: {
    name: 'poNumber',
    in: optional(text({ takesNumbers: true })),
    out: orNull(outText()),
  },
  collectionMethod: {
    name: 'CollectionMethod',
    in: optional(word(COLLECTION_METHODS)),
    out: outWord(COLLECTION_METHODS),
  },
  notes: { name: 'Notes', in: optional(longText()), out: orNull(outText()) },
  terms: { name: 'Terms', in: optional(longText()), out: orNull(outText()) },
} as const satisfies Record<keyof PlainFields, { name: string; in: Properties[string]; out: Shape<any> }>

type Spelling = typeof SPELLING
type Spelt<Part extends 'in' | 'out'> = {
  -readonly [Key in keyof PlainFields as Spelling[Key]['name']]: Spelling[Key][Part]
}

const spelt = <Part extends 'in' | 'out'>(part: Part, names = PLAIN_FIELD_NAMES) =>
  Object.fromEntries(names.map((name) => [SPELLING[name].name, SPELLING[name][part]])) as Spelt<Part>

export const plainIn = spelt('in')
export const plainOut = spelt('out')
const KeptOut = outObject(spelt('out', EDITABLE))

type PlainWire = ShapeOf<typeof KeptOut>

export const spellingOf = (name: keyof PlainFields) => SPELLING[name].name

/** Returns the plain fields of a body by their own names; null where it has none. */
export const plainFromWire = (body: Partial<BodyOf<typeof plainIn>>) =>
  Object.fromEntries(PLAIN_FIELD_NAMES.map((name) => [name, body[spellingOf(name)] ?? null])) as {
    [Key in keyof PlainFields]: PlainFields[Key] | null
  }

export function plainToWire(fields: Partial<PlainFields>, names = PLAIN_FIELD_NAMES): PlainWire {
  const wire: Record<string, unknown> = {}
  for (const name of names) wire[spellingOf(name)] = fields[name] ?? null
  return wire as PlainWire
}

/** Fields that the event of an issue keeps: those that can change later, as the row of the invoice had them. */
export type Kept = Partial<PlainWire>

export const writeKept = (fields: GivenFields): string => KeptOut.write(plainToWire(fields, EDITABLE))
