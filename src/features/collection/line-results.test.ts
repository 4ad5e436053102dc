import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { debitShop, type DebitWish } from './debit-shop.testing.ts'

/** Results of lines of the service, as a person reports them, and what they mean for their invoices. */

const service = await startTestService()

/** An invoice of 115, due on Monday 1 February, whose line was submitted for Wednesday. */
async function submitted(wish: DebitWish = {}) {
  const shop = await debitShop(service, { isManual: true, ...wish })
  const id = await shop.invoice(115)
  await shop.move('2027-02-01')
  const [token] = (await shop.tokens()) as [string]
  const [paymentID] = (await shop.submit(token)) as [number]
  const report = (Success: boolean, Reason: string | null, Date: string) =>
    shop.result(token, { paymentID, Success, Reason, Date })
  return { ...shop, id, token, paymentID, report }
}

const clean = async (client: Parameters<typeof differencesOf>[1]) =>
  expect(await differencesOf(service, client)).toEqual([])

describe('a line that was submitted', () => {
  test('counts as a try and waits no more; settled, it has paid its invoice', async () => {
    const { client, id, read, move, report, batches, attempts, token } = await submitted()
    await move('2027-02-02')
    expect(await batches()).toEqual(['02-03 submitted 1 115.00'])
    expect(await read(id)).toMatchObject({ NumTries: 1, NextTryDate: null, Status: 'Pending' })
    await move('2027-02-04')
    expect((await report(true, null, '2027-02-04')).status).toBe(204)
    expect(await read(id)).toMatchObject({ Status: 'Paid', NumTries: 1, NextTryDate: null })
    expect(await attempts(id)).toMatchObject([{ Outcome: 'succeeded', BatchToken: token, isByHand: false }])
    await clean(client)
  })

  test('without money goes through the steps of the rules, each counted from when its answer was known', async () => {
    const { client, id, read, move, report, batches, mails, submit, tokens, result } = await submitted()
    await move('2027-02-04')
    expect((await report(false, 'insufficient_funds', '2027-02-04')).status).toBe(204)
    expect(await read(id)).toMatchObject({ Status: 'Past Due', NumTries: 1, NextTryDate: '2027-02-07T00:00:00Z' })
    await move('2027-02-04', '13:00')
    // Wanted on Sunday the 7th: debited on Monday, and so entered on Thursday, after the mail of the step before.
    expect(await mails()).toEqual(['02-04 payment_unsuccessful'])
    expect((await batches()).slice(1)).toEqual(['02-08 open 1 115.00'])
    const [, second] = (await tokens()) as [string, string]
    const [paymentID] = await submit(second)
    await move('2027-02-09')
    await result(second, { paymentID, Success: false, Reason: 'account_closed', Date: '2027-02-09' })
    await move('2027-02-28')
    expect(await mails()).toEqual([
      '02-04 payment_unsuccessful',
      '02-09 warning',
      '02-13 final_warning',
      '02-20 account_suspended',
    ])
    expect(await read(id)).toMatchObject({ NumTries: 2, NextTryDate: null })
    await clean(client)
  })

  test('and was never sent uses up no step and no try: it is planned anew, from the next day on', async () => {
    const { client, id, read, move, report, batches, attempts, mails } = await submitted()
    await move('2027-02-03')
    expect((await report(false, 'not_sent', '2027-02-03')).status).toBe(204)
    expect(await read(id)).toMatchObject({ NumTries: 0, NextTryDate: '2027-02-04T00:00:00Z' })
    await move('2027-02-04')
    expect((await batches()).slice(1)).toEqual(['02-08 open 1 115.00'])
    expect((await attempts(id)).map(({ Outcome }) => Outcome)).toEqual(['not_sent', 'pending'])
    expect(await mails()).toEqual([])
    await clean(client)
  })

  test('and comes back after it was paid: its newest step failed that day', async () => {
    const { client, id, read, move, report, mails, attempts } = await submitted()
    await move('2027-02-04')
    await report(true, null, '2027-02-04')
    await move('2027-02-13')
    expect((await report(false, 'insufficient_funds', '2027-02-13')).status).toBe(204)
    expect(await read(id)).toMatchObject({ Status: 'Past Due' })
    await move('2027-02-13', '13:00')
    expect(await mails()).toEqual(['02-13 payment_unsuccessful'])
    expect((await attempts(id))[0]).toMatchObject({ Outcome: 'returned' })
    await clean(client)
  })

  test('and comes back because its payer has died: the invoice is put on hold, which its history shows', async () => {
    const { client, id, read, move, report } = await submitted()
    await move('2027-02-04')
    await report(true, null, '2027-02-04')
    await move('2027-02-13')
    expect((await report(false, 'deceased', '2027-02-13')).status).toBe(204)
    expect(await read(id)).toMatchObject({ isCollectionHold: true, NextTryDate: null })
    const { body: events } = await client.get('/v1/events?type=invoice.updated')
    expect(events).toMatchObject([
      { Record: { invoiceID: id, isCollectionHold: true }, Reason: expect.stringMatching(/deceased/) },
    ])
    await clean(client)
  })

  test('reported paid and then never sent: reversed without mail or step, and tried anew', async () => {
    const { client, id, read, move, report, mails, batches } = await submitted()
    await move('2027-02-04')
    await report(true, null, '2027-02-04')
    await move('2027-02-05')
    expect((await report(false, 'not_sent', '2027-02-05')).status).toBe(204)
    expect(await read(id)).toMatchObject({ NumTries: 0 })
    await move('2027-02-06')
    expect(await mails()).toEqual([])
    expect((await batches()).slice(1)).toEqual(['02-09 open 1 115.00'])
    await clean(client)
  })
})

