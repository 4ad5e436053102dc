import type { Book } from './stripe-book.ts'
import { StripeRefusal } from './stripe-error.ts'

/** An answer as it is kept under an idempotency key. */
export interface Kept {
  status: number
  body: string
  headers?: Record<string, string>
}

interface Entry {
  /** Everything that was asked, to compare a repetition with. */
  asked: string
  at: number
  /** Undefined while the first request runs. */
  answer: Kept | undefined
}

const KEPT_SECONDS = 86_400

/** Idempotency keys of all books. An answer is kept for a day, that of a failure too; what never began is not kept. */
export class IdempotencyKeys {
  readonly #entries = new Map<Book, Map<string, Entry>>()

  /** Does something once for a key, and gives the kept answer after that. @throws {StripeRefusal} if the key is in use, or was used for something else */
  async once(
    book: Book,
    key: string,
    asked: string,
    now: number,
    run: () => Promise<Kept>,
  ): Promise<Kept & { replayed: boolean }> {
    const entries = this.#entries.get(book) ?? new Map<string, Entry>()
    this.#entries.set(book, entries)
    const before = entries.get(key)
    if (before !== undefined && now < before.at + KEPT_SECONDS) return replay(before, key, asked)
    const entry: Entry = { asked, at: now, answer: undefined }
    entries.set(key, entry)
    entry.answer = await run()
    return { ...entry.answer, replayed: false }
  }
}

function replay(before: Entry, key: string, asked: string): Kept & { replayed: boolean } {
  if (before.asked !== asked)
    throw new StripeRefusal(400, {
      type: 'idempotency_error',
      message: `Keys for idempotent requests can only be used with the same parameters they were first used with (${key}).`,
    })
  if (before.answer === undefined)
    throw new StripeRefusal(409, {
      code: 'idempotency_key_in_use',
      message: `There is currently another in-progress request using this Idempotent Key: ${key}.`,
    })
  return { ...before.answer, replayed: true }
}
