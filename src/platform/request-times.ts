import { BY_ROWS, type Database, type Queryable, type Snapshot, type Times } from './database/database.ts'
import type { SteadyClock } from './steady-clock.ts'

/** The time of a request that goes by waiting for a place, and for the database. The rest is computed, or spent on the way to the caller. */
export class RequestTimes implements Times {
  readonly #clock: SteadyClock
  readonly #place = { ms: 0, open: 0, sinceMs: 0 }
  readonly #database = { ms: 0, open: 0, sinceMs: 0 }

  constructor(clock: SteadyClock) {
    this.#clock = clock
  }

  get placeMs(): number {
    return this.#place.ms
  }

  get databaseMs(): number {
    return this.#database.ms
  }

  /** Counts a wait for a place until the returned function is called. */
  waits(): () => void {
    return this.#begin(this.#place)
  }

  /** Counts the time until an answer of the database; what is asked at once counts once. */
  async asks<T>(answer: Promise<T>): Promise<T> {
    const end = this.#begin(this.#database)
    try {
      return await answer
    } finally {
      end()
    }
  }

  /** Counts the answers of what runs statements. */
  of(db: Queryable): Queryable {
    return {
      ...BY_ROWS,
      ...(db.rowsMax !== undefined && { rowsMax: db.rowsMax }),
      rows: (statement) => this.asks(db.rows(statement)),
    }
  }

  /** Counts the answers of a snapshot, portions too. */
  ofSnapshot(snapshot: Snapshot): Snapshot {
    const asks = <T>(answer: Promise<T>) => this.asks(answer)
    return {
      ...this.of(snapshot),
      async *portions<Row>(...given: Parameters<Snapshot['portions']>) {
        const portions = snapshot.portions<Row>(...given)
        try {
          for (;;) {
            const next = await asks(portions.next())
            if (next.done) return
            yield next.value
          }
        } finally {
          await portions.return()
        }
      },
      end: () => snapshot.end(),
    }
  }

  /** Counts the waits and answers of transactions. */
  ofTransactions<Of extends Pick<Database, 'transaction'>>(db: Of): Of {
    return Object.assign(Object.create(db) as Of, {
      transaction: ((account, work, settings) =>
        db.transaction(account, work, { ...settings, times: this })) satisfies Database['transaction'],
    })
  }

  #begin(span: { ms: number; open: number; sinceMs: number }): () => void {
    if (span.open === 0) span.sinceMs = this.#clock()
    span.open += 1
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      span.open -= 1
      if (span.open === 0) span.ms += this.#clock() - span.sinceMs
    }
  }
}
