import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { codesOf, differencesOf, shop as subscribed } from '../../../test/support/shop.ts'
import { failBuildOf, lineOf, putIntoBuild } from '../batches/lines.testing.ts'
import { acting, creditOf, invoiceOf, ledgerOf, moneyShop, paymentOf, untilAwaited } from './money.testing.ts'

/** Lines of the service that give way to other money and to credit. */

const service = await startTestService()

const clean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

/** A customer with invoices of 115.00 and a line of as much for each of the first ones. */
async function lined(count = 1, lines = count) {
  const made = await moneyShop(service, count)
  const { client, customerID, invoices } = made
  const ids: number[] = []
  for (const invoiceID of invoices.slice(0, lines))
    ids.push(Number((await lineOf(service, client, customerID, [[invoiceID, 11500n]])).id))
  const to = (amountApplied: number, invoiceID = invoices[0]) => [{ invoiceID, amountApplied }]
  const pay = (Amount: number, more: object = {}) =>
    client.post('/v1/payments', paymentOf(customerID, Amount, { Allocations: to(Amount), ...more }))
  const read = async (id = invoices[0]) => (await client.get(`/v1/invoices/${id}`)).body
  /** The status, amount and allocations that are left of a line, or 404. */
  const line = async (id = ids[0]) => {
    const { status, body } = await client.get(`/v1/payments/${id}`)
    return status === 404 ? 404 : [body.Status, body.Amount, ...body.Allocations.map((a: any) => a.amountApplied)]
  }
  const balance = async () => (await client.get(`/v1/customers/${customerID}/balances`)).body[0]
  return { ...made, ids, to, pay, read, line, balance }
}

