import { expect, test } from 'vitest'
import { FIRST_DAY, NOW, recordExamples, withoutRandom } from '../../scripts/recording.ts'
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

test('what was drawn is replaced whatever it begins with, and the same text always by the same other', () => {
  const drawn = (Token: string, SetAt: string) => ({
    getX: {
      path: '/v1/x',
      body: undefined,
      status: 200,
      answer: { Token, SetAt, Again: `https://x/${Token}` },
      preview: undefined,
    },
  })
  const tokens = ['aB3', '-B3', '_B3', '--3', 'aBc'].map((start) => `${start}${'xY-z'.repeat(8)}`.slice(0, 32))
  const instants = ['2026-11-24T08:10:07.000Z', '2026-11-24T08:10:00.001Z', '2026-11-24T08:10:59.999Z']
  const [first, ...others] = tokens.flatMap((token) => instants.map((at) => withoutRandom(drawn(token, at))))
  expect(first?.['getX']?.answer).toMatchObject({ SetAt: NOW, Again: expect.not.stringContaining('xY-z') })
  for (const other of others) expect(other).toEqual(first)
})

test('the nonce in the name of a charge is replaced, with capitals or without', () => {
  const named = (transactionID: string) =>
    withoutRandom({
      getX: { path: '/v1/x', body: undefined, status: 200, answer: { transactionID }, preview: undefined },
    })
  expect(named('sandbox-charge-37.--_dc8_-4z12')).toEqual(named('sandbox-charge-37.S7-hDxRKLoCz'))
  expect(named('sandbox-charge-38.S7-hDxRKLoCz')).not.toEqual(named('sandbox-charge-37.S7-hDxRKLoCz'))
})
