import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, secondKeyOf, startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { updateMethodState } from '../payment-methods/queries.ts'
import { verifyAccount } from '../../checks.ts'
import { sql } from '../../platform/database/sql.ts'
import { account } from './batches.testing.ts'

const service = await startTestService()

/** A batch of a manual gateway with lines of 100 for invoices of 100, one a customer. */
async function filled(count: number, gatewayBody: object = {}) {
  const shop = await account(service)
  const { GatewayToken, gatewayID } = await shop.manual({ CurrencyCodes: ['USD'], ...gatewayBody })
  const { BatchToken, body } = await shop.batch({ GatewayToken })
  const lines: { paymentID: number; invoiceID: number; customerID: number; paymentMethodID: number }[] = []
  for (let n = 0; n < count; n += 1) {
    const { customerID, paymentMethodID, invoice } = await shop.customer()
    const invoiceID = await invoice(100)
    const PaymentApplied = [{ invoiceID, amount: 100 }]
    const added = await shop.line(BatchToken, { customerID, paymentMethodID, Amount: 100, PaymentApplied })
    lines.push({ paymentID: added.body.paymentID, invoiceID, customerID, paymentMethodID })
  }
  const submit = (more: object = {}) =>
    shop.client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05', ...more })
  const results = (...Results: object[]) => shop.client.put(`/v1/batches/${BatchToken}/results`, { Results })
  const invoice = async (index: number) => (await shop.client.get(`/v1/invoices/${lines[index]!.invoiceID}`)).body
  const payment = async (index: number) => (await shop.client.get(`/v1/payments/${lines[index]!.paymentID}`)).body
  const read = async () => (await shop.client.get(`/v1/batches/${BatchToken}`)).body
  return { ...shop, BatchToken, body, gatewayID, lines, submit, results, invoice, payment, read }
}

const code = (reply: { status: number; body: any }) => [reply.status, reply.body?.Errors?.[0]?.Code]

test('changed while its gateway takes its time to build it, a batch is built as it was', async () => {
  const { client, gateway, batch, customer, line, build, must } = await account(service)
  await must('put', `/v1/gateways/${gateway.gatewayID}`, { Settings: { LatencyMs: 400 } })
  const { BatchToken, body } = await batch()
  const { customerID, paymentMethodID, invoice } = await customer()
  const asLine = {
    customerID,
    paymentMethodID,
    Amount: 100,
    PaymentApplied: [{ invoiceID: await invoice(100), amount: 100 }],
  }
  const { paymentID } = (await line(BatchToken, asLine)).body
  const submit = { BatchToken, ActionDate: '2027-01-05' }
  const submitted = await Promise.all([1, 2].map(() => client.put('/v1/batches/submit', submit)))
  expect(submitted.map(({ status }) => status).toSorted()).toEqual([204, 409])
  const building = build()
  const replies = await Promise.all([
    client.put('/v1/batches', { BatchToken, ...body, Notes: 'Late' }),
    client.put('/v1/batches/cancel', { BatchToken }),
    client.put('/v1/batches/submit', submit),
    client.put('/v1/batches/release', { BatchToken }),
    client.post('/v1/batches/payments', { BatchToken, ...asLine, PaymentApplied: [] }),
    client.put('/v1/batches/payments', { BatchToken, ...asLine, paymentID, Amount: 90, PaymentApplied: [] }),
    client.delete(`/v1/batches/payments/${paymentID}`),
    client.delete(`/v1/payments/${paymentID}`),
  ])
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 409))
  await building
  expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({
    State: 'submitted',
    NumberOfPayments: 1,
    PaymentsTotal: '100.00',
    Notes: null,
  })
  expect(await differencesOf(service, client)).toEqual([])
})