describe('an invoice of 115 with a line of 115', () => {
  test('counts the line as pending everywhere but where money is allocated', async () => {
    const { client, read, line, balance, customerID } = await lined()
    expect(await line()).toEqual(['Pending', 115, 115])
    expect(await read()).toMatchObject({ Status: 'Pending', Balance: 0, ActualBalance: 115, TotalPendingPaid: 115 })
    expect(await balance()).toMatchObject({ Balance: 0, Pending: 115, Unallocated: 0 })
    expect((await client.get(`/v1/payments?status=Pending&customerID=${customerID}`)).body).toHaveLength(1)
    await clean(client)
  })

  test('of an EFT of 40 leaves a line of 75', async () => {
    const { client, pay, read, line, balance, ids } = await lined()
    expect((await pay(40)).status).toBe(201)
    expect(await line()).toEqual(['Pending', 75, 75])
    expect(await read()).toMatchObject({ Status: 'Pending', Balance: 0, ActualBalance: 75, TotalActualPaid: 40 })
    expect(await balance()).toMatchObject({ Balance: 0, Pending: 75, Unallocated: 0 })
    const events = (await client.get(`/v1/events?type=payment.updated`)).body
    expect(events).toMatchObject([
      { RecordID: ids[0], Reason: 'Its place was taken.', Record: { Amount: 75, Status: 'Pending' } },
    ])
    await clean(client)
  })

  test('of an EFT of 115 deletes it', async () => {
    const { client, pay, read, line, balance, ids } = await lined()
    expect((await pay(115)).status).toBe(201)
    expect(await line()).toBe(404)
    expect(await read()).toMatchObject({ Status: 'Paid', Balance: 0, TotalPendingPaid: 0 })
    expect(await balance()).toMatchObject({ Balance: 0, Pending: 0, Unallocated: 0 })
    expect((await client.get(`/v1/events?type=payment.deleted`)).body).toMatchObject([{ RecordID: ids[0] }])
    expect((await ledgerOf(service, client)).slice(2)).toEqual([
      '2027-01-05 payment_begun clearing→unapplied 11500',
      '2027-01-05 allocation_made unapplied→receivable 11500',
      '2027-01-05 payment_begun_reversed unapplied→clearing 11500',
      '2027-01-05 allocation_made_reversed receivable→unapplied 11500',
      '2027-01-01 payment_recorded cash→unapplied 11500',
      '2027-01-01 allocation_made unapplied→receivable 11500',
    ])
    await clean(client)
  })

  test('takes no more than is truly open, and the refusal names both amounts', async () => {
    const { client, pay, line } = await lined()
    const refused = await pay(116)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['too_little_open']])
    expect(refused.body.Errors[0].Message).toMatch(/115.*116/)
    await pay(40)
    expect((await pay(76)).body.Errors[0].Message).toMatch(/75.*76/)
    expect(await line()).toEqual(['Pending', 75, 75])
    await clean(client)
  })

  test('by AutoApply: the line is deleted, and what is over stays unallocated', async () => {
    const { client, pay, line, balance } = await lined()
    expect((await pay(150, { Allocations: undefined, AutoApply: true })).body.Status).toBe('Partial')
    expect(await line()).toBe(404)
    expect(await balance()).toMatchObject({ Balance: -35, Unallocated: 35 })
    await clean(client)
  })

  test.each([
    ['a credit note', 'credit'],
    ['a credit note by the other door', 'adjustment'],
    ['bad debt', 'bad_debt'],
  ])('gives way to %s', async (_, door) => {
    const { client, customerID, invoices, read, line, to } = await lined()
    const adjustment = { customerID, Amount: 40, Date: '2027-01-01', Ref: `R ${door}`, isAutoApply: false }
    const linked = [{ objectID: invoices[0], amountApplied: 40, isAdjustment: false }]
    const made =
      door === 'credit'
        ? await client.post('/v1/credits', creditOf(customerID, 40, { Allocations: to(40) }))
        : await client.post('/v1/adjustment/add', {
            ...adjustment,
            Type: 'negative',
            AdjustmentType: door === 'bad_debt' ? 'bad_debt' : 'credit_note',
            LinkedAllocations: linked,
          })
    expect([made.status, made.text]).toEqual([201, expect.anything()])
    expect(await line()).toEqual(['Pending', 75, 75])
    expect(await read()).toMatchObject({ Status: 'Pending', ActualBalance: 75 })
    await clean(client)
  })

  test('is cancelled with its line, which leaves it first', async () => {
    const { client, invoices, line, balance } = await lined()
    expect((await client.delete(`/v1/invoices/${invoices[0]}`)).status).toBe(204)
    expect(await line()).toBe(404)
    expect(await balance()).toMatchObject({ Balance: 0, Pending: 0, Unallocated: 0 })
    await clean(client)
  })

  test('is not cancelled while other pending money covers it', async () => {
    const { client, customerID, invoices } = await moneyShop(service)
    await lineOf(service, client, customerID, [[invoices[0]!, 4000n]], { givesWay: false })
    const line = await lineOf(service, client, customerID, [[invoices[0]!, 7500n]])
    expect(codesOf(await client.delete(`/v1/invoices/${invoices[0]}`))).toEqual(['invoice_pending'])
    expect((await client.get(`/v1/payments/${line.id}`)).body).toMatchObject({ Amount: 75 })
    await clean(client)
  })
})

test('one by one, and with another line beside it: the newest gives way first', async () => {
  const { client, customerID, invoices } = await moneyShop(service)
  const [first, second] = [
    await lineOf(service, client, customerID, [[invoices[0]!, 6000n]]),
    await lineOf(service, client, customerID, [[invoices[0]!, 5500n]]),
  ]
  const amountOf = async (id: bigint) => (await client.get(`/v1/payments/${id}`)).body.Amount
  const pay = (Amount: number) =>
    client.post(
      '/v1/payments',
      paymentOf(customerID, Amount, { Allocations: [{ invoiceID: invoices[0], amountApplied: Amount }] }),
    )
  await pay(30)
  expect([await amountOf(first.id), await amountOf(second.id)]).toEqual([60, 25])
  await pay(40)
  expect([await amountOf(first.id), await amountOf(second.id)]).toEqual([45, undefined])
  await pay(45)
  expect(await amountOf(first.id)).toBeUndefined()
  expect((await pay(0.01)).status).toBe(409)
  await clean(client)
})

