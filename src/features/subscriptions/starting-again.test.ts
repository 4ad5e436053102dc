import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { checkBooks, codesOf, day, moveTo, readSubscription, rowsOf, shop } from '../../../test/support/shop.ts'

/** A subscription that ended and was started again on a day to come: what may still be changed of that day. */

const service = await startTestService()

/** 31.00 a month with a set-up fee and a trial, ended on 10 February 2027 without refund, starting again on 1 April. */
async function startingAgain() {
  const made = await shop(service, { setupFee: 7, trialFee: 2, trialPeriod: 10 })
  const { subscriptionID: id } = (await made.add()).body
  const put = (what: string, body: object = {}) => made.client.put(`/v1/subscriptions/${id}/${what}`, body)
  await moveTo(made.client, '2027-02-11')
  expect((await put('cancel/norefund')).status).toBe(204)
  await moveTo(made.client, '2027-02-20')
  expect((await put('reactivate', { StartDate: '2027-04-01' })).status).toBe(204)
  return { ...made, id, put }
}

describe('the start of a subscription that was started again', () => {
  test('is not moved before the day on which it ended, whose days before are charged already', async () => {
    const { client, id, put } = await startingAgain()
    const before = await rowsOf(client)
    const refused = await put('changestartdate', { StartDate: '2027-02-10' })
    expect([refused.status, codesOf(refused)]).toEqual([409, ['start_before_end']])
    expect(day((await readSubscription(client, id)).StartDate)).toBe('2027-04-01')
    expect(await rowsOf(client)).toEqual(before)
  })

  test('moves to the day on which it ended, without set-up fee, trial or trial fee', async () => {
    const { client, id, put } = await startingAgain()
    const before = await rowsOf(client)
    expect((await put('changestartdate', { StartDate: '2027-03-01' })).status).toBe(204)
    expect((await put('changestartdate', { StartDate: '2027-02-11' })).status).toBe(204)
    const { comp_Status, TrialEndDate } = await readSubscription(client, id)
    expect([comp_Status, TrialEndDate]).toEqual(['Active', null])
    expect((await rowsOf(client)).slice(before.length)).toEqual(['2027-02-20: 2027-02-11 to 2027-03-10 31 = 31'])
    await checkBooks(service, client)
  })

  test('is bounded by the end of its last life, not of an earlier one', async () => {
    const { put } = await startingAgain()
    expect((await put('cancel/norefund')).status).toBe(204)
    expect((await put('reactivate', { StartDate: '2027-05-01' })).status).toBe(204)
    expect((await put('changestartdate', { StartDate: '2027-02-19' })).status).toBe(409)
    expect((await put('changestartdate', { StartDate: '2027-02-20' })).status).toBe(204)
  })
})