describe('a batch that is submitted', () => {
  test('is built by a job into a CSV file, which is downloaded with an event, and takes no change any more', async () => {
    const { client, submit, build, state, BatchToken, body, lines, invoice, line } = await filled(2)
    const { paymentID: ofLine, customerID, paymentMethodID } = lines[0]!
    const asLine = { BatchToken, customerID, paymentMethodID, Amount: 90, PaymentApplied: [] }
    const file = () => client.get(`/v1/batches/${BatchToken}/file`)
    expect(code(await file())).toEqual([409, 'batch_without_file'])
    expect((await submit({ Notes: 'Off' })).status).toBe(204)
    expect(await state(BatchToken)).toBe('build')
    for (const reply of [
      await client.put('/v1/batches', { BatchToken, ...body }),
      await client.put('/v1/batches/cancel', { BatchToken }),
      await submit(),
      await client.put(`/v1/batches/${BatchToken}/results`, {
        Results: [{ paymentID: lines[0]!.paymentID, Success: true }],
      }),
      await client.post('/v1/batches/payments', asLine),
      await client.put('/v1/batches/payments', { ...asLine, paymentID: ofLine }),
      await client.delete(`/v1/batches/payments/${lines[0]!.paymentID}`),
    ])
      expect(code(reply)).toEqual([409, 'batch_build'])
    expect((await invoice(0)).NumTries).toBe(0)
    await build()
    expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({
      State: 'submitted',
      SubmitDate: '2027-01-01T00:00:00.000Z',
      Notes: 'Off',
    })
    expect((await invoice(0)).NumTries).toBe(1)
    const got = await file()
    expect([got.status, got.headers['content-type'], got.headers['content-disposition']]).toEqual([
      200,
      'text/csv; charset=utf-8',
      `attachment; filename="batch-${BatchToken}.csv"`,
    ])
    const [head, first, second, end] = got.text.split('\r\n')
    expect(head).toBe(
      'Reference,paymentID,ActionDate,CurrencyCode,Amount,Method,AccountHolder,Bank,AccountType,AccountNumber,BranchCode,RoutingNumber,IBAN,BIC,MandateReference,MandateDate,Invoices',
    )
    const { invoiceNum } = await invoice(0)
    const { paymentID } = lines[0]!
    expect(first).toBe(
      `P${client.id}-${paymentID},${paymentID},2027-01-05,USD,100.00,debit_order,Ada,Bank,Savings,62001871490,250655,,,,,,${invoiceNum}`,
    )
    expect([second?.split(',')[4], end]).toEqual(['100.00', ''])
    expect((await client.get('/v1/events?type=batch.file_downloaded')).body).toHaveLength(1)
    const reader = await readOnlyClientOf(service, client)
    expect((await reader.get(`/v1/batches/${BatchToken}/file`)).status).toBe(403)
    const more = { customerID: lines[0]!.customerID, paymentMethodID: lines[0]!.paymentMethodID, Amount: 1 }
    expect(code(await line(BatchToken, { ...more, PaymentApplied: [] }, 409))).toEqual([409, 'batch_submitted'])
    expect(code(await client.put('/v1/batches/cancel', { BatchToken }))).toEqual([409, 'batch_submitted'])
    const account = { Method: 'debit_order', AccountType: 'Savings', AccountHolder: 'Eve', Bank: 'B' }
    const edited = await client.put(`/v1/paymentmethods/bankaccount/${lines[0]!.paymentMethodID}`, {
      customerID: lines[0]!.customerID,
      isPrimary: true,
      BankAccount: { ...account, AccountNumber: '62001871491', BranchCode: '250655' },
    })
    expect(code(edited)).toEqual([409, 'payment_method_in_batch'])
  })

  test('is built by a clock that is moved, also to where it stands', async () => {
    const { client, submit, state, BatchToken, move } = await filled(1)
    await submit()
    await move('2027-01-01T00:00:00Z')
    expect(await state(BatchToken)).toBe('submitted')
    expect((await client.get('/v1/events?type=batch.submitted')).body).toHaveLength(1)
  })

  test('is refused when it is empty, for a day that is over, or too late', async () => {
    const { submit, move } = await filled(0)
    expect(code(await submit())).toEqual([409, 'batch_empty'])
    expect(code(await submit({ ActionDate: '2026-12-31' }))).toEqual([400, 'date_in_past'])
    expect(code(await submit({ ActionDate: '2027-01-09' }))).toEqual([409, 'no_bank_day'])
    await move('2027-01-05T23:59:30Z')
    expect(code(await submit())).toEqual([409, 'too_late'])
    expect(code(await submit({ BatchToken: '0b5ee6f9-9f7e-4b0c-8f7e-3a1c2d4e5f60' }))).toEqual([404, 'batch_unknown'])
  })

  test('for another day takes its lines along', async () => {
    const { submit, payment } = await filled(1)
    expect((await submit({ ActionDate: '2027-01-06' })).status).toBe(204)
    expect((await payment(0)).Date).toBe('2027-01-06T00:00:00.000Z')
  })

  test('fails where a line cannot be built, is edited, and goes on', async () => {
    const { client, submit, build, read, BatchToken, body, lines } = await filled(1)
    await service.db.transaction(client.id, (tx) =>
      updateMethodState(tx, BigInt(lines[0]!.paymentMethodID), 'rejected'),
    )
    await submit()
    await build()
    expect(await read()).toMatchObject({
      State: 'failed',
      BuildError: `Payment ${lines[0]!.paymentID}: Payment method ${lines[0]!.paymentMethodID} was rejected; edit or validate it first.`,
    })
    expect(code(await client.delete(`/v1/batches/payments/${lines[0]!.paymentID}`))).toEqual([409, 'batch_failed'])
    expect((await client.put('/v1/batches', { BatchToken, ...body })).status).toBe(204)
    expect(await read()).toMatchObject({ State: 'open', BuildError: null, SubmitDate: null })
  })

  test('with four eyes waits for another key, which releases it; nobody does in time: it is open again', async () => {
    const { client, submit, build, read, BatchToken, move, state } = await filled(1, { isFourEyes: true })
    await submit()
    await build()
    expect(await read()).toMatchObject({ State: 'build', isAwaitingRelease: true })
    const release = (who = client) => who.put('/v1/batches/release', { BatchToken })
    expect((await release()).body.Errors).toMatchObject([{ Code: 'same_key', Field: 'BatchToken' }])
    expect((await client.get(`/v1/batches/${BatchToken}/file`)).body.Errors).toMatchObject([
      { Message: `Batch ${BatchToken} is waiting for its release; it has no file before it is submitted.` },
    ])
    const other = await secondKeyOf(service, client)
    await move('2027-01-06T00:00:00Z')
    expect(await state(BatchToken)).toBe('open')
    expect((await client.get('/v1/events?type=batch.reopened')).body).toHaveLength(1)
    expect(code(await release(other))).toEqual([409, 'batch_open'])
    await submit({ ActionDate: '2027-01-07' })
    expect((await release(other)).status).toBe(204)
    expect(code(await release(other))).toEqual([409, 'batch_build'])
    await build()
    expect(await state(BatchToken)).toBe('submitted')
  })
})

