import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addPackage, checkBooks, day, invoicesOf, moveTo, readSubscription, subscribe } from '../support/shop.ts'
import { addDays } from '../../src/kernel/calendar.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { assertInTime } from '../support/in-time.ts'

/** Whatever a customer does and in whatever order: no day is charged twice, nothing is billed while it is not billed, nothing is left due. */

const service = await startTestService()

const START = '2027-01-31'
const steps = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 75 }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom('suspend' as const, 'unsuspend' as const, 'archive' as const, 'reopen' as const),
  },
  { weight: 2, arbitrary: fc.constantFrom('cancel' as const, 'drop' as const) },
)
const lives = fc.record({
  term: fc.constantFrom(1, 1, 3, 12),
  termType: fc.constantFrom('months' as const, 'months' as const, 'days' as const),
  setupFee: fc.constantFrom(0, 5),
  trialPeriod: fc.constantFrom(0, 20),
  startsIn: fc.integer({ min: 0, max: 60 }),
  endsAfter: fc.option(fc.integer({ min: 1, max: 400 })),
  isProRata: fc.boolean(),
  leadDays: fc.constantFrom(0, 10, 40),
  steps: fc.array(steps, { minLength: 4, maxLength: 12 }),
})
type Life = typeof lives extends fc.Arbitrary<infer L> ? L : never

interface Charged {
  from: string
  until: string
  invoiceDate: string
}

const chargedOf = (client: TestClient) =>
  service.db.reader(client.id).rows<Charged>(sql`
    select c.period_from as "from", c.period_until as "until", i.invoice_date as "invoiceDate"
      from charges c join invoices i on i.account_id = c.account_id and i.invoice_id = c.invoice_id
     where c.account_id = ${client.id} and c.kind = 'package' order by c.period_from`)

async function live(client: TestClient, life: Life): Promise<{ gaps: [string, string][]; today: string }> {
  const StartDate = addDays(START, life.startsIn)
  const EndDate = life.endsAfter === null ? null : addDays(StartDate, life.endsAfter)
  const term = life.termType === 'days' ? life.term * 13 : life.term
  const body = { StartDate, EndDate, isProRata: life.isProRata, numDaysBeforeToInv: life.leadDays }
  const { subscriptionID, customerID } = await subscribe(client, { ...life, term, price: 310 }, body)
  const gaps: [string, string][] = []
  const paused = { suspend: false, archive: false }
  let pausedOn: string | null = null
  let today = START
  for (const step of life.steps) {
    if (typeof step === 'number') {
      today = addDays(today, step)
      const before = (await invoicesOf(client)).length
      expect(await moveTo(client, today)).toMatchObject({ Failed: [] })
      if (pausedOn) expect(await invoicesOf(client)).toHaveLength(before)
    } else if (step === 'cancel' || step === 'drop') {
      const path = `/v1/subscriptions/${subscriptionID}`
      const { status } = await (step === 'cancel'
        ? client.put(`${path}/cancel/renewal`)
        : client.delete(`${path}/futurechanges`))
      expect([204, 409]).toContain(status)
    } else {
      expect((await client.put(`/v1/customers/${customerID}/${step}`)).status).toBe(204)
      if (step === 'suspend' || step === 'unsuspend') paused.suspend = step === 'suspend'
      else paused.archive = step === 'archive'
      const isPaused = paused.suspend || paused.archive
      if (isPaused) pausedOn ??= today
      else if (pausedOn) gaps.push([pausedOn, today])
      if (!isPaused) pausedOn = null
    }
    const shown = await readSubscription(client, subscriptionID)
    const next = day(shown.comp_nextInvDate)
    if (next !== null) expect(next > today).toBe(true)
    if (pausedOn) expect(next).toBeNull()
    const preview = (await client.get(`/v1/subscriptions/${subscriptionID}/preview`)).body
    expect(day(preview.InvoiceDate)).toBe(next)
  }
  return { gaps, today }
}

function checkDays(charged: readonly Charged[], gaps: readonly [string, string][]): void {
  charged.forEach(({ from, until, invoiceDate }, index) => {
    expect(from < until).toBe(true)
    expect(from >= (charged[index - 1]?.until ?? '')).toBe(true)
    for (const [gapFrom, gapUntil] of gaps) {
      // What was invoiced when the gap began, ahead or on its first day, stays.
      expect(from < gapFrom || from >= gapUntil || invoiceDate <= gapFrom).toBe(true)
      expect(invoiceDate <= gapFrom || invoiceDate >= gapUntil).toBe(true)
    }
  })
}

test('no day is charged twice and no gap is billed, whatever happens in whatever order', async () => {
  const property = fc.asyncProperty(lives, async (life) => {
    const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
    const { gaps, today } = await live(client, life)
    checkDays(await chargedOf(client), gaps)
    await checkBooks(service, client)
    const before = await invoicesOf(client)
    expect(await moveTo(client, today)).toMatchObject({ Invoices: 0, Failed: [] })
    expect(await invoicesOf(client)).toEqual(before)
  })
  await assertInTime(property, { numRuns: 12, limitMs: 12_000 })
})

test('many subscriptions of one customer keep to themselves', async () => {
  const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
  const { customerID } = await subscribe(client, { price: 1 })
  const { packageID } = await addPackage(client, { price: 2 })
  for (let n = 0; n < 5; n += 1) await client.post('/v1/subscriptions', { customerID, packageID })
  expect(await moveTo(client, '2027-02-28')).toMatchObject({ Invoices: 6 })
  expect((await client.get(`/v1/customers/${customerID}`)).body).toMatchObject({ ActiveSubs: 6, Balance: 22 })
})
