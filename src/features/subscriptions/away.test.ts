import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addPackage, checkBooks, codesOf, differencesOf, moveTo, rowsOf, shop } from '../../../test/support/shop.ts'
import { addComponent, linesOf, modify, use } from './components.testing.ts'

/** Changes while the customer is suspended: refused where they would charge for what was invoiced, else taken and billed on the return. */

const service = await startTestService()

/** A subscription since 1 January with seats in the cycles of its package, whose customer is suspended from 20 January; it is 10 February. */
async function away(term: number, seats: number, body: object = {}) {
  const made = await shop(service, { price: term === 12 ? 365 : 31, term })
  const { client, customerID } = made
  const { componentID } = await addComponent(client, { term })
  const extra = await addComponent(client, { term, name: 'Extra' })
  const componentUsage = [{ componentID, NumUnits: seats }]
  const { subscriptionID: id } = (await made.add({ componentUsage, ...body })).body
  const dearer = await addPackage(client, { name: 'Dear', price: term === 12 ? 730 : 62, term })
  const quarterly = await addPackage(client, { name: 'Quarter', price: 90, term: 3 })
  await moveTo(client, '2027-01-20')
  await client.put(`/v1/customers/${customerID}/suspend`)
  await moveTo(client, '2027-02-10')
  const change = (path: string, more: object = {}) => client.put(`/v1/subscriptions/${id}/${path}`, more)
  const seatsTo = (NumUnits: number) => modify(client, id, [{ componentID, NumUnits }])
  const back = async (on: string) => {
    await moveTo(client, on)
    expect((await client.put(`/v1/customers/${customerID}/unsuspend`)).status).toBe(204)
  }
  const laterRows = async () => (await client.get('/v1/invoices')).body.slice(1).map(linesOf)
  return { ...made, id, componentID, extra, dearer, quarterly, change, seatsTo, back, laterRows }
}

type Away = Awaited<ReturnType<typeof away>>

const CHANGES: [string, (one: Away) => Promise<{ status: number; body: any }>][] = [
  ['components/modify, more seats', ({ seatsTo }) => seatsTo(6)],
  ['components/recordusage of seats', ({ client, id, componentID }) => use(client, id, { componentID, NumUnits: 1 })],
  [
    'components/modify, another component',
    ({ client, id, componentID, extra }) =>
      modify(client, id, [{ componentID }, { componentID: extra.componentID, NumUnits: 1 }]),
  ],
  [
    'changepackage with an equal term',
    ({ change, dearer }) => change('changepackage', { packageID: dearer.packageID, When: 'now' }),
  ],
  [
    'changepackage with another term',
    ({ change, quarterly }) => change('changepackage', { packageID: quarterly.packageID, When: 'now' }),
  ],
]

describe('of a year that was invoiced', () => {
  test.each(CHANGES)('%s is 409', async (_name, change) => {
    const one = await away(12, 5)
    const refused = await change(one)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['customer_not_billed']])
    expect(await one.laterRows()).toEqual([])
  })

  test('fewer seats are taken', async () => {
    const { seatsTo } = await away(12, 5)
    expect((await seatsTo(4)).status).toBe(204)
  })

  test('an end that is cleared is 409, and one that comes earlier gives back at once', async () => {
    // 365.00 for the year, invoiced to 30 June: 181 of 365 days, 181.00; and five seats, 15.50 × 181 / 365.
    const { client, change, laterRows } = await away(12, 5, { EndDate: '2027-07-01' })
    const refused = await change('changeenddate', { EndDate: null })
    expect([refused.status, codesOf(refused)]).toEqual([409, ['customer_not_billed']])
    expect((await change('changeenddate', { EndDate: '2027-06-01' })).status).toBe(204)
    const [note] = (await client.get('/v1/credits')).body
    // 30 days of the package at 1.00, and of the seats 15.50 × 30 / 365 = 1.27.
    expect([note.Amount, await laterRows()]).toEqual([31.27, []])
    expect(await differencesOf(service, client)).toEqual([])
  })
})

