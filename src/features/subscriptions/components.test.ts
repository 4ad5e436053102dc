import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { checkBooks, codesOf, day, invoicesOf, moveTo, readSubscription, shop } from '../../../test/support/shop.ts'
import { addComponent, linesOf, modify, pricesOf, TIERS, use } from './components.testing.ts'

const service = await startTestService()

const rows = async (client: TestClient) => (await invoicesOf(client)).map(linesOf)

/** A shop whose package is free unless wished otherwise, so that only components show. */
const componentShop = (price = 0) => shop(service, { price })

describe('a quantity', () => {
  test('is charged in advance; a rise from the highest so far by the day, a fall from the next cycle', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client)
    const added = await add({ componentUsage: [{ componentID, NumUnits: 5 }] })
    expect(added.status).toBe(201)
    const id = added.body.subscriptionID
    for (const [date, NumUnits] of [
      ['2027-01-11', 10],
      ['2027-01-15', 4],
      ['2027-01-20', 8],
    ] as const) {
      await moveTo(client, date)
      expect((await modify(client, id, [{ componentID, NumUnits }])).text).toBe('')
    }
    expect((await readSubscription(client, id)).componentUsage).toMatchObject([{ componentID, NumUnits: 8 }])
    await moveTo(client, '2027-02-01')
    expect(await rows(client)).toEqual([
      '2027-01-01: Seats 2027-01-01 to 2027-01-31 15.5',
      '2027-02-01: Seats 2027-02-01 to 2027-02-28 24.8 + Seats 2027-01-11 to 2027-01-31, 21 of 31 days, 5 → 10 units 10.5',
    ])
    await checkBooks(service, client)
  })

  test('a rise with When: now is invoiced at once, and its preview changes nothing', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client)
    const id = (await add({ componentUsage: [{ componentID, NumUnits: 5 }] })).body.subscriptionID
    await moveTo(client, '2027-01-11')
    const wish = [{ componentID, NumUnits: 10 }]
    const preview = await modify(client, id, wish, { When: 'now' }, '?preview=true')
    expect(preview.body.Invoices.map(linesOf)).toEqual([
      '2027-01-11: Seats 2027-01-11 to 2027-01-31, 21 of 31 days, 5 → 10 units 10.5',
    ])
    expect((await readSubscription(client, id)).componentUsage[0].NumUnits).toBe(5)
    expect((await modify(client, id, wish, { When: 'now' })).status).toBe(204)
    expect((await rows(client)).at(-1)).toBe(
      '2027-01-11: Seats 2027-01-11 to 2027-01-31, 21 of 31 days, 5 → 10 units 10.5',
    )
  })

  test('shares the invoice of the renewal, lead days included; without a renewal on its day it has its own', async () => {
    const { client, add } = await componentShop(31)
    const { componentID } = await addComponent(client)
    const fortnight = await addComponent(client, { term: 15, termType: 'days', name: 'Fortnight' })
    const componentUsage = [
      { componentID, NumUnits: 5 },
      { componentID: fortnight.componentID, NumUnits: 1 },
    ]
    await add({ componentUsage, numDaysBeforeToInv: 7 })
    await moveTo(client, '2027-02-01')
    expect(await rows(client)).toEqual([
      '2027-01-01: Plan 2027-01-01 to 2027-01-31 31 + Seats 2027-01-01 to 2027-01-31 15.5 + Fortnight 2027-01-01 to 2027-01-15 3.1',
      '2027-01-16: Fortnight 2027-01-16 to 2027-01-30 3.1',
      '2027-01-25: Plan 2027-02-01 to 2027-02-28 31 + Seats 2027-02-01 to 2027-02-28 15.5',
      '2027-01-31: Fortnight 2027-01-31 to 2027-02-14 3.1',
    ])
  })

  test('begins after the trial, and the preview of a subscription not yet made shows its first charge', async () => {
    const { client, add, customerID, plan } = await shop(service, { price: 31, trialPeriod: 14 })
    const { componentID } = await addComponent(client)
    const componentUsage = [{ componentID, NumUnits: 2 }]
    const body = { customerID, packageID: plan.packageID, componentUsage }
    const preview = await client.post('/v1/subscriptions/preview', body)
    expect(linesOf(preview.body)).toBe(
      '2027-01-15: Plan 2027-01-15 to 2027-02-14 31 + Seats 2027-01-15 to 2027-02-14 6.2',
    )
    await add({ componentUsage })
    await moveTo(client, '2027-01-15')
    expect(await rows(client)).toEqual([linesOf(preview.body)])
  })

  test('cancelled pro rata is credited by the day; norefund gives nothing back and charges what a rise owes', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client)
    const componentUsage = [{ componentID, NumUnits: 5 }]
    const first = (await add({ componentUsage })).body.subscriptionID
    const second = (await add({ componentUsage })).body.subscriptionID
    await moveTo(client, '2027-01-11')
    for (const id of [first, second]) await modify(client, id, [{ componentID, NumUnits: 10 }])
    await moveTo(client, '2027-01-21')
    const preview = await client.put(`/v1/subscriptions/${first}/cancel/prorata?preview=true`, {})
    // The rise: 10 of 31 days of 15.50; given back: 11 of 31 days of 15.50.
    expect(preview.body.Invoices.map(linesOf)).toEqual([
      '2027-01-21: Seats 2027-01-11 to 2027-01-20, 10 of 31 days, 5 → 10 units 5',
    ])
    expect(preview.body.CreditNotes.map(({ Amount }: any) => Amount)).toEqual([5.5])
    expect((await client.put(`/v1/subscriptions/${first}/cancel/prorata`, {})).status).toBe(204)
    expect((await client.put(`/v1/subscriptions/${second}/cancel/norefund`, {})).status).toBe(204)
    expect((await rows(client)).slice(2)).toEqual([
      '2027-01-21: Seats 2027-01-11 to 2027-01-20, 10 of 31 days, 5 → 10 units 5',
      '2027-01-21: Seats 2027-01-11 to 2027-01-20, 10 of 31 days, 5 → 10 units 5',
    ])
    await moveTo(client, '2027-04-01')
    expect(await rows(client)).toHaveLength(4)
  })

  test('a component left out is charged no more; one that comes back goes on in its cycle', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client)
    const id = (await add({ componentUsage: [{ componentID, NumUnits: 5 }] })).body.subscriptionID
    await moveTo(client, '2027-01-11')
    expect((await modify(client, id, [])).status).toBe(204)
    expect((await readSubscription(client, id)).componentUsage).toEqual([])
    await moveTo(client, '2027-01-20')
    await modify(client, id, [{ componentID, NumUnits: 5, Memo: 'back' }])
    expect((await readSubscription(client, id)).componentUsage).toMatchObject([{ NumUnits: 5, Memo: 'back' }])
    await moveTo(client, '2027-02-01')
    await modify(client, id, [])
    await moveTo(client, '2027-04-11')
    await modify(client, id, [{ componentID, NumUnits: 3 }])
    await moveTo(client, '2027-05-01')
    expect(await rows(client)).toEqual([
      '2027-01-01: Seats 2027-01-01 to 2027-01-31 15.5',
      '2027-02-01: Seats 2027-02-01 to 2027-02-28 15.5',
      '2027-05-01: Seats 2027-05-01 to 2027-05-31 9.3 + Seats 2027-04-11 to 2027-04-30, 20 of 30 days, 0 → 3 units 6.2',
    ])
  })

  test('another version counts from the next cycle, and is answered from now on', async () => {
    const { client, add } = await componentShop()
    const component = await addComponent(client)
    const { componentID } = component
    const id = (await add({ componentUsage: [{ componentID, NumUnits: 5 }] })).body.subscriptionID
    const second = await client.post(`/v1/components/${componentID}/versions`, {
      VersionName: 'Second',
      isActive: true,
      isDefault: true,
      ComponentVersionCurrencies: pricesOf([[4, null]]),
    })
    expect(second.text).toContain('componentVersionID')
    const { componentVersionID } = second.body
    const changed = await modify(client, id, [{ componentID, componentVersionID, NumUnits: 5 }])
    expect(changed.status).toBe(204)
    expect((await readSubscription(client, id)).componentUsage).toMatchObject([
      { componentVersionID, componentVersionNumber: 2 },
    ])
    await moveTo(client, '2027-02-01')
    expect((await rows(client)).at(-1)).toBe('2027-02-01: Seats 2027-02-01 to 2027-02-28 20')
    expect((await client.delete(`/v1/components/${componentID}`)).status).toBe(409)
  })

  test('opt-in has one unit or none', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client, { type: 'opt-in', brackets: [[6.2, null]], name: 'Support' })
    const id = (await add({ componentUsage: [{ componentID }] })).body.subscriptionID
    expect(codesOf(await modify(client, id, [{ componentID, NumUnits: 2 }]))).toEqual(['opt_in_units'])
    await moveTo(client, '2027-01-11')
    expect((await use(client, id, { componentID, NumUnits: 0, isSetUnits: true })).status).toBe(204)
    expect((await readSubscription(client, id)).componentUsage).toMatchObject([{ NumUnits: 0, isSetUnits: true }])
    await moveTo(client, '2027-03-01')
    expect(await rows(client)).toEqual(['2027-01-01: Support 2027-01-01 to 2027-01-31 6.2'])
  })

  test('stairstep and volume are one line each, tiers a line a bracket; every line explains itself', async () => {
    const { client, add } = await componentShop()
    const [tiered, volume, stairs] = [
      await addComponent(client, { scheme: 'tiered', brackets: TIERS, name: 'Tiered' }),
      await addComponent(client, { scheme: 'volume', brackets: TIERS, name: 'Volume' }),
      await addComponent(client, { scheme: 'stairstep', brackets: TIERS, name: 'Stairs' }),
    ]
    const componentUsage = [tiered, volume, stairs].map(({ componentID }) => ({ componentID, NumUnits: 13 }))
    await add({ componentUsage })
    const [invoice] = await invoicesOf(client)
    const units = invoice.Charges.map(({ Line, Qty, UnitCostEx, AmountEx }: any) => [Line, Qty, UnitCostEx, AmountEx])
    expect(units).toEqual([
      ['Tiered', 10, 5, 50],
      ['Tiered', 3, 4, 12],
      ['Volume', 13, 4, 52],
      ['Stairs', 1, 4, 4],
    ])
    const explained = (await client.get(`/v1/invoices/${invoice.invoiceID}/explanation`)).body
    expect(explained.Lines.at(-1).Facts).toMatchObject({ Scheme: 'stairstep', Quantity: 13 })
    await checkBooks(service, client)
  })

  test('of a suspended customer nothing is charged, nor may rise; it goes on at the next cycle', async () => {
    const { client, add, customerID } = await componentShop()
    const { componentID } = await addComponent(client)
    const id = (await add({ componentUsage: [{ componentID, NumUnits: 5 }] })).body.subscriptionID
    await moveTo(client, '2027-01-20')
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(codesOf(await modify(client, id, [{ componentID, NumUnits: 9 }]))).toEqual(['customer_not_billed'])
    await moveTo(client, '2027-03-10')
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await moveTo(client, '2027-04-01')
    expect(await rows(client)).toEqual([
      '2027-01-01: Seats 2027-01-01 to 2027-01-31 15.5',
      '2027-04-01: Seats 2027-04-01 to 2027-04-30 15.5',
    ])
  })

  test('a later end charges what an earlier one had cut, and reactivating keeps the number', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client)
    const body = { componentUsage: [{ componentID, NumUnits: 10 }], EndDate: '2027-01-11' }
    const id = (await add(body)).body.subscriptionID
    await client.put(`/v1/subscriptions/${id}/changeenddate`, { EndDate: '2027-01-21' })
    await moveTo(client, '2027-02-01')
    await client.put(`/v1/subscriptions/${id}/reactivate`, {})
    expect(await rows(client)).toEqual([
      '2027-01-01: Seats 2027-01-01 to 2027-01-10, 10 of 31 days, 10 units 10',
      '2027-01-01: Seats 2027-01-11 to 2027-01-20, 10 of 31 days 10',
      '2027-02-01: Seats 2027-02-01 to 2027-02-28 31',
    ])
    expect(day((await readSubscription(client, id)).comp_nextInvDate)).toBe('2027-03-01')
  })
})

