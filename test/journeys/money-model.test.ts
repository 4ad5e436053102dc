import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { openMoneyBooks } from '../support/money-books.ts'
import type { Perform } from './money-picks.testing.ts'
import { steps } from './money-steps.testing.ts'
import { expectAgreement, expectStatements, newWorld } from './money-world.testing.ts'
import { assertInTime } from '../support/in-time.ts'

/**
 * Whatever is done with money and in whatever order, the service says what a model of a few lines says, and the books hold. MONEY_RUNS sets
 * how many random histories are lived, MONEY_SECONDS for how long at most, SEED which; the seed is told when one fails.
 */

const service = await startTestService()
const sql = await openMoneyBooks(service.connection)
afterAll(() => sql.close())

const START = '2027-01-31'
const LIMIT_MS = Number(process.env['MONEY_SECONDS'] ?? 25) * 1000
const RUNS = Number(process.env['MONEY_RUNS'] ?? 12)

async function live(history: readonly Perform[]): Promise<void> {
  const world = await newWorld(service, sql, START)
  try {
    for (const step of history) {
      await step(world)
      await expectAgreement(world)
    }
    await expectStatements(world)
  } catch (error) {
    throw new Error(`after\n  ${world.log.join('\n  ')}\n${(error as Error).message}`, { cause: error })
  }
}

const histories = fc.array(steps, { minLength: 1, maxLength: 40, size: 'max' })
const property = fc.asyncProperty(histories, live)
// A failing history is made smaller as long as there is time for it.
const bounds = { numRuns: RUNS, limitMs: LIMIT_MS }

test(
  'every history of money agrees with the model after each step, from a fixed seed',
  async () => {
    await assertInTime(property, { ...bounds, seed: 20270131 })
  },
  300_000 + 2 * LIMIT_MS,
)

test(
  'every history of money agrees with the model after each step, from the seed of the run',
  async () => {
    await assertInTime(property, bounds)
  },
  300_000 + 2 * LIMIT_MS,
)