test('a batch that a person cancels: its lines were never sent, and the next ones are made from the next day on', async () => {
  const shop = await debitShop(service, { isManual: true })
  const { client, invoice, read, move, tokens, batches } = shop
  const id = await invoice(115)
  await move('2027-02-01')
  const [BatchToken] = await tokens()
  expect((await client.put('/v1/batches/cancel', { BatchToken })).status).toBe(204)
  await move('2027-02-01', '13:00')
  expect(await batches()).toEqual(['02-03 cancelled 1 115.00'])
  expect(await read(id)).toMatchObject({ NumTries: 0, Status: 'Due' })
  await move('2027-02-02')
  expect((await batches()).slice(1)).toEqual(['02-04 open 1 115.00'])
  await clean(client)
})

test('unallocated money takes the place of a line when its batch is submitted', async () => {
  const shop = await debitShop(service, { isManual: true })
  const { client, customerID, invoice, move, tokens, submit } = shop
  await invoice(115)
  await invoice(60)
  await move('2027-02-01')
  const eft = { customerID, Amount: 40, CurrencyCode: 'USD', Method: 'eft', Date: '2027-02-01' }
  expect((await client.post('/v1/payments', { ...eft, Allocations: [] })).status).toBe(201)
  const [token] = (await tokens()) as [string]
  await submit(token)
  expect((await client.get(`/v1/batches/${token}`)).body.PaymentsTotal).toBe('135.00')
  await clean(client)
})

test('a line of 115 and 115 by EFT without a list: on the next day the line is gone', async () => {
  const { client, customerID, invoice, move, batches, read } = await debitShop(service, {
    isManual: true,
    kind: 'sepa',
  })
  const id = await invoice(115)
  await move('2027-02-01')
  const eft = { customerID, Amount: 115, CurrencyCode: 'USD', Method: 'eft', Date: '2027-02-10' }
  await move('2027-02-10')
  expect((await client.post('/v1/payments', { ...eft, Allocations: [] })).status).toBe(201)
  expect(await batches()).toEqual(['02-15 open 1 115.00'])
  await move('2027-02-11')
  expect(await batches()).toEqual(['02-15 cancelled 0 0.00'])
  expect(await read(id)).toMatchObject({ Status: 'Paid' })
  await clean(client)
})

