import { expect, test } from 'vitest'
import { FIRST_DAY, NOW, recordExamples } from '../../scripts/recording.ts'
import { DEMO_CURRENCY, DEMO_NAME, DEMO_ZONE } from '../../src/demo/catalogue.ts'
import { midnightOf } from '../../src/kernel/zone.ts'
import { RECORDED } from '../../src/platform/http/recorded.ts'
import { startTestService } from '../support/app.ts'

/** The story of the examples runs once more: every request is taken, and answered as it was when it was recorded. */

const service = await startTestService({ now: () => Date.parse(NOW), publicUrl: 'https://billing.example.org' })

test('the service answers each example as it was recorded; if that should change: npm run record:examples, npm run generate', async () => {
  const client = await service.newAccount({
    name: DEMO_NAME,
    currency: DEMO_CURRENCY,
    clockAt: midnightOf(FIRST_DAY, DEMO_ZONE),
  })
  const recorded = await recordExamples(client.request)
  expect(Object.keys(recorded)).toEqual(Object.keys(RECORDED))
  for (const [id, call] of Object.entries(recorded)) expect({ id, ...call }).toEqual({ id, ...RECORDED[id] })
})