describe('of a month that began while nothing was billed', () => {
  const seats = (units: string) => `Seats 2027-03-01 to 2027-03-31 ${units}`
  const PLAN = 'Plan 2027-03-01 to 2027-03-31 31'
  const billed: Record<string, string> = {
    'components/modify, more seats': `${PLAN} + ${seats('18.6')}`,
    'components/recordusage of seats': `${PLAN} + ${seats('3.1')}`,
    'components/modify, another component': `${PLAN} + Extra 2027-03-01 to 2027-03-31 3.1`,
    'changepackage with an equal term': 'Dear 2027-03-01 to 2027-03-31 62',
  }

  test.each(CHANGES.filter(([name]) => name in billed))(
    '%s is taken, and billed on the next renewal after the return',
    async (name, change) => {
      const one = await away(1, 0)
      expect((await change(one)).status).toBe(204)
      expect(await one.laterRows()).toEqual([])
      await one.back('2027-02-20')
      expect(await one.laterRows()).toEqual([])
      await moveTo(one.client, '2027-03-01')
      expect(await one.laterRows()).toEqual([`2027-03-01: ${billed[name]}`])
      await checkBooks(service, one.client)
    },
  )

  test('a change to another term is taken, counts from its day, and has the rest of its period billed on the return', async () => {
    const { client, change, quarterly, back, laterRows } = await away(1, 0)
    expect((await change('changepackage', { packageID: quarterly.packageID, When: 'now' })).status).toBe(204)
    expect(await laterRows()).toEqual([])
    await back('2027-02-20')
    // 10 February to 9 May are 89 days, of which 79 are left: 90.00 × 79 / 89.
    expect(await laterRows()).toEqual(['2027-02-20: Quarter 2027-02-20 to 2027-05-09, 79 of 89 days 79.89'])
    await moveTo(client, '2027-05-10')
    expect((await laterRows()).slice(1)).toEqual(['2027-05-10: Quarter 2027-05-10 to 2027-08-09 90'])
    await checkBooks(service, client)
  })

  test('one that comes back on the day of the change is billed as it then stands', async () => {
    const { client, id, componentID, extra, back, laterRows } = await away(1, 0)
    await modify(client, id, [
      { componentID, NumUnits: 2 },
      { componentID: extra.componentID, NumUnits: 1 },
    ])
    await back('2027-02-10')
    await moveTo(client, '2027-03-01')
    expect(await laterRows()).toEqual([`2027-03-01: ${PLAN} + ${seats('6.2')} + Extra 2027-03-01 to 2027-03-31 3.1`])
    await checkBooks(service, client)
  })

  test('an end that is moved or cleared is taken, and so is dropping a cancellation that cut nothing', async () => {
    const { client, id, change, back, laterRows } = await away(1, 0, { EndDate: '2027-02-20' })
    expect((await change('changeenddate', { EndDate: '2027-03-10' })).status).toBe(204)
    expect((await change('changeenddate', { EndDate: null })).status).toBe(204)
    expect((await change('cancel/renewal')).status).toBe(204)
    expect((await client.delete(`/v1/subscriptions/${id}/futurechanges`)).status).toBe(204)
    await back('2027-02-20')
    await moveTo(client, '2027-03-01')
    expect(await laterRows()).toEqual([`2027-03-01: ${PLAN}`])
    await checkBooks(service, client)
  })
})

