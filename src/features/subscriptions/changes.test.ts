import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'

const service = await startTestService()

/** Packages of so much a month (and more terms where given), and a customer: everything else is the test's. */
async function shop(prices: Record<string, number[]>, clockAt = '2027-01-01T08:00:00.000Z') {
  const client = await service.newAccount({ clockAt })
  const group = await client.post('/v1/packagegroups', { GroupName: 'Plans' })
  const packages: Record<string, number> = {}
  for (const [code, [monthly = 0, quarterly]] of Object.entries(prices)) {
    const terms = [{ ChargePrice: monthly, ChargeTerm: 1, ChargeTermType: 'months' }]
    if (quarterly !== undefined) terms.push({ ChargePrice: quarterly, ChargeTerm: 3, ChargeTermType: 'months' })
    const rate = {
      CurrencyCode: 'USD',
      SetupFee: 0,
      TrialFee: 0,
      TrialPeriod: 0,
      TrialPeriodType: 'days',
      PackageRateTerms: terms,
    }
    const version = { VersionName: '1', isActive: true, isDefault: true, packageVersionRates: [rate] }
    const body = {
      packageGroupID: group.body.packageGroupID,
      packageCode: code,
      Name: code,
      Descrip: code,
      isActive: true,
      PackageVersion: version,
    }
    packages[code] = (await client.post('/v1/packages', body)).body.packageID
  }
  const customer = await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace' })
  return { client, packages, customerID: customer.body.customerID as number }
}

async function subscribe(client: TestClient, body: object): Promise<number> {
  const added = await client.post('/v1/subscriptions', body)
  expect(added.status).toBe(201)
  return added.body.subscriptionID
}

const balance = async (client: TestClient, customerID: number): Promise<number> =>
  (await client.get(`/v1/customers/${customerID}`)).body.Balance
const totals = async (client: TestClient) =>
  (await client.get('/v1/invoices')).body.map((invoice: any) => [
    invoice.Total,
    invoice.TotalNegativeAdjs,
    invoice.Status,
  ])

describe('cancelling', () => {
  test.each([
    ['norefund', 31, 31],
    ['prorata', 37, 25],
    ['fullcredit', 62, 0],
  ])('%s on 26 January of a plan of 31.00 invoiced ahead for February gives back %d', async (kind, credited, owed) => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'], numDaysBeforeToInv: 7 })
    await client.put('/v1/clock', { Now: '2027-01-26T08:00:00Z' })
    expect(await balance(client, customerID)).toBe(62)
    const preview = await client.put(`/v1/subscriptions/${id}/cancel/${kind}?preview=true`, {})
    expect(preview.status).toBe(200)
    expect(preview.body.CreditNotes.reduce((sum: number, note: any) => sum + note.Amount, 0)).toBe(credited)
    expect(await balance(client, customerID)).toBe(62)
    expect((await client.put(`/v1/subscriptions/${id}/cancel/${kind}`, { Reason: 'moved away' })).status).toBe(204)
    expect(await balance(client, customerID)).toBe(owed)
    const { body } = await client.get(`/v1/subscriptions/${id}`)
    expect(body).toMatchObject({
      comp_Status: 'Cancelled',
      isCancelled: true,
      EndDate: '2027-01-26T00:00:00Z',
      CancelReason: 'moved away',
      nextRenewDate: null,
      comp_nextInvDate: null,
    })
    expect((await client.put(`/v1/subscriptions/${id}/cancel/${kind}`)).status).toBe(409)
  })

  test('a kind that is none is 404, never assumed', async () => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'] })
    expect((await client.put(`/v1/subscriptions/${id}/cancel/someday`)).status).toBe(404)
    expect((await client.put(`/v1/subscriptions/${id}/cancel`)).status).toBe(404)
  })
})

