import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addCustomer, addTax, asPreview, day, differencesOf, invoicesOf, moveTo } from '../support/shop.ts'
import { addDays, type IsoDate } from '../../src/kernel/calendar.ts'
import { sql } from '../../src/platform/database/sql.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { assertInTime } from '../support/in-time.ts'

/** Whatever happens to a recurring invoice: its periods never overlap, follow each other while it runs, and previews come true. */

const service = await startTestService()
const START = '2027-01-31'

const acts = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 5, arbitrary: fc.constant('wait' as const) },
      { weight: 4, arbitrary: fc.constantFrom('price' as const, 'term' as const, 'lead' as const) },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          'end' as const,
          'cancel' as const,
          'again' as const,
          'suspend' as const,
          'return' as const,
        ),
      },
    ),
    n: fc.integer({ min: 0, max: 50 }),
  }),
  { minLength: 4, maxLength: 12, size: 'max' },
)
const starts = fc.record({
  Term: fc.constantFrom(1, 3, 10),
  startsIn: fc.constantFrom(0, 0, 12, -45),
  numDaysBeforeToInv: fc.constantFrom(0, 0, 7, 40),
})

interface Living {
  client: TestClient
  customerID: number
  path: string
  today: IsoDate
  /** True once a rule has let periods go: a suspension, an end, a cancellation. */
  mayMiss: boolean
}

const typeOf = (Term: number) => ({ Term, TermType: Term === 10 ? 'days' : 'months' })

async function wait(it: Living, days: number): Promise<void> {
  const { client, path } = it
  const preview = (await client.get(`${path}/preview`)).body
  const before = (await invoicesOf(client)).length
  it.today = addDays(it.today, days)
  expect(await moveTo(client, it.today)).toMatchObject({ Failed: [] })
  const made = (await invoicesOf(client)).slice(before)
  const on = day(preview.InvoiceDate)
  if (on === null || on > it.today) expect(made).toEqual([])
  else expect(asPreview(made[0], preview)).toEqual(preview)
  expect(await moveTo(client, it.today)).toMatchObject({ Invoices: 0, Failed: [] })
}

/** A record that was read is sent back changed; one that has ended refuses. */
async function edit(it: Living, changes: object): Promise<void> {
  const { body } = await it.client.get(it.path)
  const reply = await it.client.put(it.path, { ...body, ...changes })
  const isOver = ['Cancelled', 'Expired'].includes(body.comp_Status)
  const isBeforeStart = 'EndDate' in changes && reply.text.includes('must be after StartDate')
  expect([reply.status, reply.text]).toEqual([isBeforeStart ? 400 : isOver ? 409 : 204, reply.text])
}

async function perform(it: Living, kind: string, n: number): Promise<void> {
  const { client, path, today, customerID } = it
  if (kind === 'wait') return wait(it, n + 1)
  if (kind === 'price') return edit(it, { RecurInvoiceCharges: [{ Line: 'Rent', UnitCostEx: n + 0.995 }] })
  if (kind === 'term') return edit(it, typeOf([1, 3, 10][n % 3]!))
  if (kind === 'lead') return edit(it, { numDaysBeforeToInv: n })
  it.mayMiss = true
  if (kind === 'end') return edit(it, { EndDate: n % 4 === 0 ? null : addDays(today, n) })
  if (kind === 'cancel') return void (await client.delete(path))
  if (kind === 'again') return void (await client.put(`${path}/reactivate`, {}))
  await client.put(`/v1/customers/${customerID}/${kind === 'suspend' ? 'suspend' : 'unsuspend'}`)
}

async function checkPeriods({ client, mayMiss }: Living): Promise<void> {
  const periods = await service.db.reader(client.id).rows<{ from: IsoDate; until: IsoDate }>(sql`
    select distinct period_from as "from", period_until as "until" from charges where account_id = ${client.id} order by 1`)
  periods.slice(1).forEach(({ from }, index) => {
    expect(from >= periods[index]!.until).toBe(true)
    if (!mayMiss) expect(from).toBe(periods[index]!.until)
  })
}

test('previews come true, no period is billed twice, none is left out while it runs, running again makes nothing', async () => {
  const property = fc.asyncProperty(starts, acts, async ({ Term, startsIn, numDaysBeforeToInv }, history) => {
    const client = await service.newAccount({ clockAt: `${START}T08:00:00.000Z` })
    await addTax(client, 'VAT', { Perc: 0.0777 })
    const customerID = await addCustomer(client)
    const body = {
      customerID,
      ...typeOf(Term),
      StartDate: addDays(START, startsIn),
      numDaysBeforeToInv,
      RecurInvoiceCharges: [
        { Line: 'Rent', UnitCostEx: 10.005, Qty: 3 },
        { Line: 'Rebate', UnitCostEx: 1, Qty: -1 },
      ],
    }
    const added = await client.post('/v1/recurring-invoices', body)
    expect(added.status).toBe(201)
    const path = `/v1/recurring-invoices/${added.body.recurInvoiceID}`
    const it: Living = { client, customerID, path, today: START, mayMiss: false }
    for (const { kind, n } of history) {
      await perform(it, kind, n)
      await checkPeriods(it)
    }
    await wait(it, 70)
    await checkPeriods(it)
    expect(await differencesOf(service, client)).toEqual([])
  })
  await assertInTime(property, {
    numRuns: Number(process.env['LIVES'] ?? 12),
    limitMs: Number(process.env['LIVES_MS'] ?? 12_000),
  })
}, 300_000)
