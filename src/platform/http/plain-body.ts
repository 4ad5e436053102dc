import type { Answer } from './answer.ts'
import type { Transaction } from '../database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'

/**
 * Plain bodies: long lists in which nothing is unusual, and which an operation reads and writes for a fraction of what reading any JSON costs. Whatever is
 * unusual, wrong or refused goes the way of all requests from its beginning, so that there is one place which explains.
 */

/** A body in which nothing is unusual. */
export interface PlainBody {
  /** Returns the text by which its Idempotency-Key compares it: that of `canonicalJson`. */
  identity(): string
}

/** The way of plain bodies of one operation. */
export interface PlainWay<Body extends PlainBody> {
  /** Reads a body about so many characters at a time, and yields nothing between them; returns undefined where it is not plain. */
  read(text: string, characters: number): Generator<undefined, Body | undefined, undefined>
  /** Does all that the operation does, and answers as it would. Throws NotPlain, or any Fault, where the way of all requests has to decide. */
  write(tx: Transaction, context: RequestContext, body: Body): Promise<Answer>
}

/** A request turned out to be unusual; nothing of it is done. */
export class NotPlain extends Error {
  constructor() {
    super('the request is not plain')
  }
}
