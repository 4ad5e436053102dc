import fc from 'fast-check'
import pg from 'pg'
import { afterAll, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { openMoneyBooks } from '../support/money-books.ts'
import { expectSettled, expectSound, histories, newLife, perform } from './collection-lives.testing.ts'
import { assertInTime } from '../support/in-time.ts'

/**
 * Whatever happens to invoices that are collected by card or by bank account, and in whatever order: no invoice is paid twice, none with an open try is tried, none
 * is charged again for what was refunded, no more is refunded than was received, and the gateway's book is our payments. COLLECTION_RUNS sets
 * how many random histories are lived, COLLECTION_SECONDS for how long at most, SEED which; the seed is reported when one fails.
 */

const service = await startTestService()
const books = await openMoneyBooks(service.connection)
const owner = new pg.Client({ ...service.connection, options: '-c search_path=perennial' })
await owner.connect()
afterAll(async () => {
  await books.close()
  await owner.end()
})

const LIMIT_MS = Number(process.env['COLLECTION_SECONDS'] ?? 20) * 1000
const RUNS = Number(process.env['COLLECTION_RUNS'] ?? 10)

const property = fc.asyncProperty(histories, async (history) => {
  const life = await newLife(service, books, owner)
  try {
    for (const act of history) {
      await perform(life, act)
      await expectSound(life)
    }
    await expectSettled(life)
  } catch (error) {
    throw new Error(`after\n  ${life.log.join('\n  ')}\n${(error as Error).message}`, { cause: error })
  }
})
const bounds = { numRuns: RUNS, limitMs: LIMIT_MS }

test(
  'every life of invoices that are collected is sound after each step, from a fixed seed',
  async () => {
    await assertInTime(property, { ...bounds, seed: 20270101 })
  },
  300_000 + 2 * LIMIT_MS,
)

test(
  'every life of invoices that are collected is sound after each step, from the seed of the run',
  async () => {
    await assertInTime(property, bounds)
  },
  300_000 + 2 * LIMIT_MS,
)
