import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import {
  addTax,
  addPackage,
  codesOf,
  day,
  differencesOf,
  moveTo,
  readSubscription,
  rowsOf,
  shop,
} from '../../../test/support/shop.ts'
import { addComponent, linesOf, modify, TIERS, use } from './components.testing.ts'

/** Cases in which two rules of subscriptions meet: suspensions and rises, starts to come and usage, ends and pending changes. */

const service = await startTestService()

const unitsOf = async (client: Parameters<typeof readSubscription>[0], id: number) =>
  (await readSubscription(client, id)).componentUsage.map(({ NumUnits }: any) => NumUnits)

/** 31.00 a month from 1 January 2027 with 5 seats at 3.10, 10 from 11 January: the rise waits for 1 February. */
async function risingSeats() {
  const made = await shop(service)
  const { componentID } = await addComponent(made.client)
  const { subscriptionID: id } = (await made.add({ componentUsage: [{ componentID, NumUnits: 5 }] })).body
  await moveTo(made.client, '2027-01-11')
  expect((await modify(made.client, id, [{ componentID, NumUnits: 10 }])).status).toBe(204)
  const turn = async (word: string) =>
    expect((await made.client.put(`/v1/customers/${made.customerID}/${word}`)).status).toBe(204)
  return { ...made, id, componentID, turn }
}

describe('units of a suspended customer', () => {
  test.each([
    ['suspend', 'unsuspend', '2027-01-15'],
    ['archive', 'reopen', '2027-02-15'],
  ])('can be lowered while an earlier rise waits for the return (%s)', async (away, back, on) => {
    const { client, id, componentID, turn } = await risingSeats()
    await moveTo(client, '2027-01-12')
    await turn(away)
    await moveTo(client, on)
    expect((await modify(client, id, [{ componentID, NumUnits: 8 }], { When: 'now' })).status).toBe(204)
    expect((await use(client, id, { componentID, NumUnits: -1 })).status).toBe(204)
    expect(await unitsOf(client, id)).toEqual([7])
    expect(await rowsOf(client)).toHaveLength(1)
    await moveTo(client, '2027-02-20')
    await turn(back)
    await moveTo(client, '2027-03-01')
    const invoices = (await client.get('/v1/invoices')).body.slice(1)
    expect(invoices.map(linesOf)).toEqual([
      '2027-03-01: Plan 2027-03-01 to 2027-03-31 31 + Seats 2027-03-01 to 2027-03-31 21.7 + Seats 2027-01-11 to 2027-01-31, 21 of 31 days, 5 → 10 units 10.5',
    ])
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('cannot be raised in a cycle that was invoiced, and can in one that began while nothing was billed', async () => {
    const { client, id, componentID, turn } = await risingSeats()
    const other = await addComponent(client)
    await turn('suspend')
    const raises = [
      () => modify(client, id, [{ componentID, NumUnits: 11 }]),
      () => use(client, id, { componentID, NumUnits: 1 }),
      () => modify(client, id, [{ componentID }, { componentID: other.componentID, NumUnits: 1 }]),
    ]
    await moveTo(client, '2027-01-20')
    for (const raise of raises) expect(codesOf(await raise())).toEqual(['customer_not_billed'])
    await moveTo(client, '2027-02-10')
    for (const raise of raises) expect((await raise()).status).toBe(204)
    expect(await unitsOf(client, id)).toEqual([12, 1])
  })
})

test('a rise that waits for the return is cut by a cancellation for pro rata, as it is when it is charged at once', async () => {
  const { client, customerID, add } = await shop(service)
  const { componentID } = await addComponent(client)
  const wish = { isProRata: false, componentUsage: [{ componentID, NumUnits: 5 }] }
  const ids = [(await add(wish)).body.subscriptionID, (await add(wish)).body.subscriptionID]
  await moveTo(client, '2027-01-11')
  for (const id of ids) await modify(client, id, [{ componentID, NumUnits: 10 }])
  await moveTo(client, '2027-01-21')
  expect((await client.put(`/v1/subscriptions/${ids[0]}/cancel/prorata`)).status).toBe(204)
  await client.put(`/v1/customers/${customerID}/suspend`)
  expect((await client.put(`/v1/subscriptions/${ids[1]}/cancel/prorata`)).status).toBe(204)
  await moveTo(client, '2027-02-11')
  await client.put(`/v1/customers/${customerID}/unsuspend`)
  const line = 'Seats 2027-01-01 to 2027-01-20, 20 of 31 days, 5 → 10 units 10'
  expect((await client.get('/v1/invoices')).body.slice(2).map(linesOf)).toEqual([
    `2027-01-21: ${line}`,
    `2027-02-11: ${line}`,
  ])
  expect(await differencesOf(service, client)).toEqual([])
})

test('a change at renewal is told when it is asked for, and when it takes effect', async () => {
  const { client, add } = await shop(service)
  const dearer = await addPackage(client, { price: 62 })
  const { subscriptionID: id } = (await add()).body
  await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: dearer.packageID })
  await moveTo(client, '2027-02-02')
  const events = (await client.get('/v1/events?type=subscription.changed')).body
  expect(events.map(({ Date: at, Record: { packageID } }: any) => [day(at), packageID === dearer.packageID])).toEqual([
    ['2027-01-01', false],
    ['2027-02-01', true],
  ])
})

