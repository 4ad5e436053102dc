import { describe, expect, test } from 'vitest'
import { goldenRows } from '../../../test/golden/table.ts'
import { startTestService } from '../../../test/support/app.ts'
import { addPackage, differencesOf } from '../../../test/support/shop.ts'
import { chargedCard } from './console.testing.ts'

/** Money that is refunded at a gateway's console: in the books, in what the customer owes, and in what waits for a person. */

const service = await startTestService()

const charged = (number: string) => chargedCard(service, number)
type Charged = Awaited<ReturnType<typeof charged>>

const STEPS: Record<string, (of: Charged, amount: number, on: string) => Promise<unknown>> = {
  day: async () => {},
  refunded: (of, amount, on) => of.console({ kind: 'refunded', on, amountMinor: BigInt(amount * 100) }),
  failed: (of, _, on) =>
    of.console({ ...of.changes[0]!, kind: 'refund_failed', reference: 're_1/failed', undoes: 're_1', on }),
  disputed: (of, amount, on) => of.console({ kind: 'disputed', on, amountMinor: BigInt(amount * 100) }),
  won: (of, amount, on) => of.console({ kind: 'dispute_won', on, amountMinor: BigInt(amount * 100) }),
  credit: async ({ client, invoiceID }, Amount) => {
    const made = await client.post(`/v1/invoices/${invoiceID}/credit`, {
      Amount,
      Reason: 'Half of it was not delivered',
    })
    expect(made.status, made.text).toBe(201)
  },
  take: async ({ client, path, invoiceID }, amount) => {
    const payment = (await client.get(path)).body
    const [{ allocationID, amountApplied }] = payment.Allocations
    const left = amountApplied - amount
    const Allocations = left === 0 ? [] : [{ allocationID, invoiceID, amountApplied: left }]
    const put = await client.put(path, { ...payment, Allocations })
    expect(put.status, put.text).toBe(204)
  },
  note: async ({ client, customerID, invoiceID }, Amount, on) => {
    const body = { customerID, CurrencyCode: 'USD', Date: on, Amount, invoiceID, CreditNumber: 'CN1', Allocations: [] }
    const made = await client.post('/v1/credits', body)
    expect(made.status, made.text).toBe(201)
  },
  other: async ({ client, customerID }, Amount, on) => {
    const body = { customerID, CurrencyCode: 'USD', Date: on, Amount, Method: 'eft', AutoApply: false, Allocations: [] }
    const made = await client.post('/v1/payments', body)
    expect(made.status, made.text).toBe(201)
  },
}

const text = (parts: readonly string[], between = ', ') => (parts.length === 0 ? '-' : parts.join(between))

/** Reads as the interface answers it what a row expects. */
async function found(of: Charged) {
  const { client, customerID, invoiceID } = of
  const adjustments = await Promise.all((await of.refunds()).map(({ AdjustmentID }) => of.adjustment(AdjustmentID)))
  const [balances] = (await client.get(`/v1/customers/${customerID}/balances`)).body
  const invoice = await of.read(invoiceID)
  const [tax] = (await client.get('/v1/reports/tax?from=2027-01-01&to=2027-01-31')).body
  const paid = ({ allocations }: any) =>
    (allocations as any[]).reduce((sum, { amountApplied }) => sum + amountApplied * 100, 0) / 100
  return {
    refunds: text(adjustments.map((one) => `${one.Amount}/${one.Amount - paid(one)}`)),
    payments: text(
      (await client.get('/v1/payments')).body.map(({ Ref, Amount, Status }: any) => {
        const name = /^(Kept of payment|Dispute won: payment|Refund failed: payment) /.exec(Ref ?? '')?.[0] ?? ''
        return `${name}${Amount} ${Status}`
      }),
    ),
    invoice: `${invoice.Status}/${invoice.Balance}`,
    balance: String(balances.Balance),
    lines: text(
      (await of.lines())
        .filter(({ Kind, State }) => Kind === 'refund' && State === 'open')
        .map(({ Amount, Format }) => `${Amount}${Format === 'event' ? '' : Format}`)
        .toReversed(),
      ',',
    ),
    tax: tax.Net.toFixed(2),
  }
}

const rows = goldenRows('console-refunds').map((row) => [`${row['id']}: ${row['why']}`, row] as const)