describe('changing the package now', () => {
  test('an equal term gives back the unused days and charges them at the new price', async () => {
    const { client, packages, customerID } = await shop({ P31: [31], P62: [62] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'] })
    await client.put('/v1/clock', { Now: '2027-01-11T08:00:00Z' })
    expect(
      (await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: packages['P62'], When: 'now' })).status,
    ).toBe(204)
    // 21 of 31 days: 21.00 back on the first invoice, 42.00 charged anew.
    expect(await totals(client)).toEqual([
      [31, 21, 'Past Due'],
      [42, 0, 'Due'],
    ])
    expect(await balance(client, customerID)).toBe(52)
    const [first] = (await client.get('/v1/invoices')).body
    expect(first.NegativeAdjustmentsApplied).toMatchObject([{ objectID: first.invoiceID, amountApplied: 21 }])
    const { body } = await client.get(`/v1/subscriptions/${id}`)
    expect(body).toMatchObject({ PackageName: 'P62', nextRenewDate: '2027-02-01T00:00:00Z' })
  })

  test('another term gives back the unused days and starts a full new period today', async () => {
    const { client, packages, customerID } = await shop({ P31: [31, 90] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'], Term: 1, TermType: 'months' })
    await client.put('/v1/clock', { Now: '2027-01-11T08:00:00Z' })
    expect(
      (await client.put(`/v1/subscriptions/${id}/changeterm`, { Term: 3, TermType: 'months', When: 'now' })).status,
    ).toBe(204)
    expect(await balance(client, customerID)).toBe(31 - 21 + 90)
    const { body } = await client.get(`/v1/subscriptions/${id}`)
    expect(body).toMatchObject({ Term: 3, nextRenewDate: '2027-04-11T00:00:00Z', firstProrataSyncDate: null })
  })

  test('a change that changes nothing is 409, a term that is not offered 400', async () => {
    const { client, packages, customerID } = await shop({ P31: [31, 90] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'], Term: 1, TermType: 'months' })
    expect((await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: packages['P31'] })).status).toBe(409)
    expect((await client.put(`/v1/subscriptions/${id}/changeterm`, { Term: 2, TermType: 'months' })).status).toBe(400)
    expect((await client.put(`/v1/subscriptions/${id}/changeterm`, {})).status).toBe(400)
  })
})

describe('changing the package at renewal', () => {
  test('the new package shows and is charged from the renewal on, and can be dropped before', async () => {
    const { client, packages, customerID } = await shop({ P31: [31], P62: [62] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'] })
    const path = `/v1/subscriptions/${id}`
    expect((await client.put(`${path}/changepackage`, { packageID: packages['P62'] })).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      PackageName: 'P31',
      isFutureChange: true,
      futureChange: { Kind: 'package', Date: '2027-02-01T00:00:00Z', packageID: packages['P62'] },
    })
    expect((await client.delete(`${path}/futurechanges`)).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({ isFutureChange: false, futureChange: null })
    await client.put(`${path}/changepackage`, { packageID: packages['P62'] })
    await client.put('/v1/clock', { Now: '2027-03-01T08:00:00Z' })
    expect((await totals(client)).map(([total]: [number]) => total)).toEqual([31, 62, 62])
    expect((await client.get(path)).body).toMatchObject({
      PackageName: 'P62',
      isFutureChange: false,
      nextRenewDate: '2027-04-01T00:00:00Z',
    })
  })

  test('another term counts from the renewal and keeps the day of the month', async () => {
    const { client, packages, customerID } = await shop({ P31: [31, 90] }, '2027-01-31T08:00:00.000Z')
    const id = await subscribe(client, { customerID, packageID: packages['P31'], Term: 1, TermType: 'months' })
    await client.put(`/v1/subscriptions/${id}/changeterm`, { Term: 3, TermType: 'months' })
    await client.put('/v1/clock', { Now: '2027-09-01T08:00:00Z' })
    const { body } = await client.get('/v1/invoices')
    expect(body.map((invoice: any) => [invoice.InvoiceDate.slice(0, 10), invoice.Total])).toEqual([
      ['2027-01-31', 31],
      ['2027-02-28', 90],
      ['2027-05-31', 90],
      ['2027-08-31', 90],
    ])
  })
})

describe('dates', () => {
  test('an end inside what is invoiced gives back the overshoot; moved later it is charged again', async () => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'] })
    const path = `/v1/subscriptions/${id}`
    expect((await client.put(`${path}/changeenddate`, { EndDate: '2027-01-11' })).status).toBe(204)
    expect(await balance(client, customerID)).toBe(10)
    expect((await client.put(`${path}/changeenddate`, { EndDate: '2027-01-21' })).status).toBe(204)
    expect(await balance(client, customerID)).toBe(20)
    expect((await client.put(`${path}/changeenddate`, { EndDate: null })).status).toBe(204)
    expect(await balance(client, customerID)).toBe(31)
    expect((await client.put(`${path}/changeenddate`, { EndDate: '2027-01-01' })).status).toBe(400)
    await client.put('/v1/clock', { Now: '2027-02-01T08:00:00Z' })
    expect(await balance(client, customerID)).toBe(62)
    expect((await client.put(`${path}/changeenddate`, { EndDate: '2027-01-15' })).status).toBe(409)
  })

  test('a subscription that has not begun can start today, and is billed at once', async () => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'], StartDate: '2027-06-01' })
    expect((await client.put(`/v1/subscriptions/${id}/changestartdate`, { StartDate: '2027-01-01' })).status).toBe(204)
    expect(await balance(client, customerID)).toBe(31)
    expect((await client.put(`/v1/subscriptions/${id}/changestartdate`, { StartDate: '2027-02-01' })).status).toBe(409)
  })

  test('an ended subscription starts again with a full period of its own', async () => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'] })
    await client.put('/v1/clock', { Now: '2027-01-11T08:00:00Z' })
    await client.put(`/v1/subscriptions/${id}/cancel/prorata`)
    expect(await balance(client, customerID)).toBe(10)
    await client.put('/v1/clock', { Now: '2027-01-15T08:00:00Z' })
    expect((await client.put(`/v1/subscriptions/${id}/reactivate`)).status).toBe(204)
    expect(await balance(client, customerID)).toBe(41)
    expect((await client.get(`/v1/subscriptions/${id}`)).body).toMatchObject({
      comp_Status: 'Active',
      StartDate: '2027-01-15T00:00:00Z',
      nextRenewDate: '2027-02-15T00:00:00Z',
    })
    expect((await client.put(`/v1/subscriptions/${id}/reactivate`)).status).toBe(409)
  })
})

describe('details and deleting', () => {
  test('an edit changes only what is sent', async () => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const id = await subscribe(client, { customerID, packageID: packages['P31'], poNumber: 'A1' })
    const path = `/v1/subscriptions/${id}`
    expect((await client.put(path, { numDaysBeforeToInv: 5 })).status).toBe(204)
    expect((await client.get(path)).body).toMatchObject({
      poNumber: 'A1',
      numDaysBeforeToInv: 5,
      comp_nextInvDate: '2027-01-27T00:00:00Z',
    })
    expect((await client.put(path, { gatewayID: 3 })).status).toBe(400)
    await client.put('/v1/clock', { Now: '2027-01-27T08:00:00Z' })
    expect(await balance(client, customerID)).toBe(62)
  })

  test('only a subscription that has not begun and was never invoiced can be deleted', async () => {
    const { client, packages, customerID } = await shop({ P31: [31] })
    const future = await subscribe(client, { customerID, packageID: packages['P31'], StartDate: '2027-06-01' })
    expect((await client.delete(`/v1/subscriptions/${future}`)).status).toBe(204)
    expect((await client.get(`/v1/subscriptions/${future}`)).status).toBe(404)
    const running = await subscribe(client, { customerID, packageID: packages['P31'] })
    expect((await client.delete(`/v1/subscriptions/${running}`)).status).toBe(409)
  })
})