describe('another term of the same package', () => {
  const TERMS = [
    { ChargePrice: 31, ChargeTerm: 1, ChargeTermType: 'months' },
    { ChargePrice: 90, ChargeTerm: 3, ChargeTermType: 'months' },
    { ChargePrice: 365, ChargeTerm: 12, ChargeTermType: 'months' },
  ]

  /** A subscription of a term since 1 January, whose customer is suspended from 20 January; it is 10 February. */
  async function awayOn(Term: number) {
    const { client, customerID } = await shop(service)
    const { packageGroupID } = (await client.post('/v1/packagegroups', { GroupName: 'Terms' })).body
    const rate = { CurrencyCode: 'USD', SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days' }
    const version = { isActive: true, isDefault: true, packageVersionRates: [{ ...rate, PackageRateTerms: TERMS }] }
    const { packageID } = (
      await client.post('/v1/packages', {
        ...{ packageGroupID, packageCode: 'TERMS', Name: 'Plan', Descrip: 'A plan', isActive: true },
        PackageVersion: { VersionName: '1', ...version },
      })
    ).body
    const wish = { customerID, packageID, Term, TermType: 'months' }
    const { subscriptionID: id } = (await client.post('/v1/subscriptions', wish)).body
    await moveTo(client, '2027-01-20')
    await client.put(`/v1/customers/${customerID}/suspend`)
    await moveTo(client, '2027-02-10')
    const change = (to: number, more: object = {}) =>
      client.put(`/v1/subscriptions/${id}/changeterm`, { Term: to, TermType: 'months', ...more })
    const back = async () => {
      await moveTo(client, '2027-02-20')
      expect((await client.put(`/v1/customers/${customerID}/unsuspend`)).status).toBe(204)
    }
    const laterRows = async () => (await client.get('/v1/invoices')).body.slice(1).map(linesOf)
    return { client, change, back, laterRows }
  }

  test('of a year that was invoiced is 409', async () => {
    const { change, laterRows } = await awayOn(12)
    const refused = await change(1, { When: 'now' })
    expect([refused.status, codesOf(refused)]).toEqual([409, ['customer_not_billed']])
    expect(await laterRows()).toEqual([])
  })

  test('of a month that began while nothing was billed is taken, and the rest of its period billed on the return', async () => {
    const { client, change, back, laterRows } = await awayOn(1)
    expect((await change(3, { When: 'now' })).status).toBe(204)
    expect(await laterRows()).toEqual([])
    await back()
    // 10 February to 9 May are 89 days, of which 79 are left: 90.00 × 79 / 89.
    expect(await laterRows()).toEqual(['2027-02-20: Plan 2027-02-20 to 2027-05-09, 79 of 89 days 79.89'])
    await moveTo(client, '2027-05-10')
    expect((await laterRows()).slice(1)).toEqual(['2027-05-10: Plan 2027-05-10 to 2027-08-09 90'])
    await checkBooks(service, client)
  })

  test('from the renewal on is taken of any, and billed from there', async () => {
    expect((await (await awayOn(12)).change(1)).status).toBe(204)
    const { client, change, back, laterRows } = await awayOn(1)
    expect((await change(3)).status).toBe(204)
    await back()
    expect(await laterRows()).toEqual([])
    await moveTo(client, '2027-03-01')
    expect(await laterRows()).toEqual(['2027-03-01: Plan 2027-03-01 to 2027-05-31 90'])
    await checkBooks(service, client)
  })
})

test('a pending cancellation that cut a cycle which was invoiced is not dropped, nor reactivated', async () => {
  const { client, customerID, add } = await shop(service)
  const { componentID } = await addComponent(client, { term: 3 })
  const { subscriptionID: id } = (await add()).body
  await moveTo(client, '2027-01-10')
  await client.put(`/v1/subscriptions/${id}/cancel/renewal`)
  // Charged from 10 to 31 January alone, of a cycle that goes on to 31 March.
  await modify(client, id, [{ componentID, NumUnits: 1 }], { When: 'now' })
  await client.put(`/v1/customers/${customerID}/suspend`)
  const before = await rowsOf(client)
  expect(codesOf(await client.delete(`/v1/subscriptions/${id}/futurechanges`))).toEqual(['customer_not_billed'])
  expect(codesOf(await client.put(`/v1/subscriptions/${id}/reactivate`, {}))).toEqual(['customer_not_billed'])
  expect(await rowsOf(client)).toEqual(before)
})

test('what has ended is not started again, and nothing is added', async () => {
  const { client, customerID, add } = await shop(service)
  const { subscriptionID: id } = (await add()).body
  await client.put(`/v1/subscriptions/${id}/cancel/norefund`)
  await client.put(`/v1/customers/${customerID}/suspend`)
  expect(codesOf(await client.put(`/v1/subscriptions/${id}/reactivate`, {}))).toEqual(['customer_not_billed'])
  expect((await add()).status).toBe(409)
})