test.each(rows)('%s', async (_, { card, story, refunds, payments, invoice, balance, lines, tax }) => {
  const of = await charged(card!)
  for (const step of story!.split('; ')) {
    const [day, name = '', amount] = step.split(' ')
    await of.move(`2027-01-${day}`)
    await STEPS[name]!(of, Number(amount), `2027-01-${day}`)
  }
  expect(await found(of)).toEqual({ refunds, payments, invoice, balance, lines, tax })
  // Nobody is tried, warned or told of a refund.
  if (!story!.includes('disputed')) {
    expect((await of.attempts(of.invoiceID)).map(({ Outcome }) => Outcome)).toEqual(['succeeded'])
    expect(await of.mails()).toEqual([])
  }
  expect(await differencesOf(service, of.client)).toEqual([])
})

test('a refund of the console is shown with its payment, its adjustment and its event, each once', async () => {
  const of = await charged('4242424242424242')
  await of.move('2027-01-15')
  await of.console({ kind: 'refunded', on: '2027-01-14', amountMinor: 4000n })
  await of.console()
  const [refund, ...others] = await of.refunds()
  expect(others).toEqual([])
  expect(refund).toMatchObject({
    Amount: 40,
    State: 'succeeded',
    isFromGateway: true,
    transactionID: 're_1',
    Message: null,
  })
  expect(refund.Date).toBe('2027-01-14T00:00:00Z')
  const { AdjustmentID, refundID } = refund
  expect(await of.adjustment(AdjustmentID)).toMatchObject({ Ref: `Refund of payment ${of.paymentID}`, allocations: [] })
  const events = ((await of.client.get('/v1/events?page_size=200')).body as any[]).filter(({ Type }) =>
    Type.startsWith('payment_refund'),
  )
  expect(events.map(({ Type, Reason }) => [Type, Reason])).toEqual([
    ['payment_refund.succeeded', null],
    ['payment_refund.uncovered', 'The customer owes 40.00 USD of it: no unallocated money of its charge covers that.'],
  ])
  const entries = (await of.client.get(`/v1/ledger/entries?customerID=${of.customerID}&page_size=100`)).body as any[]
  expect(
    entries.filter(({ RecordID, RecordType }) => RecordType === 'positive_adjustment' && RecordID === AdjustmentID),
  ).toMatchObject([
    { Event: 'refund_paid', Debit: 'receivable', Credit: 'cash', Amount: 40, Date: '2027-01-14T00:00:00Z' },
  ])
  // It counts against what can still be refunded, and only what waits for a person can be closed.
  expect((await of.client.put(`${of.path}/refunds/${refundID}/result`, { Success: true })).status).toBe(409)
  const [line] = await of.lines()
  expect(line).toMatchObject({ Kind: 'refund', State: 'open', paymentID: of.paymentID, isCredit: false, Amount: 40 })
  const answer = `/v1/resultfiles/${line.resultFileID}/lines/${line.lineID}`
  expect((await of.client.put(answer, { paymentID: of.paymentID })).status).toBe(409)
  expect((await of.client.get('/v1/resultfiles?isOpen=true')).body).toHaveLength(1)
  expect((await of.client.put(answer, { isClosed: true })).status).toBe(204)
  expect((await of.client.get('/v1/resultfiles?isOpen=true')).body).toEqual([])
  expect(await differencesOf(service, of.client)).toEqual([])
})

test('a statement and the balances show it as a refund that the customer owes', async () => {
  const of = await charged('4000000000005563')
  await of.move('2027-01-15')
  const statement = (await of.client.get(`/v1/customers/${of.customerID}/statement?from=2027-01-01&to=2027-01-31`)).body
  expect(statement.Movements.map(({ Type, Debit, Credit, Balance }: any) => [Type, Debit, Credit, Balance])).toEqual([
    ['invoice', 115, null, 115],
    ['payment', null, 115, 0],
    ['refund', 57.5, null, 57.5],
  ])
  expect(statement.Movements.at(-1).Number).toBe(`Refund of payment ${of.paymentID}`)
  expect(statement).toMatchObject({ ClosingBalance: 57.5, Unallocated: 0 })
  const [balances] = (await of.client.get(`/v1/customers/${of.customerID}/balances`)).body
  expect(balances).toMatchObject({ Balance: 57.5, Unallocated: 0, Held: 0 })
})

