import { type Field, optional, type Properties } from './read.ts'
import { search } from './search.ts'

/**
 * Sentences of the reference about leaving a field or a parameter out. They stand in words and not as `default`: generated clients take a field with a
 * default for one that has to be sent. `test/api/left-out.test.ts` tries what these words promise.
 */
export const LEFT_OUT = {
  none: 'Left out, there is none.',
  noneEditClears: 'Left out, there is none: an edit clears it.',
  cleared: 'Left out, it is cleared.',
  kept: 'Left out, it stays as it is.',
  keptOrCleared: 'Left out, it stays as it is; null clears it.',
  false: 'Left out, it is false.',
  true: 'Left out, it is true.',
  today: 'Left out, it is today.',
  ofAccount: 'Left out, those of the account hold.',
  endless: 'Left out, it has no end.',
  fromQuery: 'Left out, it is taken from the query.',
  noReason: 'Left out, the reason is not known.',
  customerPays: 'Left out, it follows from the PaymentMethod of the customer.',
  primaryGateway: 'Left out, the primary gateway is taken where the way of collection needs one.',
  primaryMethod: 'Left out, the primary method of the customer is taken where it fits.',
  given: 'Left out, the service gives one; an edit leaves it as it is.',
  ComponentCode: 'Left out, ComponentCode names the component.',
  componentID: 'Left out, componentID names the component.',
  allocation: 'Left out, the allocation is added; named, it is edited. One that is not in the list is deleted.',
  all: 'Left out, all are listed.',
  ofAll: 'Left out, those of all are listed.',
} as const

/** Declares a parameter that limits a list to some records, named as in a sentence: the package with this code. Left out, all are listed. */
export const filter = <T>(field: Field<T>, records: string, aliases?: readonly string[]) =>
  optional(field, `Limits the list to ${records}.`, LEFT_OUT.all, aliases)

/** Declares a search of a list, of which records may also be found by the words of their customer. */
export const searchOfCustomers = () =>
  filter(
    search(),
    'records that are found by these words, each the beginning of one of theirs, or, where no record bears them all itself, of its customer; letter case, accents and signs do not count',
  )

/** Returns the properties of a body with what leaving some of them out means in it. */
export const whenLeftOut = <P extends Properties>(
  properties: P,
  meanings: { readonly [Name in keyof P]?: string },
): P =>
  Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const leftOut = meanings[name]
      return [name, leftOut === undefined ? property : { ...property, leftOut }]
    }),
  ) as P