describe('before the start of a subscription', () => {
  const START = '2027-02-01'

  test('opening usage of a component that is left out is dropped with it', async () => {
    const { client, add } = await shop(service)
    const calls = await addComponent(client, { type: 'metered', brackets: TIERS, scheme: 'tiered', name: 'Calls' })
    const { componentID } = calls
    const { subscriptionID: id } = (await add({ StartDate: START, componentUsage: [{ componentID, NumUnits: 8 }] }))
      .body
    expect((await modify(client, id, [])).status).toBe(204)
    expect((await modify(client, id, [{ componentID, NumUnits: 3 }])).status).toBe(204)
    expect(await unitsOf(client, id)).toEqual([3])
    const reports = (await client.get(`/v1/subscriptions/${id}/usage`)).body
    expect(reports.map(({ NumUnits }: any) => NumUnits)).toEqual([3])
    const other = (await add({ StartDate: START, componentUsage: [{ componentID, NumUnits: 8 }] })).body.subscriptionID
    expect((await modify(client, other, [])).status).toBe(204)
    await moveTo(client, '2027-01-05')
    const moved = await client.put(`/v1/subscriptions/${other}/changestartdate`, { StartDate: '2027-01-02' })
    expect(moved.status).toBe(204)
    await moveTo(client, '2027-03-02')
    const lines = (await client.get('/v1/invoices')).body.map(linesOf)
    expect(lines.filter((line: string) => line.includes('Calls'))).toEqual([
      '2027-03-01: Plan 2027-03-01 to 2027-03-31 31 + Calls 2027-02-01 to 2027-02-28 15',
    ])
  })

  test('opening usage moves with the start, and its report names the invoice that charged it', async () => {
    const { client, add } = await shop(service)
    const { componentID } = await addComponent(client, { type: 'metered', name: 'Calls' })
    const { subscriptionID: id } = (await add({ StartDate: START, componentUsage: [{ componentID, NumUnits: 4 }] }))
      .body
    const moved = await client.put(`/v1/subscriptions/${id}/changestartdate`, { StartDate: '2027-01-10' })
    expect(moved.status).toBe(204)
    await moveTo(client, '2027-02-10')
    const charged = (await client.get('/v1/invoices')).body.at(-1)
    expect(linesOf(charged)).toContain('Calls 2027-01-10 to 2027-02-09 12.4')
    const [report] = (await client.get(`/v1/subscriptions/${id}/usage`)).body
    expect([day(report.Date), report.NumUnits, report.invoiceID]).toEqual(['2027-01-10', 4, charged.invoiceID])
  })

  test('a report sets the number of a quantity, as a modification would', async () => {
    const { client, add } = await shop(service)
    const seats = await addComponent(client)
    const extra = await addComponent(client, { type: 'opt-in', name: 'Extra' })
    const calls = await addComponent(client, { type: 'metered', name: 'Calls' })
    const componentUsage = [
      { componentID: seats.componentID, NumUnits: 2 },
      { componentID: extra.componentID, NumUnits: 0 },
      { componentID: calls.componentID },
    ]
    const { subscriptionID: id } = (await add({ StartDate: START, componentUsage })).body
    expect((await use(client, id, { componentID: seats.componentID, NumUnits: 3 })).status).toBe(204)
    expect((await use(client, id, { componentID: extra.componentID, NumUnits: 1 })).status).toBe(204)
    expect(await unitsOf(client, id)).toEqual([5, 1, 0])
    expect(codesOf(await use(client, id, { componentID: calls.componentID, NumUnits: 3 }))).toEqual([
      'subscription_not_begun',
    ])
    await moveTo(client, START)
    expect((await client.get('/v1/invoices')).body.map(linesOf)).toEqual([
      '2027-02-01: Plan 2027-02-01 to 2027-02-28 31 + Seats 2027-02-01 to 2027-02-28 15.5 + Extra 2027-02-01 to 2027-02-28 3.1',
    ])
  })

  test.each(['2026-12-15', '2027-01-11'])(
    'it cannot be moved to %s while the customer is suspended',
    async (StartDate) => {
      const { client, customerID, add } = await shop(service)
      const { subscriptionID: id } = (await add({ StartDate: START })).body
      await moveTo(client, '2027-01-11')
      expect((await client.put(`/v1/customers/${customerID}/suspend`)).status).toBe(204)
      const refused = await client.put(`/v1/subscriptions/${id}/changestartdate`, { StartDate })
      expect([refused.status, codesOf(refused)]).toEqual([409, ['customer_not_billed']])
      const later = await client.put(`/v1/subscriptions/${id}/changestartdate`, { StartDate: '2027-01-12' })
      expect(later.status).toBe(204)
    },
  )
})