test('a line that pays two invoices keeps what it pays of the other', async () => {
  const { client, customerID, invoices } = await moneyShop(service, 2)
  const line = await lineOf(service, client, customerID, [
    [invoices[0]!, 11500n],
    [invoices[1]!, 11500n],
  ])
  const listed = (...amounts: number[]) => ({
    Allocations: amounts.map((amountApplied, n) => ({ invoiceID: invoices[n], amountApplied })),
  })
  await client.post('/v1/payments', paymentOf(customerID, 115, listed(115)))
  expect((await client.get(`/v1/payments/${line.id}`)).body).toMatchObject({
    Amount: 115,
    Allocations: [{ invoiceID: invoices[1], amountApplied: 115 }],
  })
  const both = await lined(2)
  const sum = { Allocations: [...both.to(100, both.invoices[0]), ...both.to(50, both.invoices[1])] }
  expect((await both.client.post('/v1/payments', paymentOf(both.customerID, 150, sum))).status).toBe(201)
  expect([await both.line(both.ids[0]), await both.line(both.ids[1])]).toEqual([
    ['Pending', 15, 15],
    ['Pending', 65, 65],
  ])
  for (const one of [client, both.client]) await clean(one)
})

test('the same invoice named twice takes the place once', async () => {
  const { client, customerID, line, to } = await lined()
  const Allocations = [...to(40), ...to(60)]
  await client.post('/v1/payments', paymentOf(customerID, 100, { Allocations }))
  expect(await line()).toEqual(['Pending', 15, 15])
  await clean(client)
})

test('money that needs its place no longer leaves the line lowered', async () => {
  const { client, customerID, invoices, pay, line, read, to } = await lined()
  const { paymentID } = (await pay(115)).body
  expect(await line()).toBe(404)
  const put = (Allocations: object[]) =>
    client.put(`/v1/payments/${paymentID}`, paymentOf(customerID, 115, { Allocations }))
  expect((await put([])).status).toBe(204)
  expect(await read()).toMatchObject({ Balance: 115, TotalPendingPaid: 0 })
  const line2 = await lineOf(service, client, customerID, [[invoices[0]!, 11500n]])
  expect((await put(to(40))).status).toBe(204)
  expect(await line(Number(line2.id))).toEqual(['Pending', 75, 75])
  expect((await put(to(10))).status).toBe(204)
  expect(await line(Number(line2.id))).toEqual(['Pending', 75, 75])
  expect(await read()).toMatchObject({ Balance: 30 })
  expect((await put(to(40))).status).toBe(204)
  expect(await line(Number(line2.id))).toEqual(['Pending', 75, 75])
  await clean(client)
})

test('a line that a caller changes keeps its place from then on; Memo and Ref change nothing about it', async () => {
  const { client, customerID, ids, pay, line, to } = await lined()
  const [kept] = (await client.get(`/v1/payments/${ids[0]}`)).body.Allocations
  const body = { ...paymentOf(customerID, 115), Date: '2027-01-05T00:00:00Z', Method: 'debit_order' }
  const put = (Allocations: object[]) => client.put(`/v1/payments/${ids[0]}`, { ...body, Memo: 'm', Allocations })
  expect((await put([kept])).status).toBe(204)
  expect((await pay(15)).status).toBe(201)
  expect(await line()).toEqual(['Pending', 100, 100])
  const lowered = { ...body, Amount: 100, Allocations: to(90) }
  expect((await client.put(`/v1/payments/${ids[0]}`, lowered)).status).toBe(204)
  expect(codesOf(await pay(11))).toEqual(['too_little_open'])
  expect((await pay(10)).status).toBe(201)
  expect(await line()).toEqual(['Pending', 100, 90])
  await clean(client)
})

test('a caller who allocates a line anew takes the places of other lines, and not his own twice', async () => {
  const { client, customerID, ids, invoices, line, to } = await lined(2)
  const body = { ...paymentOf(customerID, 115), Date: '2027-01-05T00:00:00Z', Method: 'debit_order' }
  const put = (Allocations: object[]) => client.put(`/v1/payments/${ids[0]}`, { ...body, Allocations })
  const over = [...to(115), { invoiceID: invoices[1], amountApplied: 40 }]
  expect((await put(over)).status).toBe(409)
  expect((await put([...to(75), { invoiceID: invoices[1], amountApplied: 40 }])).status).toBe(204)
  expect([await line(ids[0]), await line(ids[1])]).toEqual([
    ['Pending', 115, 75, 40],
    ['Pending', 75, 75],
  ])
  await clean(client)
})

