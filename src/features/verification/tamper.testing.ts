import pg from 'pg'
import { afterAll, expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'
import { BY_ROWS, type Database, type Transaction } from '../../platform/database/database.ts'
import { type Difference, differenceText } from '../../platform/checks/difference.ts'
import { verifyAccount } from '../../checks.ts'
import { clientConfig } from '../../platform/database/open-database.ts'

/**
 * Tampering with an account as the server's superuser, in a transaction that is verified before it is rolled back, so that each test begins
 * with the same healthy account. In statements `:account` is the account's identifier.
 */
export async function tamperWith(service: TestService, clientOf: () => TestClient) {
  const superuser = new pg.Client(clientConfig(service.connection, undefined))
  await superuser.connect()
  afterAll(() => superuser.end())

  async function tampered(...statements: string[]): Promise<Difference[]> {
    const account = clientOf().id
    await superuser.query('begin')
    try {
      // Nothing that would stand in the way of a bug, or of somebody at the console, stands in the way here.
      await superuser.query('set local session_replication_role = replica')
      for (const text of statements) {
        const { rowCount } = await superuser.query(text.replaceAll(':account', String(account)))
        if (/^(insert|update|delete)/.test(text)) expect(rowCount, `something is changed by ${text}`).toBeGreaterThan(0)
      }
      const found: Difference[] = []
      const tx = {
        ...BY_ROWS,
        account,
        rows: async (statement: pg.QueryConfig) => (await superuser.query(statement)).rows,
        savepoint: async (inner: () => Promise<unknown>) => {
          await superuser.query('savepoint attempt')
          try {
            return await inner()
          } catch (error) {
            await superuser.query('rollback to savepoint attempt')
            throw error
          }
        },
      } as unknown as Transaction
      const db = { transaction: (_: bigint, work: (of: Transaction) => unknown) => work(tx) } as unknown as Database
      await verifyAccount(db, account, (difference) => found.push(difference))
      return found
    } finally {
      await superuser.query('rollback')
    }
  }
  return { superuser, tampered }
}

const KINDS =
  'emandate|charge|invoice|shape|customer|note|allocation|subscription|account|block|payment|adjustment|entry|seal|debt|settlement'

/** Differences as people read them, with the check's name and without identifiers. */
export const reported = (differences: readonly Difference[]): string[] =>
  differences.map((one) =>
    `${one.check}: ${differenceText(one)}`.replaceAll(new RegExp(`\\b(${KINDS}) \\d+`, 'g'), '$1 #'),
  )