describe('an end set to today', () => {
  test.each([
    ['a change of package', (id: number, packageID: number) => [`${id}/changepackage`, { packageID }] as const],
    ['a cancellation', (id: number) => [`${id}/cancel/renewal`, {}] as const],
  ])('drops %s that was pending', async (_what, change) => {
    const { client, add } = await shop(service)
    const dearer = await addPackage(client, { price: 62 })
    const { subscriptionID: id } = (await add()).body
    const [path, body] = change(id, dearer.packageID)
    expect((await client.put(`/v1/subscriptions/${path}`, body)).status).toBe(204)
    await moveTo(client, '2027-01-11')
    const ended = await client.put(`/v1/subscriptions/${id}/changeenddate`, { EndDate: '2027-01-11' })
    expect(ended.status).toBe(204)
    const shown = await readSubscription(client, id)
    expect(shown).toMatchObject({ comp_Status: 'Expired', isFutureChange: false, futureChange: null })
    expect((await client.put(`/v1/subscriptions/${id}/reactivate`)).status).toBe(204)
    expect(await readSubscription(client, id)).toMatchObject({ isFutureChange: false, futureChange: null })
    await moveTo(client, '2027-02-11')
    expect((await rowsOf(client)).slice(1)).toEqual([
      '2027-01-11: 2027-01-11 to 2027-02-10 31 = 31',
      '2027-02-11: 2027-02-11 to 2027-03-10 31 = 31',
    ])
  })
})