describe('what a list of components says', () => {
  test('is checked as a whole: unknown ones, ones named twice, missing numbers', async () => {
    const { client, add } = await componentShop()
    const { componentID } = await addComponent(client)
    const refused = await add({
      componentUsage: [
        { componentID, NumUnits: 1 },
        { componentID, NumUnits: 2 },
        { componentID: 999_999, NumUnits: 1 },
      ],
    })
    expect([refused.status, refused.body.Errors.map(({ Field }: any) => Field)]).toEqual([
      400,
      ['componentUsage[1].componentID', 'componentUsage[2].componentID'],
    ])
    expect(codesOf(await add({ componentUsage: [{ componentID }] }))).toEqual(['required'])
    expect(codesOf(await add({ componentUsage: [{ componentID, NumUnits: 1, componentVersionID: 999_999 }] }))).toEqual(
      ['component_version_unknown'],
    )
  })

  test('takes no inactive component and none without brackets in the currency: 409', async () => {
    const { client, plan } = await componentShop()
    const { componentID } = await addComponent(client)
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const euros = (await client.post('/v1/customers', { Name: 'A', LastName: 'B', CurrencyCode: 'EUR' })).body
      .customerID
    const { packageID } = plan
    const version = (await client.get(`/v1/packages/${packageID}/versions`)).body[0]
    expect(version.packageVersionID).toBeGreaterThan(0)
    const eur = await client.post(`/v1/packages/${packageID}/versions`, {
      VersionName: 'both',
      isActive: true,
      isDefault: false,
      packageVersionRates: [
        {
          CurrencyCode: 'EUR',
          SetupFee: 0,
          TrialFee: 0,
          TrialPeriod: 0,
          TrialPeriodType: 'days',
          PackageRateTerms: [{ ChargePrice: 1, ChargeTerm: 1, ChargeTermType: 'months' }],
        },
      ],
    })
    const refused = await client.post('/v1/subscriptions', {
      customerID: euros,
      packageVersionID: eur.body.packageVersionID,
      componentUsage: [{ componentID, NumUnits: 1 }],
    })
    expect([refused.status, codesOf(refused)]).toEqual([409, ['brackets_missing']])
  })
})

