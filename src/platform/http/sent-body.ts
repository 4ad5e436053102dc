import { LARGE_BYTES } from './body-bounds.ts'
import type { Caller } from '../../kernel/context.ts'
import type { HttpDeps } from './deps.ts'
import type { Operation } from './operation.ts'
import { readSentBody, type SentBody } from './request-body.ts'

/** Reads the body of a request as its operation takes it: plain where it may be and is, large ones one at a time. */
export function sentBody(
  { bodies }: HttpDeps,
  operation: Operation,
  { id }: Caller['account'],
  bytes: Buffer | undefined,
  mayBePlain = true,
): SentBody | Promise<SentBody> {
  if (bytes === undefined || bytes.length === 0) return { empty: true }
  if (operation.rawBody) return { bytes }
  const plainWay = operation.kind === 'write' && mayBePlain ? operation.plainWay : undefined
  return bytes.length > LARGE_BYTES ? bodies.read(id, bytes, plainWay) : readSentBody(bytes, plainWay)
}