test('an end set to today is told as every other end, once', async () => {
  const { client, add } = await shop(service)
  const { componentID } = await addComponent(client, { type: 'metered', name: 'Calls' })
  const { subscriptionID: id } = (await add({ componentUsage: [{ componentID, NumUnits: 4 }] })).body
  await moveTo(client, '2027-01-11')
  await client.put(`/v1/subscriptions/${id}/changeenddate`, { EndDate: '2027-01-11' })
  expect((await client.get('/v1/invoices')).body.slice(1).map(linesOf)).toEqual([
    '2027-01-11: Calls 2027-01-01 to 2027-01-10 12.4',
  ])
  await moveTo(client, '2027-03-01')
  const ends = (await client.get('/v1/events?type=subscription.expired')).body
  expect(ends.map(({ Date: at }: any) => day(at))).toEqual(['2027-01-11'])
})

describe('the date of the next invoice', () => {
  test('is none with a free package pending, and the renewal with a paid one pending on a free one', async () => {
    const { client, plan, add, customerID } = await shop(service)
    const free = await addPackage(client, { price: 0 })
    const { subscriptionID: id } = (await add()).body
    expect(day((await readSubscription(client, id)).comp_nextInvDate)).toBe('2027-02-01')
    await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: free.packageID })
    expect((await readSubscription(client, id)).comp_nextInvDate).toBeNull()
    const listed = (await client.get(`/v1/subscriptions?customerID=${customerID}`)).body
    expect(listed.map(({ comp_nextInvDate }: any) => comp_nextInvDate)).toEqual([null])
    await moveTo(client, '2027-02-01')
    expect((await readSubscription(client, id)).comp_nextInvDate).toBeNull()
    await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: plan.packageID })
    expect(day((await readSubscription(client, id)).comp_nextInvDate)).toBe('2027-03-01')
    await moveTo(client, '2027-03-01')
    expect(await rowsOf(client)).toHaveLength(2)
  })

  test('is found, and previewed, behind periods that cost nothing, however many there are', async () => {
    const { client, add } = await shop(service, { price: 0, termType: 'days' })
    const seats = await addComponent(client, { term: 12, brackets: [[90, null]] })
    const { subscriptionID: id } = (await add({ componentUsage: [{ componentID: seats.componentID, NumUnits: 1 }] }))
      .body
    expect(day((await readSubscription(client, id)).comp_nextInvDate)).toBe('2028-01-01')
    const preview = (await client.get(`/v1/subscriptions/${id}/preview`)).body
    expect([day(preview.InvoiceDate), preview.Total]).toEqual(['2028-01-01', 90])
  })

  test('is that of the components with a free package pending', async () => {
    const { client, add } = await shop(service)
    const free = await addPackage(client, { price: 0 })
    const seats = await addComponent(client, { term: 3 })
    const componentUsage = [{ componentID: seats.componentID, NumUnits: 5 }]
    const { subscriptionID: id } = (await add({ componentUsage })).body
    await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: free.packageID })
    expect(day((await readSubscription(client, id)).comp_nextInvDate)).toBe('2027-04-01')
  })
})

