import type { AccountId } from '../../kernel/ids.ts'
import type { Database } from '../../platform/database/database.ts'
import { analyzeTable, listTablesToAnalyze, type RunTables } from './queries.ts'

/** Rows below which a plan for one row of an account costs nothing that somebody would notice. */
const LEARNED_FROM = 1000

/**
 * Lets PostgreSQL look at the tables that a run reads (`due`) or has written (`issued`), where it expects far less of an account than is there: an
 * account that has just come with all its customers, or was just billed for the first time. Runs, reports and verification would be planned for one row, and read
 * all of an account for each of its customers. `onTable` is called behind each table, each of which may take some seconds.
 */
export async function learnAccount(
  db: Database,
  account: AccountId,
  run: RunTables,
  onTable?: () => Promise<unknown>,
): Promise<void> {
  if (run.records < LEARNED_FROM) return
  const tables = await db.transaction(account, (tx) => listTablesToAnalyze(tx, run, LEARNED_FROM))
  for (const { name } of tables) {
    await db.transaction(account, (tx) => analyzeTable(tx, name))
    await onTable?.()
  }
}
