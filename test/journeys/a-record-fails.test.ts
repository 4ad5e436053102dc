import { expect, test } from 'vitest'
import { insertSubscribers, rateTermOf } from '../../src/features/billing-run/run.testing.ts'
import { addComponent, use } from '../../src/features/subscriptions/components.testing.ts'
import { startTestService } from '../support/app.ts'
import { checkBooks, codesOf, invoicesOf, shop } from '../support/shop.ts'

/** Two reports of usage spoil a day of one subscription among a thousand: the others are billed, and it is mended in both ways. */

const service = await startTestService()
const OTHERS = 999

const totalOf = (invoices: readonly { Total: number }[]) => invoices.reduce((sum, { Total }) => sum + Total, 0)

test('two reports of 600,000,000,000 spoil a day of one subscription: 999 others are billed, it is mended by a correction and by a skip, and the next run has no failure', async () => {
  const { client, plan, add } = await shop(service, { price: 10 })
  const { componentID } = await addComponent(client, { type: 'metered', brackets: [[1, null]], name: 'Units' })
  const id: number = (await add({ componentUsage: [{ componentID }] })).body.subscriptionID
  const path = `/v1/subscriptions/${id}`
  await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-02-01', customers: OTHERS })
  const moveTo = async (day: string) => (await client.put('/v1/clock', { Now: `${day}T08:00:00.000Z` })).body
  const spoil = async () => {
    for (let count = 0; count < 2; count += 1)
      expect((await use(client, id, { componentID, NumUnits: 6e11 })).status).toBe(204)
  }
  const expectRefused = async () => {
    const cancelled = await client.put(`${path}/cancel/norefund`)
    expect([cancelled.status, codesOf(cancelled)]).toEqual([409, ['billing_failed']])
    expect((await client.get('/v1/billingfailures')).body.map(({ subscriptionID }: any) => subscriptionID)).toEqual([
      id,
    ])
  }
  const billed = async () => {
    const invoices = await invoicesOf(client)
    const own = invoices.filter(({ subscriptionID }) => subscriptionID === id)
    const others = invoices.filter(({ subscriptionID }) => subscriptionID !== id)
    return { own: own.map(({ Total }) => Total), others: others.length, othersTotal: totalOf(others) }
  }

  await spoil()
  const february = await moveTo('2027-02-01')
  expect([february.Invoices, february.Failed.length]).toEqual([OTHERS, 1])
  expect(await billed()).toEqual({ own: [10], others: OTHERS, othersTotal: OTHERS * 10 })
  await expectRefused()
  const corrected = await use(client, id, { componentID, NumUnits: 7, isSetUnits: true, Date: '2027-01-31' })
  expect([corrected.status, corrected.headers['perennial-warning']]).toEqual([204, undefined])
  expect((await billed()).own).toEqual([10, 17])

  await spoil()
  const march = await moveTo('2027-03-01')
  expect([march.Invoices, march.Failed.length]).toEqual([OTHERS, 1])
  await expectRefused()
  const skipped = await client.post(`${path}/skip`, { Until: '2027-03-01', Reason: 'The meter ran away' })
  expect([skipped.status, skipped.body.Skipped.length]).toEqual([201, 2])
  expect((await client.get('/v1/billingfailures')).body).toEqual([])

  const april = await moveTo('2027-04-01')
  expect([april.Invoices, april.Failed]).toEqual([OTHERS + 1, []])
  expect(await billed()).toEqual({ own: [10, 17, 10], others: 3 * OTHERS, othersTotal: 3 * OTHERS * 10 })
  expect((await client.put(`${path}/cancel/norefund`)).status).toBe(204)
  const told = (await client.get('/v1/events?type=subscription.billing_failed')).body.length
  const over = (await client.get('/v1/events?type=subscription.billing_recovered')).body.length
  expect([told, over]).toEqual([2, 2])
  await checkBooks(service, client)
})
