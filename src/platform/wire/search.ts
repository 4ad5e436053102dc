import { soughtWords } from '../../kernel/words.ts'
import { type Field, REFUSED, shown } from './read.ts'

const LETTERS_MIN = 2
const LETTERS_MAX = 100
const WORDS_MAX = 5

/** Words that a search asks for. */
export interface Search {
  words: readonly string[]
}

/** Reads a search: two letters or digits at least, a hundred characters and five words at most. */
export const search = (): Field<Search> => ({
  isBlankNull: false,
  schema: { type: 'string', minLength: LETTERS_MIN, maxLength: LETTERS_MAX },
  read(value, path, context) {
    const text = typeof value === 'string' ? value.trim() : ''
    const words = soughtWords(text)
    const isReadable =
      [...text].length <= LETTERS_MAX && words.length <= WORDS_MAX && [...words.join('')].length >= LETTERS_MIN
    if (isReadable) return { words }
    context.problems.add(
      'search_unreadable',
      path,
      `${path} must have at least ${LETTERS_MIN} letters or digits, and at most ${LETTERS_MAX} characters and ${WORDS_MAX} words; ${shown(value, context)} was sent.`,
    )
    return REFUSED
  },
})