describe('a batch that is cancelled', () => {
  test('fails its lines, which count as no try, and frees what they were to pay', async () => {
    const { client, BatchToken, invoice, payment, results, lines } = await filled(1)
    expect((await client.put('/v1/batches/cancel', { BatchToken })).status).toBe(204)
    expect(await payment(0)).toMatchObject({ Status: 'Failed', Allocations: [] })
    expect(await invoice(0)).toMatchObject({ Balance: 100, NumTries: 0 })
    expect((await client.get(`/v1/invoices/${lines[0]!.invoiceID}/attempts`)).body).toMatchObject([
      { paymentID: lines[0]!.paymentID, BatchToken, Outcome: 'not_sent', Class: 'not_sent', isByHand: true },
    ])
    expect(code(await results({ paymentID: lines[0]!.paymentID, Success: true }))).toEqual([409, 'batch_cancelled'])
    expect(code(await client.put('/v1/batches/cancel', { BatchToken }))).toEqual([409, 'batch_cancelled'])
  })
})

describe('a customer who is made anonymous', () => {
  test('takes his lines out of batches that were not submitted; while a debit has no result it is refused', async () => {
    const { client, submit, build, results, lines, read } = await filled(2)
    const anonymise = (index: number) => client.post(`/v1/customers/${lines[index]!.customerID}/anonymise`, {})
    expect((await anonymise(0)).status).toBe(204)
    expect(await read()).toMatchObject({ NumberOfPayments: 1 })
    await submit()
    expect(code(await anonymise(1))).toEqual([409, 'line_open'])
    await build()
    expect(code(await anonymise(1))).toEqual([409, 'line_open'])
    await results({ paymentID: lines[1]!.paymentID, Success: false })
    expect((await anonymise(1)).status).toBe(204)
  })
})

