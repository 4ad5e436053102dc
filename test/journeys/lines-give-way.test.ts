import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { differencesOf } from '../support/shop.ts'
import { expectPlaces, linedSteps, newLinedWorld } from './lines-give-way.testing.ts'
import { assertInTime } from '../support/in-time.ts'

/**
 * Whatever is debited, paid, credited, corrected, built, settled and cancelled, and in whatever order: lines give way as a model of a few lines has
 * it, no invoice has more allocated to it than its total, and the books hold. LINES_RUNS sets how many random histories are lived, LINES_SECONDS
 * for how long at most, SEED which; the seed is told when one fails.
 */

const service = await startTestService()
const RUNS = Number(process.env['LINES_RUNS'] ?? 10)
const LIMIT_MS = Number(process.env['LINES_SECONDS'] ?? 20) * 1000

test(
  'lines give way as the model has it, after each step',
  async () => {
    const histories = fc.array(linedSteps, { minLength: 8, maxLength: 40, size: 'max' })
    const property = fc.asyncProperty(histories, async (steps) => {
      const world = await newLinedWorld(service)
      try {
        for (const step of steps) {
          await step(world)
          await expectPlaces(world)
        }
        expect(await differencesOf(service, world.client)).toEqual([])
      } catch (error) {
        throw new Error(`after\n  ${world.log.join('\n  ')}\n${(error as Error).message}`, { cause: error })
      }
    })
    await assertInTime(property, {
      numRuns: RUNS,
      limitMs: LIMIT_MS,
    })
  },
  300_000 + 2 * LIMIT_MS,
)
