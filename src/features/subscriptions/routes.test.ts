import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import {
  addCustomer,
  addPackage,
  checkBooks,
  codesOf,
  day,
  moveTo,
  readSubscription,
  rowsOf,
  shop,
} from '../../../test/support/shop.ts'

const service = await startTestService()

const fieldsOf = (reply: any) => reply.body.Errors.map(({ Field }: any) => Field)

describe('adding', () => {
  test('answers 201 with the whole subscription and its ETag, and invoices what is due today in the same transaction', async () => {
    const { client, plan, customerID, add } = await shop(service, { setupFee: 5 })
    const added = await add({ poNumber: 4711, numDaysBeforeToInv: 7 })
    expect(added.status).toBe(201)
    const [version] = plan.PackageVersions
    expect(added.body).toEqual({
      subscriptionID: added.body.subscriptionID,
      customerID,
      packageID: plan.packageID,
      packageVersionID: version.packageVersionID,
      packageVersionNumber: 1,
      packageRateTermID: version.packageVersionRates[0].PackageRateTerms[0].packageRateTermID,
      CustomerName: 'Ada Lovelace',
      PackageName: 'Plan',
      Term: 1,
      TermType: 'months',
      StartDate: '2027-01-01T00:00:00Z',
      EndDate: null,
      TrialEndDate: null,
      firstProrataSyncDate: null,
      isProRata: true,
      isFutureChange: false,
      isCancelled: false,
      isExpired: false,
      lastInvDate: '2027-01-01T00:00:00Z',
      lastRenewDate: '2027-01-01T00:00:00Z',
      nextRenewDate: '2027-02-01T00:00:00Z',
      numDaysBeforeToInv: 7,
      comp_nextInvDate: '2027-01-25T00:00:00Z',
      comp_Status: 'Active',
      LastModified: '2027-01-01T08:00:00.000Z',
      componentUsage: [],
      Reference: null,
      poNumber: '4711',
      CollectionMethod: null,
      gatewayID: null,
      customerPaymentMethodID: null,
      CancelledDate: null,
      CancelReason: null,
      futureChange: null,
    })
    const read = await client.get(`/v1/subscriptions/${added.body.subscriptionID}`)
    expect(read.body).toEqual(added.body)
    expect(read.headers['etag']).toBe(added.headers['etag'])
    expect(await rowsOf(client)).toEqual(['2027-01-01: Set-up fee 5 + 2027-01-01 to 2027-01-31 31 = 36'])
  })

  test('needs a customer and a package, and tells all that is missing or wrong together', async () => {
    const { client, add } = await shop(service)
    const nothing = await client.post('/v1/subscriptions', {})
    expect(nothing.status).toBe(400)
    expect(fieldsOf(nothing).sort()).toEqual(['customerID', 'packageID'])
    const wrong = await add({
      customerID: 999999,
      packageID: 999999,
      numDaysBeforeToInv: 91,
      Term: 1,
      gatewayID: 999_999,
    })
    expect(wrong.status).toBe(400)
    expect(fieldsOf(wrong).sort()).toEqual(['TermType', 'customerID', 'gatewayID', 'numDaysBeforeToInv', 'packageID'])
    expect(await rowsOf(client)).toEqual([])
  })

  test('a package, version, number or term that disagree with each other are 400', async () => {
    const { client, plan, add } = await shop(service)
    const other = await addPackage(client)
    const [version] = plan.PackageVersions
    const codes = async (body: object) => {
      const reply = await add(body)
      expect(reply.status).toBe(400)
      return codesOf(reply)
    }
    expect(await codes({ packageID: other.packageID, packageVersionID: version.packageVersionID })).toEqual([
      'contradiction',
    ])
    expect(await codes({ packageVersionID: version.packageVersionID, packageVersionNumber: 2 })).toEqual([
      'contradiction',
    ])
    expect(await codes({ packageVersionNumber: 2 })).toEqual(['package_version_unknown'])
    expect(await codes({ Term: 3, TermType: 'months' })).toEqual(['term_unknown'])
    const termId = version.packageVersionRates[0].PackageRateTerms[0].packageRateTermID
    expect(await codes({ packageRateTermID: termId, Term: 2, TermType: 'months' })).toEqual(['contradiction'])
    expect(await codes({ packageRateTermID: 999999 })).toEqual(['rate_term_unknown'])
    const foreign = other.PackageVersions[0].packageVersionRates[0].PackageRateTerms[0].packageRateTermID
    expect((await add({ packageRateTermID: foreign })).status).toBe(409)
  })

  test('takes the default version unless another is named, and a term only where there is more than one', async () => {
    const { client, plan, customerID } = await shop(service)
    const rate = { CurrencyCode: 'USD', SetupFee: 0, TrialFee: 0, TrialPeriod: 0, TrialPeriodType: 'days' }
    const terms = [
      { ChargePrice: 50, ChargeTerm: 1, ChargeTermType: 'months' },
      { ChargePrice: 500, ChargeTerm: 12, ChargeTermType: 'months' },
    ]
    const second = await client.post(`/v1/packages/${plan.packageID}/versions`, {
      VersionName: 'second',
      isActive: true,
      isDefault: true,
      packageVersionRates: [{ ...rate, PackageRateTerms: terms }],
    })
    const add = (body: object) => client.post('/v1/subscriptions', { customerID, packageID: plan.packageID, ...body })
    const unclear = await add({})
    expect(unclear.status).toBe(400)
    expect(fieldsOf(unclear)).toEqual(['packageRateTermID'])
    expect((await add({ Term: 12, TermType: 'months' })).body).toMatchObject({ packageVersionNumber: 2, Term: 12 })
    expect((await add({ packageVersionNumber: 1 })).body).toMatchObject({ packageVersionNumber: 1, Term: 1 })
    const byVersion = { customerID, packageVersionID: second.body.packageVersionID, Term: 1, TermType: 'months' }
    expect((await client.post('/v1/subscriptions', byVersion)).body).toMatchObject({
      packageVersionNumber: 2,
      packageID: plan.packageID,
    })
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: 2027-01-01 to 2027-12-31 500 = 500',
      '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
      '2027-01-01: 2027-01-01 to 2027-01-31 50 = 50',
    ])
  })

  test('an inactive package or version, another currency, an archived or suspended customer take none: 409', async () => {
    const { client, plan, customerID, add } = await shop(service)
    const put = (isActive: boolean) =>
      client.put(`/v1/packages/${plan.packageID}`, {
        packageGroupID: plan.packageGroupID,
        packageCode: plan.packageCode,
        Name: 'Plan',
        Descrip: 'A plan',
        isActive,
      })
    await put(false)
    expect([(await add()).status, codesOf(await add())]).toEqual([409, ['package_inactive']])
    await put(true)
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const european = await addCustomer(client, { CurrencyCode: 'EUR' })
    expect(codesOf(await add({ customerID: european }))).toEqual(['rate_missing'])
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(codesOf(await add())).toEqual(['customer_suspended'])
    await client.put(`/v1/customers/${customerID}/archive`)
    expect(codesOf(await add())).toEqual(['customer_archived'])
    const { body: versions } = await client.get(`/v1/packages/${plan.packageID}/versions`)
    await client.put(`/v1/packages/${plan.packageID}/versions/1`, { ...versions[0], isActive: false })
    await client.put(`/v1/customers/${customerID}/reopen`)
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect(codesOf(await add())).toEqual(['package_version_inactive'])
    expect(await rowsOf(client)).toEqual([])
  })

  test('components, gateways and methods that are not there are refused', async () => {
    const { add } = await shop(service)
    const refused = async (body: object) => {
      const reply = await add(body)
      expect(reply.status).toBe(400)
      return fieldsOf(reply)
    }
    expect(await refused({ componentUsage: [{ componentID: 1, NumUnits: 2 }] })).toEqual([
      'componentUsage[0].componentID',
    ])
    expect(await refused({ customerPaymentMethodID: 5 })).toEqual(['customerPaymentMethodID'])
    expect(await refused({ CollectionMethod: 'debit_order' })).toEqual(['customerPaymentMethodID'])
    expect((await add({ componentUsage: [], gatewayID: 0, customerPaymentMethodID: '' })).status).toBe(201)
  })

  test('EndDate is after StartDate, the sync date after the start and the trial, and needs isProRata', async () => {
    const { add } = await shop(service, { trialPeriod: 14 })
    const refused = async (body: object) => {
      const reply = await add(body)
      expect(reply.status).toBe(400)
      return fieldsOf(reply)
    }
    expect(await refused({ EndDate: '2027-01-01' })).toEqual(['EndDate'])
    expect(await refused({ StartDate: '2027-03-01', EndDate: '2027-02-01' })).toEqual(['EndDate'])
    expect(await refused({ firstProrataSyncDate: '2027-01-15' })).toEqual(['firstProrataSyncDate'])
    expect(await refused({ firstProrataSyncDate: '2027-02-01', isProRata: false })).toEqual(['firstProrataSyncDate'])
    expect((await add({ firstProrataSyncDate: '2027-01-16', EndDate: '2027-01-02' })).status).toBe(201)
  })

  test('a past StartDate bills every period since, each on an invoice of today; a thousand of them, not one more', async () => {
    const { client, add } = await shop(service, { price: 1, termType: 'days' }, '2027-01-01T08:00:00.000Z')
    const tooMany = await add({ StartDate: '2024-04-06' })
    expect([tooMany.status, fieldsOf(tooMany)]).toEqual([400, ['StartDate']])
    expect(tooMany.text).toContain('1000')
    const added = await add({ StartDate: '2024-04-07' })
    expect(added.body).toMatchObject({ lastRenewDate: '2027-01-01T00:00:00Z', nextRenewDate: '2027-01-02T00:00:00Z' })
    const rows = await rowsOf(client)
    expect(rows).toHaveLength(1000)
    expect(rows[0]).toBe('2027-01-01: 2024-04-07 to 2024-04-07 1 = 1')
    expect(rows[999]).toBe('2027-01-01: 2027-01-01 to 2027-01-01 1 = 1')
    await checkBooks(service, client)
  })

  test('an amount that reaches the bound is refused and nothing is kept', async () => {
    const { client, add } = await shop(service, { price: 999_999_999_999, setupFee: 999_999_999_999 })
    const refused = await add()
    expect([refused.status, codesOf(refused)]).toEqual([400, ['amount_too_large']])
    expect((await client.get('/v1/subscriptions')).body).toEqual([])
  })

  test('the lead days and payment terms of the account count where none are given', async () => {
    const { client, add } = await shop(service)
    await client.put('/v1/account', { numDaysBeforeToInv: 5, PaymentTermDays: 30 })
    expect((await add()).body).toMatchObject({ numDaysBeforeToInv: 5 })
    expect((await add({ numDaysBeforeToInv: 0 })).body).toMatchObject({ numDaysBeforeToInv: 0 })
    const { body } = await client.get('/v1/invoices')
    expect(body.map((invoice: any) => day(invoice.DueDate))).toEqual(['2027-01-31', '2027-01-31'])
  })
})