describe('a start in the past', () => {
  test.each([
    ['quantity', '2024-04-06', 1000, 201],
    ['quantity', '2024-04-05', 1001, 400],
    ['metered', '2024-04-06', 999, 201],
    ['metered', '2024-04-04', 1001, 400],
  ] as const)('a daily %s component since %s has %i cycles due: %i', async (type, StartDate, _cycles, status) => {
    const { client, add } = await shop(service, { price: 12, term: 12 }, '2026-12-31T08:00:00.000Z')
    const { componentID } = await addComponent(client, { type, termType: 'days' })
    const componentUsage = [type === 'metered' ? { componentID } : { componentID, NumUnits: 1 }]
    const reply = await add({ StartDate, componentUsage })
    expect(reply.status).toBe(status)
    if (status === 400) expect(codesOf(reply)).toEqual(['too_many_periods'])
    const future = await add({ StartDate: '2027-01-02', componentUsage })
    const path = `/v1/subscriptions/${future.body.subscriptionID}`
    expect((await client.put(`${path}/changestartdate`, { StartDate })).status).toBe(status === 400 ? 400 : 204)
    const over = await add({ StartDate: '2024-03-01', EndDate: '2024-04-01', componentUsage })
    const again = await client.put(`/v1/subscriptions/${over.body.subscriptionID}/reactivate`, { StartDate })
    expect(again.status).toBe(status === 400 ? 400 : 204)
  })
})