describe('the books', () => {
  test('agree with every state that a batch and its lines can be in', async () => {
    const { client, submit, build, results, lines, BatchToken } = await filled(4)
    const verified = async () => {
      const found: unknown[] = []
      await verifyAccount(service.db, client.id, (difference) => found.push(difference))
      return found
    }
    const other = await client.post('/v1/batches', { ...(await client.get(`/v1/batches/${BatchToken}`)).body })
    expect(other.status).toBe(201)
    expect(await verified()).toEqual([])
    await submit()
    expect(await verified()).toEqual([])
    await build()
    expect(await verified()).toEqual([])
    const [a, b, c] = lines.map(({ paymentID }) => paymentID)
    await results({ paymentID: a, Success: true }, { paymentID: b, Success: true }, { paymentID: c, Success: false })
    await results({ paymentID: b, Success: false })
    expect(await verified()).toEqual([])
    await client.put('/v1/batches/cancel', { BatchToken: other.body.BatchToken })
    await service.db.transaction(client.id, (tx) =>
      tx.rows(
        sql`update batch_lines set result = 'failed' where account_id = ${client.id} and payment_id = ${BigInt(a!)}`,
      ),
    )
    expect(await verified()).toMatchObject([{ check: 'lines of batches', recordId: BigInt(a!), stored: 'failed' }])
  })
})

