import { quotedText, writable } from '../wire/header-text.ts'
import type { Answer } from './answer.ts'

/** Warnings of the header Perennial-Warning: what to know of a request that was carried out. They change no status. */

export const WARNING_HEADER = 'perennial-warning'

/** Returns a warning as a token of RFC 9651, with a parameter that holds a text. */
export const warningOf = (token: string, parameter: string, text: string): string =>
  `${token};${parameter}=${quotedText(writable(text))}`

/** Adds warnings to an answer, behind those that it has; none change nothing. */
export function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer
  const present = answer.headers?.[WARNING_HEADER]
  const all = present === undefined ? warnings : [present, ...warnings]
  return { ...answer, headers: { ...answer.headers, [WARNING_HEADER]: all.join(', ') } }
}