describe('usage', () => {
  test.each(['2027-01-01', '2027-01-11', '2027-02-11'])('shows 0 units after full credit on %s', async (on) => {
    const { client, add } = await shop(service)
    const { componentID } = await addComponent(client, { type: 'metered', brackets: TIERS, name: 'Calls' })
    const { subscriptionID: id } = (await add({ componentUsage: [{ componentID, NumUnits: 0 }] })).body
    await moveTo(client, on)
    expect((await use(client, id, { componentID, NumUnits: 4 })).status).toBe(204)
    expect(await unitsOf(client, id)).toEqual([4])
    expect((await client.put(`/v1/subscriptions/${id}/cancel/fullcredit`)).status).toBe(204)
    expect(await unitsOf(client, id)).toEqual([0])
    await moveTo(client, '2027-02-20')
    expect(await unitsOf(client, id)).toEqual([0])
  })

  test('shows 0 units after full credit in the trial, of a suspended customer, and when more is reported later', async () => {
    const { client, customerID, add } = await shop(service, { trialPeriod: 10 })
    const { componentID } = await addComponent(client, { type: 'metered', brackets: TIERS, name: 'Calls' })
    const { subscriptionID: id } = (await add({ componentUsage: [{ componentID }] })).body
    const other = (await add({ componentUsage: [{ componentID }] })).body.subscriptionID
    await use(client, id, { componentID, NumUnits: 4 })
    expect(await unitsOf(client, id)).toEqual([4])
    await client.put(`/v1/subscriptions/${id}/cancel/fullcredit`)
    expect(await unitsOf(client, id)).toEqual([0])
    await moveTo(client, '2027-01-20')
    await use(client, other, { componentID, NumUnits: 4 })
    await client.put(`/v1/customers/${customerID}/suspend`)
    await client.put(`/v1/subscriptions/${other}/cancel/fullcredit`)
    expect(await unitsOf(client, other)).toEqual([0])
    expect((await use(client, other, { componentID, NumUnits: 2, Date: '2027-01-12' })).status).toBe(204)
    expect(await unitsOf(client, other)).toEqual([0])
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect((await use(client, other, { componentID, NumUnits: 5, Date: '2027-01-12' })).status).toBe(204)
    expect(await readSubscription(client, other)).toMatchObject({ comp_nextInvDate: null })
  })

  test('of several components corrected downward at once is one credit note, with the tax of the invoice on their sum', async () => {
    const { client, add } = await shop(service)
    await addTax(client, 'VAT', { Perc: 0.15 })
    const calls: number[] = []
    for (let n = 0; n < 8; n += 1)
      calls.push((await addComponent(client, { type: 'metered', brackets: [[0.1, null]], name: `M${n}` })).componentID)
    const componentUsage = calls.map((componentID) => ({ componentID }))
    const { subscriptionID: id } = (await add({ EndDate: '2027-02-01', componentUsage })).body
    for (const componentID of calls) await use(client, id, { componentID, NumUnits: 2 })
    await moveTo(client, '2027-02-03')
    const corrected = calls.map((componentID) => ({ componentID, NumUnits: -1, Date: '2027-01-05' }))
    const path = `/v1/subscriptions/${id}/components/recordusage`
    expect((await client.put(path, { componentUsage: corrected })).status).toBe(204)
    await moveTo(client, '2027-02-04')
    const notes = (await client.get('/v1/credits')).body
    expect(notes.map(({ Amount }: any) => Amount)).toEqual([0.92])
    expect(notes[0].Memo).toBe(
      `Subscription ${id}: usage of M0, M1, M2, M3, M4, M5, M6, and M7 Jan 1, 2027 to Jan 31, 2027 corrected`,
    )
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('corrected downward is told by the Memo of its credit note: the cycle, and no unused day', async () => {
    const { client, add } = await shop(service)
    const wish = { type: 'metered', brackets: TIERS, scheme: 'tiered', name: 'Calls' } as const
    const { componentID } = await addComponent(client, wish)
    const { subscriptionID: id } = (await add({ EndDate: '2027-02-01', componentUsage: [{ componentID }] })).body
    await use(client, id, { componentID, NumUnits: 8 })
    await moveTo(client, '2027-02-03')
    await use(client, id, { componentID, NumUnits: -3, Date: '2027-01-05' })
    await moveTo(client, '2027-02-04')
    const [note] = (await client.get('/v1/credits')).body
    const [told] = (await client.get('/v1/events?type=credit_note.created')).body
    // An event has no numbers of invoices: they are computed when an answer is sent.
    expect(told.Record).toEqual(
      JSON.parse(JSON.stringify(note, (name, value) => (name === 'invoiceNum' ? undefined : value))),
    )
    expect([note.Amount, note.Memo]).toEqual([
      15,
      `Subscription ${id}: usage of Calls Jan 1, 2027 to Jan 31, 2027 corrected`,
    ])
  })
})
