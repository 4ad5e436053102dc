import fc from 'fast-check'
import { afterAll, test } from 'vitest'
import { takeLedgerMark } from '../../src/features/ledger/mark-queries.ts'
import { sealLedger } from '../../src/features/ledger/seal.ts'
import { differenceText } from '../../src/platform/checks/difference.ts'
import { differencesOf } from '../support/shop.ts'
import { startTestService } from '../support/app.ts'
import { openMoneyBooks } from '../support/money-books.ts'
import type { Perform } from './money-picks.testing.ts'
import { steps } from './money-steps.testing.ts'
import { newWorld } from './money-world.testing.ts'
import { assertInTime } from '../support/in-time.ts'

/**
 * Whatever is done with money and in whatever order, a verification finds nothing: every document is posted as it stands, to the day, and
 * the chains hold up to their seals. MONEY_RUNS, MONEY_SECONDS and SEED are as in money-model.test.ts.
 */

const service = await startTestService()
const sql = await openMoneyBooks(service.connection)
afterAll(() => sql.close())

const LIMIT_MS = Number(process.env['MONEY_SECONDS'] ?? 20) * 1000
const RUNS = Number(process.env['MONEY_RUNS'] ?? 6)
const SEAL_EVERY = 7

async function live(history: readonly Perform[]): Promise<void> {
  const world = await newWorld(service, sql, '2027-01-31')
  for (const [index, step] of history.entries()) {
    await step(world)
    if (index % SEAL_EVERY > 0) continue
    const below = await takeLedgerMark(service.db.unscoped)
    await sealLedger(service.db, world.client.id, { at: '2027-01-31T02:00:00.000Z', below, eventSeal: null })
  }
  const found = await differencesOf(service, world.client)
  if (found.length > 0)
    throw new Error(`after\n  ${world.log.join('\n  ')}\n${found.map((one) => differenceText(one)).join('\n')}`)
}

test(
  'after every history of money a verification finds nothing',
  async () => {
    const histories = fc.array(steps, { minLength: 10, maxLength: 40, size: 'max' })
    await assertInTime(fc.asyncProperty(histories, live), {
      numRuns: RUNS,
      limitMs: LIMIT_MS,
    })
  },
  300_000 + 2 * LIMIT_MS,
)
