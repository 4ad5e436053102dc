import { transliterated } from '../sepa/characters.ts'

/** Characters of texts in NACHA files: capitals, digits, blanks and a few signs, which every bank reads. */

const OTHER = /[^A-Z0-9 ./()&'-]/g

/** Signs that lie between the characters of SEPA and those of NACHA. */
const SIGNS: Readonly<Record<string, string>> = { '+': '&', ',': ' ', ':': ' ', '?': ' ' }

/** Returns a text in the characters of NACHA, cut to a length, without blanks at its ends and without two in a row. */
export const achText = (text: string, max: number): string =>
  // An ampersand is none of SEPA's characters; it stays one here.
  text
    .split('&')
    .map(transliterated)
    .join('&')
    .toUpperCase()
    .replace(OTHER, (sign) => SIGNS[sign] ?? ' ')
    .replace(/ {2,}/g, ' ')
    .trim()
    .slice(0, max)
    .trimEnd()

/** Returns whether a letter or digit of a text is left in the characters of NACHA, and not signs alone. */
export const isAchLegible = (text: string, max: number): boolean => /[A-Z0-9]/.test(achText(text, max))
