import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { codesOf, day, moveTo, readSubscription, rowsOf, shop, subscribe } from '../../../test/support/shop.ts'

const service = await startTestService()

describe('cancelling at renewal', () => {
  test('ends it after what is invoiced; until then it can be dropped', async () => {
    const { client, add } = await shop(service, {}, '2027-01-01T08:00:00.000Z')
    const { subscriptionID } = (await add({ numDaysBeforeToInv: 7 })).body
    await moveTo(client, '2027-01-26')
    const path = `/v1/subscriptions/${subscriptionID}`
    expect((await client.put(`${path}/cancel/renewal`, { Reason: 'moves away' })).status).toBe(204)
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      comp_Status: 'Active',
      isFutureChange: true,
      nextRenewDate: '2027-03-01T00:00:00Z',
      comp_nextInvDate: null,
      EndDate: null,
      CancelledDate: null,
      CancelReason: 'moves away',
      futureChange: {
        Kind: 'cancellation',
        Date: '2027-03-01T00:00:00Z',
        packageID: null,
        packageVersionID: null,
        Term: null,
        TermType: null,
      },
    })
    await moveTo(client, '2027-02-28')
    expect((await client.delete(`${path}/futurechanges`)).status).toBe(204)
    // 28 February lies within the lead days of March: what the cancellation held back is invoiced at once.
    expect(await rowsOf(client)).toEqual([
      '2027-01-01: 2027-01-01 to 2027-01-31 31 = 31',
      '2027-01-25: 2027-02-01 to 2027-02-28 31 = 31',
      '2027-02-28: 2027-03-01 to 2027-03-31 31 = 31',
    ])
    expect(await readSubscription(client, subscriptionID)).toMatchObject({ isFutureChange: false, CancelReason: null })
    expect((await client.delete(`${path}/futurechanges`)).status).toBe(204)
    await client.put(`${path}/cancel/RENEWAL`)
    const moved = await moveTo(client, '2027-04-01')
    expect(moved).toMatchObject({ Invoices: 0, Expired: 0 })
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      comp_Status: 'Cancelled',
      isCancelled: true,
      isExpired: false,
      isFutureChange: false,
      futureChange: null,
      EndDate: '2027-04-01T00:00:00Z',
      CancelledDate: '2027-04-01T00:00:00Z',
      nextRenewDate: null,
    })
    expect((await client.put(`${path}/cancel/renewal`)).status).toBe(409)
    expect((await client.delete(`${path}/futurechanges`)).status).toBe(409)
  })

  test('in a trial it ends on the last day of the trial, and only the fees were charged', async () => {
    const { client, add } = await shop(service, { trialPeriod: 1, trialPeriodType: 'months', trialFee: 3, setupFee: 2 })
    const { subscriptionID } = (await add()).body
    await client.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`)
    expect(day((await readSubscription(client, subscriptionID)).nextRenewDate)).toBe('2027-02-01')
    await moveTo(client, '2027-06-01')
    expect(await rowsOf(client)).toEqual(['2027-01-01: Set-up fee 2 + Trial fee 3 = 5'])
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      comp_Status: 'Cancelled',
      EndDate: '2027-02-01T00:00:00Z',
    })
  })

  test('a future one ends at once, without money, and keeps its EndDate', async () => {
    const { client, add } = await shop(service, { setupFee: 5 })
    const { subscriptionID } = (await add({ StartDate: '2027-03-01', EndDate: '2027-09-01' })).body
    expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`)).status).toBe(204)
    const cancelled = {
      comp_Status: 'Cancelled',
      isCancelled: true,
      isExpired: false,
      EndDate: '2027-09-01T00:00:00Z',
      CancelledDate: '2027-01-01T00:00:00Z',
      nextRenewDate: null,
      comp_nextInvDate: null,
      lastInvDate: null,
    }
    expect(await readSubscription(client, subscriptionID)).toMatchObject(cancelled)
    const moved = await moveTo(client, '2027-12-01')
    expect(moved).toMatchObject({ Invoices: 0, Expired: 0, Failed: [] })
    expect(await readSubscription(client, subscriptionID)).toMatchObject(cancelled)
  })

  test('is refused when EndDate comes no later, and no kind is ever assumed', async () => {
    const { client, add } = await shop(service)
    const ending = (await add({ EndDate: '2027-02-01' })).body.subscriptionID
    const refused = await client.put(`/v1/subscriptions/${ending}/cancel/renewal`)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['subscription_ends_earlier']])
    const later = (await add({ EndDate: '2027-02-02' })).body.subscriptionID
    expect((await client.put(`/v1/subscriptions/${later}/cancel/renewal`)).status).toBe(204)
    expect((await client.put(`/v1/subscriptions/${later}/cancel/whatever`)).status).toBe(404)
    expect((await client.put(`/v1/subscriptions/${later}/cancel`)).status).toBe(404)
  })

  test('If-Match guards both the cancellation and its dropping', async () => {
    const { client, add } = await shop(service)
    const added = await add()
    const path = `/v1/subscriptions/${added.body.subscriptionID}`
    const match = { 'if-match': added.headers['etag'] as string }
    expect((await client.put(`${path}/cancel/renewal`, undefined, match)).status).toBe(204)
    expect((await client.delete(`${path}/futurechanges`, undefined, match)).status).toBe(412)
    expect((await client.delete(`${path}/futurechanges`, undefined, { 'if-match': '*' })).status).toBe(204)
  })

  test('of a suspended customer it ends on the first renewal still to come', async () => {
    const { client, customerID, add } = await shop(service)
    const { subscriptionID } = (await add()).body
    await client.put(`/v1/customers/${customerID}/suspend`)
    await moveTo(client, '2027-03-10')
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      nextRenewDate: '2027-04-01T00:00:00Z',
      comp_nextInvDate: null,
    })
    expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`)).status).toBe(204)
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      nextRenewDate: '2027-04-01T00:00:00Z',
      isFutureChange: true,
    })
    await moveTo(client, '2027-05-01')
    expect(await readSubscription(client, subscriptionID)).toMatchObject({
      comp_Status: 'Cancelled',
      EndDate: '2027-04-01T00:00:00Z',
    })
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    expect(await rowsOf(client)).toEqual(['2027-01-01: 2027-01-01 to 2027-01-31 31 = 31'])
  })
})

describe('events', () => {
  const typesOf = async (client: TestClient): Promise<string[]> =>
    (await client.get('/v1/events?page_size=200')).body
      .map(({ Type }: { Type: string }) => Type)
      .filter((type: string) => /^(subscription|invoice)\./.test(type))

  test('tell of adding, invoicing, cancelling, dropping and both ends', async () => {
    const { client, add } = await shop(service)
    const { subscriptionID } = (await add()).body
    await client.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`)
    await client.delete(`/v1/subscriptions/${subscriptionID}/futurechanges`)
    await client.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`, { Reason: 'done' })
    await moveTo(client, '2027-02-02')
    await subscribe(client, {}, { EndDate: '2027-02-10' })
    await moveTo(client, '2027-02-10')
    expect(await typesOf(client)).toEqual([
      'subscription.created',
      'invoice.issued',
      'subscription.cancellation_scheduled',
      'subscription.future_changes_dropped',
      'subscription.cancellation_scheduled',
      'subscription.cancelled',
      'subscription.created',
      'invoice.issued',
      'subscription.expired',
    ])
  })
})
