import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService, type TestClient, type TestService } from '../../../test/support/app.ts'
import { recomputeCharge } from '../../engine/explain.ts'
import { addDays } from '../../kernel/calendar.ts'
import { sql } from '../../platform/database/sql.ts'
import { listCharges } from '../invoices/queries.ts'
import { factsOf } from '../invoices/wire.ts'
import { asPreview, day, invoicesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { addComponent, modify, TIERS, use } from './components.testing.ts'
import { assertInTime } from '../../../test/support/in-time.ts'

/** Whatever happens to components and their usage: nothing is a server error, previews come true, and every amount follows from its facts. */

const service = await startTestService()

const act = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), n: fc.integer({ min: 1, max: 40 }) }),
  fc.record({
    kind: fc.constantFrom('use' as const, 'late' as const, 'set' as const),
    n: fc.integer({ min: -3, max: 9 }),
  }),
  fc.record({ kind: fc.constantFrom('seats' as const, 'seatsNow' as const), n: fc.integer({ min: 0, max: 12 }) }),
  fc.record({ kind: fc.constantFrom('leave' as const, 'bulk' as const), n: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    kind: fc.constantFrom(
      'suspend' as const,
      'return' as const,
      'end' as const,
      'reactivate' as const,
      'cancel' as const,
    ),
    n: fc.integer({ min: 0, max: 3 }),
  }),
)

const life = fc.record({
  price: fc.constantFrom(0, 31),
  term: fc.constantFrom(1, 3),
  days: fc.constantFrom(10, 45),
  leadDays: fc.constantFrom(0, 7),
  isProRata: fc.constantFrom(true, true, false),
  acts: fc.array(act, { minLength: 4, maxLength: 12, size: 'max' }),
})

const CANCELS = ['renewal', 'norefund', 'prorata', 'fullcredit']

interface Living {
  client: TestClient
  path: string
  id: number
  customerID: number
  seats: number
  messages: number
  today: string
}

let keys = 0

async function doAct(it: Living, kind: string, n: number) {
  const { client, id, path, seats, messages, today } = it
  const list = (NumUnits: number) => [{ componentID: seats, NumUnits }, { componentID: messages }]
  switch (kind) {
    case 'wait':
      it.today = addDays(today, n)
      return void (await moveTo(client, it.today))
    case 'use':
      return use(client, id, { componentID: messages, NumUnits: n })
    case 'late':
      return use(client, id, { componentID: messages, NumUnits: n, Date: addDays(today, -5 * Math.abs(n)) })
    case 'set':
      return use(client, id, { componentID: messages, NumUnits: Math.abs(n), isSetUnits: true })
    case 'seats':
      return modify(client, id, list(n))
    case 'seatsNow':
      return modify(client, id, list(n), { When: 'now' })
    case 'leave':
      return modify(client, id, [])
    case 'bulk':
      keys += 1
      return client.post('/v1/usage', {
        Usage: [{ subscriptionID: id, componentID: messages, NumUnits: n, UsageKey: `p${keys}` }],
      })
    case 'suspend':
      return client.put(`/v1/customers/${it.customerID}/suspend`)
    case 'return':
      return client.put(`/v1/customers/${it.customerID}/unsuspend`)
    case 'end':
      return client.put(`${path}/changeenddate`, { EndDate: n === 0 ? null : addDays(today, n * 20) })
    case 'reactivate':
      return client.put(`${path}/reactivate`, {})
    default:
      return client.put(`${path}/cancel/${CANCELS[n]}`, {})
  }
}

async function checkAmounts({ db }: TestService, client: TestClient): Promise<void> {
  const reader = db.reader(client.id)
  const invoices = await invoicesOf(client)
  const ids = invoices.map(({ invoiceID }) => BigInt(invoiceID))
  for (const line of ids.length === 0 ? [] : await listCharges(reader, client.id, ids))
    expect(recomputeCharge(factsOf(line, 'USD'))).toBe(line.netMinor)
  const over = await reader.rows(sql`
    select 1 from charges where account_id = ${client.id} and credited_minor > greatest(net_minor, 0)`)
  expect(over).toEqual([])
  for (const { Total, TotalNegativeAdjs } of invoices) {
    expect(Total).toBeGreaterThan(0)
    expect(TotalNegativeAdjs).toBeLessThanOrEqual(Total)
  }
}

/** Moves the clock to the day that the preview names, and compares what is then made. */
async function comparePreview(it: Living): Promise<void> {
  const { client, path } = it
  const { body: s } = await client.get(path)
  const preview = (await client.get(`${path}/preview`)).body
  if (preview.InvoiceDate === null || ['Cancelled', 'Expired'].includes(s.comp_Status)) return
  const before = (await invoicesOf(client)).length
  await moveTo(client, day(preview.InvoiceDate) as string)
  const made = await invoicesOf(client)
  expect(preview).toEqual(asPreview(made[before], preview))
  await moveTo(client, day(preview.InvoiceDate) as string)
  expect(await invoicesOf(client)).toHaveLength(made.length)
}

test('a life with components adds up, and its next invoice is the one that was shown', async () => {
  const property = fc.asyncProperty(life, async ({ price, term, days, leadDays, isProRata, acts }) => {
    const { client, add, customerID } = await shop(service, { price })
    const seats = (await addComponent(client, { term })).componentID
    const messages = (
      await addComponent(client, { type: 'metered', scheme: 'tiered', brackets: TIERS, term: days, termType: 'days' })
    ).componentID
    const componentUsage = [{ componentID: seats, NumUnits: 3 }, { componentID: messages }]
    const added = await add({ componentUsage, numDaysBeforeToInv: leadDays, isProRata })
    expect(added.status).toBe(201)
    const id: number = added.body.subscriptionID
    const it: Living = { client, id, path: `/v1/subscriptions/${id}`, customerID, seats, messages, today: '2027-01-01' }
    for (const { kind, n } of acts) {
      const reply = await doAct(it, kind, n)
      if (reply) expect([kind, reply.status < 500, reply.text]).toEqual([kind, true, reply.text])
    }
    await checkAmounts(service, client)
    await comparePreview(it)
    await checkAmounts(service, client)
  })
  await assertInTime(property, { numRuns: 12, limitMs: 12_000 })
})
