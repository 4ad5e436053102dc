/** Joins texts to a list inside a sentence: "a", "a and b", "a, b and c". */
export function sentenceList(words: readonly string[], conjunction = 'and'): string {
  if (words.length <= 1) return words[0] ?? ''
  return `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`
}

export const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** Nothing of these is seen: signs without a width, blanks of any kind, marks without a letter. Control characters are refused by a sentence of their own. */
const UNSEEN = /^[\p{Cf}\p{Co}\p{Cn}\p{Z}\p{M}\s]*$/u

/** Returns whether a text has no character that is seen, so that a name of it would be none. */
export const isBlank = (text: string): boolean => UNSEEN.test(text)

/** Returns a text without the signs that turn the direction of what follows them. */
export const straight = (text: string): string => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '')

/** Texts that begin with a letter or digit of ASCII and hold nothing else: most cells, which need no closer look. */
const IS_PLAIN = /^[A-Za-z0-9][\x20-\x7e]*$/
/** Signs with which a formula begins, in full width too, also behind characters that nobody sees. */
const FORMULA = /^[\p{C}\p{Z}\p{M}]*[=+@\uff1d\uff0b\uff0d\uff20-]|^[\t\r]/u

/**
 * Returns a text as it stands in a cell of a file for spreadsheets: without signs that turn its direction, and with an apostrophe before what a spreadsheet would
 * take for a formula.
 */
export function cellText(text: string): string {
  if (IS_PLAIN.test(text)) return text
  const shown = straight(text)
  return FORMULA.test(shown) ? `'${shown}` : shown
}
