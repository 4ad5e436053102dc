/** Words by which records are found: small letters without accents and signs. The migration that filled them for older records does the same in SQL. */

export const WORD_MAX = 40
/** Words of one record; names of that many are nobody's. */
const WORDS_MAX = 80

const MARKS = /\p{M}/gu
const SIGNS = /[^\p{L}\p{N}]+/gu
const LETTERS: Readonly<Record<string, string>> = { ß: 'ss', ø: 'o', æ: 'ae', œ: 'oe', ł: 'l' }
const REPLACED = /[ßøæœł]/g

/** Returns a text in small letters without accents. */
const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(MARKS, '')
    .replace(REPLACED, (letter) => LETTERS[letter] ?? letter)

/** Cuts a word by characters: half of a pair is no text. */
const cut = (word: string): string => (word.length <= WORD_MAX ? word : [...word].slice(0, WORD_MAX).join(''))

const tokensOf = (text: string): string[] =>
  plain(text)
    .split(/\s+/)
    .filter((token) => token !== '')

/**
 * Returns the words of texts: each token without its signs, and what of it stands behind a sign, so that `O'Neill` is found by oneill and by neill,
 * `ada@mail.example.com` by ada, by mail and by example.com.
 */
export function searchWordsOf(texts: readonly (string | null | undefined)[]): string[] {
  const words = new Set<string>()
  for (const text of texts)
    for (const token of text == null ? [] : tokensOf(text)) {
      const parts = token.split(SIGNS)
      for (const place of parts.keys()) words.add(cut(parts.slice(place).join('')))
    }
  words.delete('')
  return [...words].slice(0, WORDS_MAX)
}

/** Returns the words that a search asks for, each the beginning of a word: signs do not count, nor does a word that stands there twice. */
export const soughtWords = (text: string): string[] => [
  ...new Set(
    tokensOf(text)
      .map((token) => cut(token.replace(SIGNS, '')))
      .filter((word) => word !== ''),
  ),
]
