/**
 * Numbers as keyboards, clipboards and password managers give them: full-width or Arabic digits, signs that nobody sees, blanks, dots and dashes between
 * groups. Every form and body that takes a number of a card, an account or a bank reads it here, and so does the search for numbers where none belongs.
 */

const IS_DIGIT = /^\p{Nd}$/u
/** The sign of subtraction is no dash to Unicode, but some keyboards have it in the place of one. */
const DASH = /[\p{Pd}\u2212]/gu

/** Returns the value of a decimal digit of any script. Rule: digits of Unicode stand in runs of ten, or of several tens, from 0 on. */
const valueOf = (digit: string): string => {
  let first = digit.codePointAt(0) as number
  const last = first
  while (IS_DIGIT.test(String.fromCodePoint(first - 1))) first -= 1
  return String((last - first) % 10)
}

/** Returns a text without signs that nobody sees, with decimal digits of any script as 0 to 9, and with dashes of any kind as hyphens. */
export const plainCharacters = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/(?![0-9])\p{Nd}/gu, valueOf)
    .replace(DASH, '-')

/** Returns a number without what stands between its groups. */
export const pastedNumber = (text: string): string => plainCharacters(text).replace(/[\s.·-]/gu, '')

/** Returns a number that may itself have hyphens, as those of accounts in the United States: only its blanks are left out. */
export const pastedWithHyphens = (text: string): string => plainCharacters(text).replace(/\s/gu, '')

const YEAR_FIRST = /^(20[0-9]{2})[^\p{L}\p{N}]{0,9}([0-9]{1,2})$/u
const MONTH_FIRST = /^([0-9]{1,2})[^\p{L}\p{N}]{0,9}([0-9]{4}|[0-9]{2})$/u

/**
 * Reads month and year of an expiry such as 12/29, 12 / 2029, 1229 or 2029-12, with any separators. Four digits from 2000 to 2099 that stand first are the
 * year, because no month is above 12. Undefined where it is none.
 */
export function pastedExpiry(text: string): { month: number; year: number } | undefined {
  const plain = plainCharacters(text).trim()
  const [, first = '', second = ''] = YEAR_FIRST.exec(plain) ?? []
  if (/^20[0-9]{2}/.test(plain)) return expiryOf(second, first)
  const [, month = '', year = ''] = MONTH_FIRST.exec(plain) ?? []
  return expiryOf(month, year.length === 2 ? `20${year}` : year)
}

function expiryOf(monthText: string, yearText: string): { month: number; year: number } | undefined {
  const month = Number(monthText)
  return month >= 1 && month <= 12 ? { month, year: Number(yearText) } : undefined
}
