import { expect, test } from 'vitest'
import { clientOf, startTestService } from '../../../test/support/app.ts'
import { copyRows, databaseBefore, withClient } from '../../../test/support/older-database.ts'
import { codesOf, differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf } from '../money/money.testing.ts'

/** A database from before notes were closed: one that was mailed with a part allocated, one that was not, and one of the service. */

const lived = await startTestService()

test('notes that were mailed are sent, those of the service closed, and the rest open; nothing is posted', async () => {
  const { client: before, customerID, add } = await shop(lived, { price: 31 })
  await before.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  await before.put(`/v1/customers/${customerID}`, { Name: 'Ada', LastName: 'Lovelace', Email: 'ada@example.test' })
  const { body: subscription } = await add()
  const whole = await invoiceOf(before, customerID)
  const note = async (amount: number): Promise<number> => {
    const Allocations = [{ invoiceID: whole, amountApplied: 20 }]
    return (await before.post('/v1/credits', creditOf(customerID, amount, { Allocations }))).body.creditNoteID
  }
  const [mailed, open] = [await note(30), await note(20)]
  expect((await before.put(`/v1/credits/${mailed}/send`, undefined)).status).toBe(204)
  await moveTo(before, '2027-01-16')
  await before.put(`/v1/credits/${mailed}/send`, undefined)
  await before.put(`/v1/subscriptions/${subscription.subscriptionID}/cancel/prorata`)
  const answers = (await before.get('/v1/credits')).body
  const connection = await databaseBefore('0070_closed_notes.sql', (to) =>
    withClient(lived.connection, (from) => copyRows(from, to)),
  )
  const service = await startTestService({ connection })
  const client = clientOf(service.app, before.id, before.secret)
  const notes = (await client.get('/v1/credits')).body
  expect(notes).toEqual(answers)
  const facts = notes.map(({ isClosed, isSent, DateSent, Unsettled }: any) => [isClosed, isSent, DateSent, Unsettled])
  const [sentOnce] = answers
  expect(facts).toEqual([
    [true, true, sentOnce.DateSent, 10],
    [false, false, null, 0],
    [true, false, null, 0],
  ])
  expect((await client.get('/v1/ledger/entries?page_size=500')).body).toEqual(
    (await before.get('/v1/ledger/entries?page_size=500')).body,
  )
  expect(await differencesOf(service, client)).toEqual([])
  // What was left of it corrects nothing any more.
  const Allocations = [{ invoiceID: whole, amountApplied: 30 }]
  expect((await client.put(`/v1/credits/${mailed}`, { ...notes[0], Allocations })).status).toBe(204)
  expect((await client.get(`/v1/credits/${mailed}`)).body).toMatchObject({ TotalTax: notes[0].TotalTax, Unsettled: 10 })
  expect(codesOf(await client.delete(`/v1/credits/${mailed}`))).toEqual(['note_sent'])
  expect((await client.delete(`/v1/credits/${open}`)).status).toBe(204)
  expect(await differencesOf(service, client)).toEqual([])
})