test('what is left to be refunded here is what the console has not refunded', async () => {
  const of = await charged('4242424242424242')
  await STEPS['take']!(of, 115, '')
  await of.move('2027-01-15')
  await of.console({ kind: 'refunded', on: '2027-01-15', amountMinor: 4000n })
  const tooMuch = await of.client.post(`${of.path}/refund`, { Amount: 76 })
  expect([tooMuch.status, tooMuch.body.Errors[0].Code]).toEqual([409, 'too_little_unallocated'])
  expect((await of.client.post(`${of.path}/refund`, { Amount: 75 })).status).toBe(201)
  expect((await of.refunds()).map(({ Amount, isFromGateway }) => [Amount, isFromGateway])).toEqual([
    [40, true],
    [75, false],
  ])
  expect(await differencesOf(service, of.client)).toEqual([])
})

test('the adjustment of a refund of the console stays as it is: neither its amount nor its day changes, nor is it deleted', async () => {
  const of = await charged('4000000000003162')
  await of.move('2027-01-15')
  const [{ AdjustmentID }] = await of.refunds()
  const { customerID } = of
  const same = {
    AdjustmentID,
    customerID,
    Type: 'positive',
    AdjustmentType: 'refund',
    Amount: 115,
    Date: '2027-01-15',
    DueDate: '2027-01-15',
  }
  const edit = async (more: object) => {
    const { status, body } = await of.client.put('/v1/adjustment/edit', { ...same, ...more })
    return [status, body?.Errors?.[0]?.Code]
  }
  expect(await edit({ Amount: 50 })).toEqual([409, 'adjustment_fixed'])
  expect(await edit({ Date: '2027-01-14' })).toEqual([409, 'adjustment_fixed'])
  expect(await edit({ Memo: 'He was called.', DueDate: '2027-01-31' })).toEqual([204, undefined])
  const deleted = await of.client.delete(
    `/v1/adjustment/delete?type=positive&adjustmentID=${AdjustmentID}&customerID=${customerID}`,
  )
  expect([deleted.status, deleted.body.Errors[0].Code]).toEqual([409, 'adjustment_fixed'])
})

test('the sandbox removes card 4000000000006116 ten days after it was charged', async () => {
  const of = await charged('4000000000006116')
  const [method] = (await of.client.get(`/v1/customers/${of.customerID}/paymentmethods`)).body
  await of.move('2027-01-14')
  expect(await of.refunds()).toEqual([])
  const rejected = async () =>
    ((await of.client.get('/v1/events?page_size=200')).body as any[]).filter(
      ({ Type }) => Type === 'payment_method.updated',
    ).length
  expect(await rejected()).toBe(0)
  await of.move('2027-01-15')
  expect(await rejected()).toBe(1)
  expect(method).toBeDefined()
})

