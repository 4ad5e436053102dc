import { assert } from '../../kernel/assert.ts'
import type { Representation } from './operation.ts'
import type { Answer } from './answer.ts'

/** Answers of changes to requests that prefer return=representation. */

/** Characters of a representation, which is whole in memory before the commit; a longer record is read on its own, in pieces. */
const REPRESENTATION_MAX = 4 * 1024 * 1024

/**
 * Answers 200 with the representation of a change in place of its answer without a body; its headers stay. One that is too long is left out: the
 * answer is as without the preference.
 */
export async function represented<About>(
  answer: Answer,
  { read }: Representation<About>,
  ask: (read: NonNullable<Representation<About>['read']>) => Promise<Answer>,
): Promise<Answer> {
  const { pieces, ...shown } = read ? await ask(read) : answer
  const body = pieces ? await textOf(pieces) : shown.body
  if (body === null || (read && typeof body === 'string' && body.length > REPRESENTATION_MAX)) return answer
  assert(body !== undefined, 'a change whose representation is not read answers it by itself')
  const headers = { ...answer.headers, ...shown.headers, 'preference-applied': 'return=representation' }
  return { ...answer, ...shown, status: 200, body, headers }
}

/** Returns pieces as one text: the answer of a write is kept under its key, and is whole before the commit. Null where it is too long. */
async function textOf(pieces: NonNullable<Answer['pieces']>): Promise<string | null> {
  const texts: string[] = []
  let length = 0
  for await (const piece of pieces) {
    const text = String(piece)
    length += text.length
    if (length > REPRESENTATION_MAX) return null
    texts.push(text)
  }
  return texts.join('')
}
