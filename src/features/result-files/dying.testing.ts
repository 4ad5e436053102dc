import type { Database } from '../../platform/database/database.ts'

/** Makes a database of a process that dies at its nth transaction: nothing of that one and those after it is committed. */
export function dyingAt(db: Database, nth: number): Database {
  let count = 0
  return {
    ...db,
    transaction: (account, work, settings) =>
      db.transaction(
        account,
        async (tx) => {
          const done = await work(tx)
          if ((count += 1) >= nth) throw new Error('killed')
          return done
        },
        settings,
      ),
  }
}