test('a line that a caller has changed is his: it uses no step', async () => {
  const { client, customerID, paymentMethodID, invoice, read, move, tokens, submit, result, mails, attempts } =
    await debitShop(service, {
      isManual: true,
    })
  const id = await invoice(115)
  await move('2027-02-01')
  const [BatchToken] = (await tokens()) as [string]
  const [{ paymentID }] = (await client.get(`/v1/batches/${BatchToken}`)).body.Payments
  const body = { paymentID, BatchToken, customerID, paymentMethodID, Amount: 115, PaymentApplied: [] as object[] }
  body.PaymentApplied.push({ invoiceID: id, amount: 100 })
  const edited = await client.put('/v1/batches/payments', body)
  expect(edited.status, edited.text).toBe(204)
  await submit(BatchToken)
  await move('2027-02-04')
  await result(BatchToken, { paymentID, Success: false, Reason: 'insufficient_funds', Date: '2027-02-04' })
  expect(await attempts(id)).toMatchObject([
    { paymentID, isByHand: true, Outcome: 'declined', Amount: 100, BatchToken },
  ])
  expect(await read(id)).toMatchObject({ NumTries: 1 })
  await move('2027-02-04', '13:00')
  expect(await mails()).toEqual([])
  await clean(client)
})

test('a line that a caller has changed through its payment is his at once, and stays his whatever its batch does', async () => {
  const { client, customerID, gatewayID, invoice, read, move, tokens, submit, batches, attempts } = await debitShop(
    service,
    { isManual: true },
  )
  expect((await client.put(`/v1/gateways/${gatewayID}`, { isFourEyes: true })).status).toBe(204)
  const id = await invoice(115)
  await move('2027-02-01')
  const [BatchToken] = (await tokens()) as [string]
  const [paymentID] = (await submit(BatchToken)) as [number]
  const payment = (await client.get(`/v1/payments/${paymentID}`)).body
  const put = (more: object) => client.put(`/v1/payments/${paymentID}`, { ...payment, ...more })
  expect((await put({ Memo: 'Looked at' })).status).toBe(204)
  expect(await attempts(id)).toMatchObject([{ isByHand: false }])
  const changed = await put({ Allocations: [{ invoiceID: id, amountApplied: 100 }] })
  expect(changed.status, changed.text).toBe(204)
  expect(await attempts(id)).toMatchObject([{ paymentID, isByHand: true, Amount: 100 }])
  const batch = (await client.get(`/v1/batches/${BatchToken}`)).body
  expect((await client.put('/v1/batches', batch)).status).toBe(204)
  expect(await batches()).toEqual(['02-03 open 1 115.00'])
  const eft = { customerID, Amount: 115, CurrencyCode: 'USD', Method: 'eft', Date: '2027-02-01' }
  const taken = await client.post('/v1/payments', { ...eft, Allocations: [{ invoiceID: id, amountApplied: 115 }] })
  expect([taken.status, taken.body.Errors?.[0].Code]).toEqual([409, 'too_little_open'])
  expect(await read(id)).toMatchObject({ Balance: 15 })
  expect(await batches()).toEqual(['02-03 open 1 115.00'])
  await clean(client)
})

test('a line that gives way though its batch is being built, or does not though it waits, is named by verify', async () => {
  const { client, invoice, move } = await debitShop(service, { isManual: true })
  await invoice(115)
  await move('2027-02-01')
  await clean(client)
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update payments set gives_way = false where account_id = ${client.id}`),
  )
  expect(await differencesOf(service, client)).toMatchObject([
    { check: 'lines of batches', what: 'whether it gives way', stored: 'false', expected: 'true' },
  ])
})

test('a line that a caller deletes is made again from the next day on, unless its invoice is put on hold', async () => {
  const { client, invoice, edit, move, tokens, batches } = await debitShop(service, { isManual: true })
  const id = await invoice(115)
  await move('2027-02-01')
  const [token] = await tokens()
  const [{ paymentID }] = (await client.get(`/v1/batches/${token}`)).body.Payments
  expect((await client.delete(`/v1/batches/payments/${paymentID}`)).status).toBe(204)
  await move('2027-02-01', '13:00')
  expect(await batches()).toEqual(['02-03 cancelled 0 0.00'])
  await move('2027-02-02')
  expect((await batches()).slice(1)).toEqual(['02-04 open 1 115.00'])
  expect((await edit(id, { isCollectionHold: true })).status).toBe(204)
  await move('2027-02-05')
  expect((await batches()).slice(1)).toEqual(['02-04 cancelled 0 0.00'])
  await clean(client)
})