test('the newest line, which a caller raises, takes the place of the one before it and none of its own', async () => {
  const { client, customerID, invoices, line } = await lined(1, 0)
  const older = Number((await lineOf(service, client, customerID, [[invoices[0]!, 6500n]], { givesWay: true })).id)
  const newer = Number(
    (await lineOf(service, client, customerID, [[invoices[0]!, 5000n]], { givesWay: true, amountMinor: 6000n })).id,
  )
  const body = { ...paymentOf(customerID, 60), Date: '2027-01-05T00:00:00Z', Method: 'debit_order' }
  const put = { ...body, Allocations: [{ invoiceID: invoices[0], amountApplied: 60 }] }
  expect((await client.put(`/v1/payments/${newer}`, put)).status).toBe(204)
  expect([await line(older), await line(newer)]).toEqual([
    ['Pending', 55, 55],
    ['Pending', 60, 60],
  ])
  await clean(client)
})

test('a line takes no place of another line', async () => {
  const { client, customerID, invoices } = await lined()
  await expect(lineOf(service, client, customerID, [[invoices[0]!, 100n]])).rejects.toThrow(/open/)
  await expect(lineOf(service, client, customerID, [[invoices[0]!, 100n]], { givesWay: false })).resolves.toMatchObject(
    { amountMinor: 100n },
  )
  await clean(client)
})

test('from the building of its batch on it is pending as any other, and gives way again when that failed', async () => {
  const { client, pay, line, ids } = await lined()
  await acting(service, client, (tx) => putIntoBuild(tx, BigInt(ids[0]!)))
  expect(codesOf(await pay(40))).toEqual(['too_little_open'])
  await clean(client)
  await acting(service, client, (tx) => failBuildOf(tx, BigInt(ids[0]!)))
  expect((await pay(40)).status).toBe(201)
  expect(await line()).toEqual(['Pending', 75, 75])
  await clean(client)
})

test('payments at once for the same place: what fits is taken, the line keeps the rest', async () => {
  const { client, pay, line, read } = await lined()
  const replies = await Promise.all([60, 50, 40, 30].map((amount) => pay(amount)))
  const paid = replies.filter(({ status }) => status === 201).reduce((sum, { body }) => sum + body.Amount, 0)
  for (const { status } of replies) expect([201, 409]).toContain(status)
  expect(paid).toBeLessThanOrEqual(115)
  expect(paid).toBeGreaterThan(0)
  expect(await line()).toEqual(paid === 115 ? 404 : ['Pending', 115 - paid, 115 - paid])
  expect(await read()).toMatchObject({ TotalActualPaid: paid, TotalPendingPaid: 115 - paid, Balance: 0 })
  await clean(client)
})

test('a credit of the rules takes the place of a line on another invoice', async () => {
  const { client, customerID, add } = await subscribed(service, { price: 31 })
  const { subscriptionID } = (await add()).body
  const [invoice] = (await client.get(`/v1/invoices?customerID=${customerID}`)).body
  const paid = { Allocations: [{ invoiceID: invoice.invoiceID, amountApplied: 31 }] }
  await client.post('/v1/payments', paymentOf(customerID, 31, paid))
  const other = await invoiceOf(client, customerID)
  const line = await lineOf(service, client, customerID, [[other, 10000n]])
  expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`, {})).status).toBe(204)
  const [note] = (await client.get(`/v1/customers/${customerID}/credits`)).body
  expect(note.Allocations).toMatchObject([{ invoiceID: other, amountApplied: note.Amount }])
  const { body } = await client.get(`/v1/payments/${line.id}`)
  expect(body.Amount + note.Amount).toBe(100)
  await clean(client)
})

test('money that comes while the batch is being built waits for that, and is refused once the line is built', async () => {
  const { client, pay, line, ids } = await lined()
  const { paying } = await acting(service, client, async (tx) => {
    await putIntoBuild(tx, BigInt(ids[0]!))
    const begun = pay(40)
    // The payment has seen the line give way, and waits for its row.
    await untilAwaited(tx)
    return { paying: begun }
  })
  const refused = await paying
  expect([refused.status, codesOf(refused)]).toEqual([409, ['line_built']])
  expect(await line()).toEqual(['Pending', 115, 115])
  await clean(client)
})