describe('reading', () => {
  test('answers 404 for what is not there and for another account', async () => {
    const { add } = await shop(service)
    const { body } = await add()
    const stranger = await service.newAccount()
    for (const path of ['', '/preview']) {
      expect((await stranger.get(`/v1/subscriptions/${body.subscriptionID}${path}`)).status).toBe(404)
      expect((await stranger.get(`/v1/subscriptions/abc${path}`)).status).toBe(404)
    }
    expect((await stranger.get('/v1/customers/1/subscriptions')).status).toBe(404)
    expect((await stranger.put(`/v1/subscriptions/${body.subscriptionID}/cancel/renewal`)).status).toBe(404)
    expect((await stranger.delete(`/v1/subscriptions/${body.subscriptionID}/futurechanges`)).status).toBe(404)
  })

  test('lists by customer, package and status, in the order of adding, with their pages linked', async () => {
    const { client, customerID, plan, add } = await shop(service, { trialPeriod: 10 })
    const other = await addPackage(client)
    const ids: Record<string, number> = {}
    ids['Trial'] = (await add()).body.subscriptionID
    ids['Future'] = (await add({ StartDate: '2027-06-01' })).body.subscriptionID
    ids['Active'] = (await add({ packageID: other.packageID })).body.subscriptionID
    ids['Expired'] = (await add({ StartDate: '2026-12-01', EndDate: '2026-12-20' })).body.subscriptionID
    ids['Cancelled'] = (await add({ StartDate: '2027-07-01' })).body.subscriptionID
    await client.put(`/v1/subscriptions/${ids['Cancelled']}/cancel/renewal`)
    const listed = async (path: string) => (await client.get(path)).body.map((s: any) => s.subscriptionID)
    for (const [status, id] of Object.entries(ids)) {
      expect(await listed(`/v1/subscriptions?comp_Status=${status.toLowerCase()}`)).toEqual([id])
      expect((await readSubscription(client, id)).comp_Status).toBe(status)
    }
    expect(await listed('/v1/subscriptions')).toEqual(Object.values(ids))
    expect(await listed(`/v1/subscriptions?packageID=${other.packageID}`)).toEqual([ids['Active']])
    expect(await listed(`/v1/customers/${customerID}/subscriptions`)).toEqual(Object.values(ids))
    const page = await client.get(`/v1/subscriptions?packageID=${plan.packageID}&page_size=2&page=2`)
    expect(page.body.map((s: any) => s.subscriptionID)).toEqual([ids['Expired'], ids['Cancelled']])
    expect(page.headers['link']).toContain('rel="prev"')
    expect(page.headers['link']).not.toContain('rel="next"')
    expect((await client.get('/v1/subscriptions?comp_Status=Paused')).status).toBe(400)
  })

  test('shows the dates of every state', async () => {
    const { client, add } = await shop(service, { trialPeriod: 10, setupFee: 5 })
    const dates = async (id: number) => {
      const s = await readSubscription(client, id)
      return [s.comp_Status, day(s.lastInvDate), day(s.lastRenewDate), day(s.nextRenewDate), day(s.comp_nextInvDate)]
    }
    const future = (await add({ StartDate: '2027-01-05' })).body.subscriptionID
    expect(await dates(future)).toEqual(['Future', null, null, '2027-01-15', '2027-01-05'])
    const ending = (await add({ EndDate: '2027-02-01' })).body.subscriptionID
    expect(await dates(ending)).toEqual(['Trial', '2027-01-01', null, '2027-01-11', '2027-01-11'])
    await moveTo(client, '2027-01-05')
    expect(await dates(future)).toEqual(['Trial', '2027-01-05', null, '2027-01-15', '2027-01-15'])
    await moveTo(client, '2027-01-15')
    expect(await dates(future)).toEqual(['Active', '2027-01-15', '2027-01-15', '2027-02-15', '2027-02-15'])
    expect(await dates(ending)).toEqual(['Active', '2027-01-11', '2027-01-11', null, null])
    await client.put(`/v1/subscriptions/${future}/cancel/renewal`)
    expect(await dates(future)).toEqual(['Active', '2027-01-15', '2027-01-15', '2027-02-15', null])
    await moveTo(client, '2027-02-15')
    expect(await dates(future)).toEqual(['Cancelled', '2027-01-15', '2027-01-15', null, null])
    expect(await dates(ending)).toEqual(['Expired', '2027-01-11', '2027-01-11', null, null])
    expect(await readSubscription(client, ending)).toMatchObject({
      isExpired: true,
      isCancelled: false,
      CancelledDate: null,
    })
  })

  test('a free package renews and makes no invoice, so none is announced', async () => {
    const { client, add } = await shop(service, { price: 0, setupFee: 5 })
    const { subscriptionID } = (await add({ StartDate: '2027-01-02' })).body
    expect(day((await readSubscription(client, subscriptionID)).comp_nextInvDate)).toBe('2027-01-02')
    await moveTo(client, '2027-03-10')
    const s = await readSubscription(client, subscriptionID)
    expect([s.lastInvDate, s.lastRenewDate, s.nextRenewDate, s.comp_nextInvDate].map(day)).toEqual([
      '2027-01-02',
      '2027-03-02',
      '2027-04-02',
      null,
    ])
    expect((await client.get(`/v1/subscriptions/${subscriptionID}/preview`)).body).toMatchObject({
      Charges: [],
      Taxes: [],
      Total: 0,
      InvoiceDate: null,
    })
  })

  test('LastModified follows what a caller changes, not the renewals', async () => {
    const { client, add } = await shop(service)
    const { subscriptionID } = (await add()).body
    await moveTo(client, '2027-02-10')
    expect((await readSubscription(client, subscriptionID)).LastModified).toBe('2027-01-01T08:00:00.000Z')
    await client.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`)
    expect((await readSubscription(client, subscriptionID)).LastModified).toBe('2027-02-10T12:00:00.000Z')
  })
})