describe('results by hand', () => {
  test('settle and fail lines; when all have one, the batch is completed', async () => {
    const { client, submit, build, results, lines, payment, invoice, state, BatchToken } = await filled(3)
    await submit()
    await build()
    const [a, b, c] = lines.map(({ paymentID }) => paymentID)
    expect((await results({ paymentID: a, Success: true })).status).toBe(204)
    expect(await payment(0)).toMatchObject({ Status: 'Allocated' })
    expect(await state(BatchToken)).toBe('submitted')
    const failing = [
      { paymentID: b, Success: false, Reason: 'AC04', Date: '2027-01-05' },
      { paymentID: c, Success: false, Reason: 'insufficient_funds' },
    ]
    expect((await results(...failing)).status).toBe(204)
    expect(await state(BatchToken)).toBe('completed')
    expect(await payment(1)).toMatchObject({ Status: 'Failed', Allocations: [] })
    expect(await invoice(1)).toMatchObject({ Balance: 100, NumTries: 1 })
    expect((await client.get(`/v1/invoices/${lines[1]!.invoiceID}/attempts`)).body).toMatchObject([
      { Outcome: 'declined', Class: 'account_closed', Code: 'AC04', BatchToken, Amount: 100 },
    ])
    const methodOf = async (index: number) =>
      (await client.get(`/v1/paymentmethods/${lines[index]!.paymentMethodID}`)).body
    expect([await methodOf(0), await methodOf(2)].map(({ isValid }) => isValid)).toEqual([true, false])
    const { BatchToken: next } = (
      await client.post('/v1/batches', {
        CurrencyCode: 'USD',
        GatewayToken: (await client.get(`/v1/batches/${BatchToken}`)).body.GatewayToken,
        ActionDate: '2027-01-06',
      })
    ).body
    const again = await client.post('/v1/batches/payments', {
      BatchToken: next,
      customerID: lines[1]!.customerID,
      paymentMethodID: lines[1]!.paymentMethodID,
      Amount: 100,
      PaymentApplied: [{ invoiceID: lines[1]!.invoiceID, amount: 100 }],
    })
    expect(code(again)).toEqual([409, 'payment_method_rejected'])
  })

  test('given again change nothing, one after a success is a return, one after a failure is refused with all of its request', async () => {
    const { submit, build, results, lines, payment, invoice, read } = await filled(2)
    await submit()
    await build()
    const [a, b] = lines.map(({ paymentID }) => paymentID)
    await results({ paymentID: a, Success: true }, { paymentID: b, Success: false })
    const before = await read()
    expect((await results({ paymentID: a, Success: true }, { paymentID: b, Success: false })).status).toBe(204)
    expect(await read()).toEqual(before)
    for (const Reason of ['AC04', 'account_closed']) {
      const both = await results({ paymentID: a, Success: true }, { paymentID: b, Success: true, Reason })
      expect([both.status, both.body.Errors]).toMatchObject([
        400,
        [{ Code: 'contradiction', Field: 'Results[1].Reason' }],
      ])
    }
    const mixed = await results({ paymentID: a, Success: false, Reason: 'MD06' }, { paymentID: b, Success: true })
    expect([mixed.status, mixed.body.Errors]).toMatchObject([
      409,
      [{ Code: 'result_contradicts', Field: 'Results[1].paymentID' }],
    ])
    expect(await payment(0)).toMatchObject({ Status: 'Allocated' })
    expect((await results({ paymentID: a, Success: false, Reason: 'MD06' })).status).toBe(204)
    expect(await payment(0)).toMatchObject({ Status: 'Failed' })
    expect(await invoice(0)).toMatchObject({ Balance: 100, NumTries: 1 })
    expect((await results({ paymentID: a, Success: false })).status).toBe(204)
    expect(code(await results({ paymentID: a, Success: true }))).toEqual([409, 'result_contradicts'])
  })

  test('of class not_sent take the try back, before a result and after a success', async () => {
    const { submit, build, results, lines, invoice } = await filled(2)
    await submit()
    await build()
    const [a, b] = lines.map(({ paymentID }) => paymentID)
    await results({ paymentID: a, Success: false, Reason: 'NOT_SENT' }, { paymentID: b, Success: true })
    await results({ paymentID: b, Success: false, Reason: 'not_sent' })
    expect([await invoice(0), await invoice(1)]).toMatchObject([
      { NumTries: 0, Balance: 100 },
      { NumTries: 0, Balance: 100 },
    ])
  })

  test('are refused for what is no line, twice in a list, or for a day that cannot be', async () => {
    const { submit, build, results, lines, move } = await filled(1)
    await submit()
    await build()
    const { paymentID } = lines[0]!
    const one = { paymentID, Success: true }
    await move('2027-01-06')
    const refusals: [object[], number, string, string][] = [
      [[{ ...one, paymentID: 999_999 }], 400, 'line_unknown', 'Results[0].paymentID'],
      [[one, one], 400, 'duplicate', 'Results[1].paymentID'],
      [[{ ...one, Date: '2027-01-04' }], 400, 'out_of_range', 'Results[0].Date'],
      [[{ ...one, Date: '2027-01-07' }], 400, 'out_of_range', 'Results[0].Date'],
      [[{ paymentID }], 400, 'required', 'Results[0].Success'],
      [[], 400, 'too_few', 'Results'],
    ]
    for (const [list, status, Code, Field] of refusals) {
      const reply = await results(...list)
      expect([reply.status, reply.body.Errors[0]]).toMatchObject([status, { Field }])
      expect(reply.body.Errors[0].Code, Code).toBeTruthy()
    }
    expect((await results({ ...one, Date: '2027-01-05' })).status).toBe(204)
  })
})