describe('while it is open', () => {
  /** A charge of 115.00 of which 40.00 were refunded at the console, and that money of the account is never applied automatically. */
  async function refunded() {
    const of = await charged('4242424242424242')
    expect((await of.client.put('/v1/account', { isAutoApplyUnallocated: false })).status).toBe(204)
    await of.move('2027-01-15')
    await of.console({ kind: 'refunded', on: '2027-01-15', amountMinor: 4000n })
    const [{ AdjustmentID }] = await of.refunds()
    const status = async () => (await of.adjustment(AdjustmentID)).Status
    expect(await status()).toBe('Unpaid')
    return { ...of, AdjustmentID, status }
  }

  test('a credit that payments give way to frees it for the refund, from the day of the note', async () => {
    const of = await refunded()
    await of.move('2027-01-18')
    const body = { Amount: 40, Reason: 'Half of it', isFreePayments: true }
    const made = await of.client.post(`/v1/invoices/${of.invoiceID}/credit`, body)
    expect(made.status, made.text).toBe(201)
    expect(await of.status()).toBe('Paid')
    const entries = (await of.client.get(`/v1/ledger/entries?customerID=${of.customerID}&page_size=100`)).body as any[]
    expect(
      entries
        .filter(({ Event }) => Event === 'allocation_made')
        .map(({ Date }) => Date.slice(0, 10))
        .at(-1),
    ).toBe('2027-01-18')
    expect(await differencesOf(service, of.client)).toEqual([])
  })

  test('the cancelling of its invoice frees the payment for it', async () => {
    const of = await refunded()
    const cancelled = await of.client.delete(`/v1/invoices/${of.invoiceID}`)
    expect(cancelled.status, cancelled.text).toBe(204)
    expect(await of.status()).toBe('Paid')
    const [balances] = (await of.client.get(`/v1/customers/${of.customerID}/balances`)).body
    expect(balances).toMatchObject({ Balance: -75, Unallocated: 75 })
    expect(await differencesOf(service, of.client)).toEqual([])
  })

  test('what a caller takes off it goes back to it, unless the money is placed elsewhere', async () => {
    const of = await refunded()
    await STEPS['take']!(of, 50, '')
    expect(await of.status()).toBe('Paid')
    const list = (allocations: object[]) =>
      of.client.put('/v1/adjustment/edit', {
        AdjustmentID: of.AdjustmentID,
        customerID: of.customerID,
        Type: 'positive',
        AdjustmentType: 'refund',
        Amount: 40,
        Date: '2027-01-15',
        DueDate: '2027-01-15',
        Allocations: allocations,
      })
    expect((await list([])).status).toBe(204)
    expect(await of.status()).toBe('Paid')
    const payment = (await of.client.get(of.path)).body
    const Allocations = [{ invoiceID: of.invoiceID, amountApplied: 115 }]
    expect((await of.client.put(of.path, { ...payment, Allocations })).status).toBe(204)
    expect(await of.status()).toBe('Unpaid')
    expect(await differencesOf(service, of.client)).toEqual([])
  })

  test('a credit of its invoice goes to it before AutoApply takes other invoices', async () => {
    const of = await refunded()
    const other = await of.invoice(100, { PaymentMethod: 'cash' })
    const body = { Amount: 100, Reason: 'Most of it was late', AutoApply: true }
    const made = await of.client.post(`/v1/invoices/${of.invoiceID}/credit`, body)
    expect([made.status, made.body.Status]).toEqual([201, 'Allocated'])
    expect(await of.status()).toBe('Paid')
    expect(await of.read(other)).toMatchObject({ Total: 115, Balance: 55 })
    expect(await differencesOf(service, of.client)).toEqual([])
  })

  test('what the service gives back of a subscription goes to it before other invoices do', async () => {
    let subscriptionID = 0
    const of = await chargedCard(service, '4242424242424242', async ({ client, customerID }) => {
      const { packageID } = await addPackage(client, { price: 100 })
      const made = await client.post('/v1/subscriptions', { customerID, packageID })
      expect(made.status, made.text).toBe(201)
      subscriptionID = made.body.subscriptionID
      const [{ invoiceID }] = (await client.get('/v1/invoices')).body
      return invoiceID
    })
    expect(await of.read(of.invoiceID)).toMatchObject({ Total: 115, Status: 'Paid' })
    await of.move('2027-01-15')
    await of.console({ kind: 'refunded', on: '2027-01-15', amountMinor: 4000n })
    const other = await of.invoice(100, { PaymentMethod: 'cash' })
    expect((await of.client.put(`/v1/subscriptions/${subscriptionID}/cancel/fullcredit`)).status).toBe(204)
    const [{ AdjustmentID }] = await of.refunds()
    expect((await of.adjustment(AdjustmentID)).Status).toBe('Paid')
    expect(await of.read(other)).toMatchObject({ Total: 115, Balance: 40 })
    expect(await differencesOf(service, of.client)).toEqual([])
  })

  test('a refund of ours that the gateway declines because of it frees what was held for it', async () => {
    const of = await charged('4242424242424242')
    await STEPS['take']!(of, 115, '')
    const gateway = (await of.client.get('/v1/gateways')).body[0]
    const fault = (Fault: string) => of.client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings: { Fault } })
    await fault('not_received')
    expect((await of.client.post(`${of.path}/refund`, { Amount: 115 })).status).toBe(202)
    await fault('none')
    await of.console({ kind: 'refunded', on: '2027-01-05', amountMinor: 11_500n })
    const [ours, theirs] = await of.refunds()
    expect([ours.State, theirs.isFromGateway, (await of.adjustment(theirs.AdjustmentID)).Status]).toEqual([
      'open',
      true,
      'Unpaid',
    ])
    await of.move('2027-01-07')
    expect((await of.refunds()).map(({ State }) => State)).toEqual(['failed', 'succeeded'])
    expect((await of.adjustment(theirs.AdjustmentID)).Status).toBe('Paid')
    expect(await differencesOf(service, of.client)).toEqual([])
  })
})
