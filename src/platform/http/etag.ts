import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../../kernel/fault.ts'
import { jsonText } from '../../kernel/json.ts'

/** Makes a tag of what a PUT of the record would replace: equal inputs, equal tag. */
export const etagOf = (...parts: readonly unknown[]): string =>
  `"${createHash('sha1').update(jsonText(parts)).digest('base64url')}"`

/** Derives the tag of one text that comes in pieces: the same as `etagOf(text)`. */
export async function etagOfPieces(pieces: AsyncIterable<string>): Promise<string> {
  const hash = createHash('sha1').update('["')
  for await (const piece of pieces) {
    hash.update(JSON.stringify(piece).slice(1, -1))
    // Like an answer that leaves in pieces, it must not keep everybody else waiting.
    await turn()
  }
  return `"${hash.update('"]').digest('base64url')}"`
}

/** Refuses with 412 when If-Match names another state than the present one. "*" holds for every record that exists. */
export function checkIfMatch(header: string | undefined, present: string): void {
  if (header === undefined) return
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (tags.includes('*') || tags.includes(present)) return
  throw new Fault('stale', [
    {
      code: 'etag_mismatch',
      message: 'The record has changed since it was read (If-Match no longer holds); read it again.',
      field: null,
    },
  ])
}