describe('a pending change whose day falls into a suspension', () => {
  /** Suspends on a day, lives to another, and is billed again there. */
  async function away(client: TestClient, customerID: number, from: string, until: string) {
    await client.put('/v1/clock', { Now: `${from}T08:00:00Z` })
    await client.put(`/v1/customers/${customerID}/suspend`)
    await client.put('/v1/clock', { Now: `${until}T08:00:00Z` })
  }

  const billed = async (client: TestClient, since: string) =>
    (await client.get(`/v1/invoices?startDate=${since}`)).body.map((invoice: any) => [
      invoice.InvoiceDate.slice(0, 10),
      invoice.Charges[0].Line,
      invoice.Total,
    ])

  test('takes effect on the renewal on which the customer returns', async () => {
    const { client, packages, customerID } = await shop({ P31: [31], P62: [62] }, '2027-03-02T08:00:00.000Z')
    const id = await subscribe(client, { customerID, packageID: packages['P31'] })
    await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: packages['P62'] })
    await away(client, customerID, '2027-03-20', '2027-04-02')
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect(await billed(client, '2027-04-01')).toEqual([['2027-04-02', 'P62', 62]])
  })

  test('from a year to a month: nothing of the year is charged on return', async () => {
    const { client, packages, customerID } = await shop({ Mo: [31], Yr: [40] }, '2026-02-01T08:00:00.000Z')
    const yearly = await client.post(`/v1/packages/${packages['Yr']}/versions`, {
      VersionName: 'yearly',
      isActive: true,
      isDefault: true,
      packageVersionRates: [
        {
          CurrencyCode: 'USD',
          SetupFee: 0,
          TrialFee: 0,
          TrialPeriod: 0,
          TrialPeriodType: 'days',
          PackageRateTerms: [{ ChargePrice: 365, ChargeTerm: 12, ChargeTermType: 'months' }],
        },
      ],
    })
    expect(yearly.status).toBe(201)
    const id = await subscribe(client, { customerID, packageID: packages['Yr'] })
    await client.put(`/v1/subscriptions/${id}/changepackage`, { packageID: packages['Mo'] })
    await away(client, customerID, '2027-01-10', '2027-02-20')
    const { body } = await client.get(`/v1/subscriptions/${id}`)
    expect(body).toMatchObject({
      isFutureChange: true,
      futureChange: { Kind: 'package', Date: '2027-02-01T00:00:00Z' },
    })
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await client.put('/v1/clock', { Now: '2027-03-01T08:00:00Z' })
    expect(await billed(client, '2027-01-01')).toEqual([['2027-03-01', 'Mo', 31]])
  })

  test('from a month to a year: the rest of the year that is running is charged by the day on return', async () => {
    const { client, packages, customerID } = await shop({ Mo: [31, 90] })
    const id = await subscribe(client, { customerID, packageID: packages['Mo'], Term: 1, TermType: 'months' })
    await client.put(`/v1/subscriptions/${id}/changeterm`, { Term: 3, TermType: 'months' })
    await away(client, customerID, '2027-01-10', '2027-02-20')
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    // The quarter from 1 February to 1 May has 89 days; 70 of them are left: 90 × 70 ÷ 89.
    expect(await billed(client, '2027-02-01')).toEqual([['2027-02-20', 'Mo', 70.79]])
  })
})
