import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addDays, addMonths } from '../../kernel/calendar.ts'
import {
  addCustomer,
  addPackage,
  addTax,
  asPreview,
  checkBooks,
  day,
  invoicesOf,
  moveTo,
} from '../../../test/support/shop.ts'
import { assertInTime } from '../../../test/support/in-time.ts'

/** Whatever is sold, what a preview shows is what is then made: lines, taxes, totals, dates, currency. */

const service = await startTestService()

const TODAY = '2028-01-31'
const termType = fc.constantFrom('months' as const, 'days' as const)
const wishes = fc.record({
  currency: fc.constantFrom('USD', 'JPY', 'KWD'),
  cents: fc.integer({ min: 0, max: 9_999_999 }),
  decimals: fc.integer({ min: 0, max: 4 }),
  term: fc.integer({ min: 1, max: 13 }),
  termType,
  setupFee: fc.integer({ min: 0, max: 3 }),
  trialFee: fc.integer({ min: 0, max: 3 }),
  trialPeriod: fc.constantFrom(0, 0, 1, 20),
  trialPeriodType: termType,
  startsIn: fc.integer({ min: -70, max: 40 }),
  endsAfter: fc.option(fc.integer({ min: 1, max: 500 })),
  syncsAfter: fc.option(fc.integer({ min: 1, max: 100 })),
  isProRata: fc.boolean(),
  numDaysBeforeToInv: fc.constantFrom(0, 0, 3, 30, 90),
  PaymentTermDays: fc.constantFrom(null, 0, 30),
  rates: fc.array(fc.constantFrom(0, 0.0775, 0.15, 0.19, 1), { maxLength: 3 }),
})

type Wish = typeof wishes extends fc.Arbitrary<infer W> ? W : never

function bodyOf(wish: Wish) {
  const start = addDays(TODAY, wish.startsIn)
  const { trialPeriod, trialPeriodType } = wish
  const first = trialPeriodType === 'months' ? addMonths(start, trialPeriod) : addDays(start, trialPeriod)
  const isSynced = wish.syncsAfter !== null && wish.isProRata
  return {
    StartDate: start,
    EndDate: wish.endsAfter === null ? null : addDays(start, wish.endsAfter),
    firstProrataSyncDate: isSynced ? addDays(first, wish.syncsAfter as number) : null,
    isProRata: wish.isProRata,
    numDaysBeforeToInv: wish.numDaysBeforeToInv,
  }
}

async function compareWithPreviews(client: TestClient, wish: Wish): Promise<void> {
  for (const [index, Perc] of wish.rates.entries()) await addTax(client, `Tax ${index}`, { Perc })
  const { packageID } = await addPackage(client, { ...wish, price: wish.cents / 10 ** wish.decimals })
  const customerID = await addCustomer(client, { CurrencyCode: wish.currency, PaymentTermDays: wish.PaymentTermDays })
  const body = { customerID, packageID, ...bodyOf(wish) }
  const first = await client.post('/v1/subscriptions/preview', body)
  expect(first.status).toBe(200)
  const added = await client.post('/v1/subscriptions', body)
  expect(added.status).toBe(201)
  let made = await invoicesOf(client)
  if (made.length > 0) expect(first.body).toEqual(asPreview(made[0], first.body))
  const path = `/v1/subscriptions/${added.body.subscriptionID}`
  for (let look = 0; look < 3; look += 1) {
    const preview = (await client.get(`${path}/preview`)).body
    if (made.length === 0) expect(first.body).toEqual(asPreview(preview, first.body))
    expect(day((await client.get(path)).body.comp_nextInvDate)).toBe(day(preview.InvoiceDate))
    await moveTo(client, day(preview.InvoiceDate) ?? '2030-06-01')
    const before = made.length
    made = await invoicesOf(client)
    if (preview.InvoiceDate === null) {
      expect(made).toHaveLength(before)
      break
    }
    expect(preview).toEqual(asPreview(made[before], preview))
  }
  await checkBooks(service, client)
}

test('what a preview shows is what is then made', async () => {
  const property = fc.asyncProperty(wishes, async (wish) => {
    const client = await service.newAccount({ clockAt: `${TODAY}T08:00:00.000Z` })
    await compareWithPreviews(client, wish)
  })
  await assertInTime(property, { numRuns: 15, limitMs: 12_000 })
})
