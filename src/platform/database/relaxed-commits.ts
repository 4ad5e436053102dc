import type { Database } from './database.ts'

/**
 * Makes a database whose commits do not wait for the disk until `settle` is called: for records that can be made again, and in thousands of
 * transactions. All of them stay whole and in their order; a machine that dies may lose the last ones. The first commit after `settle`
 * waits for the disk, and with it for everything before.
 */
export function relaxedCommits(db: Database): { db: Database; settle(): void } {
  let isSettled = false
  return {
    settle: () => (isSettled = true),
    db: {
      ...db,
      transaction: (account, work, options) =>
        db.transaction(account, work, isSettled ? options : { ...options, isRelaxed: true }),
    },
  }
}
