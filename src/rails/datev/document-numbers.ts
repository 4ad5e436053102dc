/** Numbers of documents as DATEV takes them: 36 letters of few kinds. */

const LETTERS_MAX = 36
const UNKNOWN = /[^A-Za-z0-9$&%*+/-]/g

const PLAIN = /^\d{1,36}$/

/** Returns whether a number is written as it is, as those of invoices are: no other number becomes one of them. */
export const isPlainNumber = (number: string): boolean => PLAIN.test(number)

/** Returns a number in the letters of the field. */
export const baseOfNumber = (number: string): string => number.replace(UNKNOWN, '').slice(0, LETTERS_MAX)

/** Returns what the first of the numbers with one base is counted as. */
export const firstCountOf = (base: string): number => (PLAIN.test(base) ? 2 : 1)

/** Returns what is written for the numbers of one base: the first has none, each other one a suffix. */
export function documentOf(base: string, count: number): string {
  const suffix = count === 1 ? '' : `-${count}`
  return `${base.slice(0, LETTERS_MAX - suffix.length)}${suffix}`
}
