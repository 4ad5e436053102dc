import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { hasFixtures } from '../../../test/support/fixtures.ts'
import { buildAll } from '../batches/batches.testing.ts'
import { linesOfService } from '../collection/line-hooks.ts'
import { achFile } from '../gateways/ach-file.ts'
import type { Adapters } from '../gateways/contract.ts'
import { COMPANY } from '../gateways/company.testing.ts'
import { type AnsweredEntry, type AnswerFile, answerFile } from './nacha.testing.ts'

/** NACHA files with which a bank answers: returns and corrections of the debits of a gateway of type ach-file. */

const service = await startTestService()

/** An account on 6 January 2027 with a batch of debits of 115.00, 34.50 … for the day before, each of a payer of its own. */
async function firm(amounts: readonly number[] = [115, 34.5]) {
  const client = await service.newAccount()
  const must = async (method: 'post' | 'put', path: string, body: object) => {
    const reply = await client[method](path, body)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  const gateway = await must('post', '/v1/gateways', { GatewayType: 'ach-file', isPrimary: true, Settings: COMPANY })
  const debit = async (
    ActionDate: string,
    lines: readonly { Amount: number; customerID: number; paymentMethodID: number; PaymentApplied?: object[] }[],
    adapters?: Adapters,
  ) => {
    const { BatchToken } = await must('post', '/v1/batches', {
      CurrencyCode: 'USD',
      GatewayToken: gateway.GatewayToken,
      ActionDate,
    })
    const paymentIDs: number[] = []
    for (const line of lines)
      paymentIDs.push(
        (
          await must('post', '/v1/batches/payments', {
            BatchToken,
            isAutoApply: line.PaymentApplied === undefined,
            ...line,
          })
        ).paymentID,
      )
    await must('put', '/v1/batches/submit', { BatchToken, ActionDate })
    await buildAll(service, linesOfService, adapters)
    const file = await client.get(`/v1/batches/${BatchToken}/file`)
    expect(file.status).toBe(200)
    const traceOf = (paymentID: number) =>
      new RegExp(`P${client.id}-${paymentID} .*(\\d{15})\\r`).exec(file.text)?.[1] ?? ''
    return { BatchToken, paymentIDs, file: file.text, traces: paymentIDs.map(traceOf) }
  }
  const payers: { customerID: number; paymentMethodID: number; invoiceID: number }[] = []
  for (const amount of amounts) {
    const { customerID } = await must('post', '/v1/customers', { Name: 'Ada', LastName: 'Lovelace', isCompany: false })
    const BankAccount = {
      Method: 'ach',
      AccountType: 'Checking',
      AccountHolder: 'Ada Lovelace',
      Bank: 'A bank',
      AccountNumber: '5654221',
      RoutingNumber: '081000210',
      MandateDate: '2026-12-01',
    }
    const method = await must('post', '/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
    const { invoiceID } = await must('post', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount, Qty: 1 }] })
    payers.push({ customerID, paymentMethodID: method.paymentMethodID, invoiceID })
  }
  const first = await debit(
    '2027-01-05',
    payers.map(({ customerID, paymentMethodID }, index) => ({
      customerID,
      paymentMethodID,
      Amount: amounts[index] as number,
    })),
  )
  const move = (Now: string) => must('put', '/v1/clock', { Now })
  await move('2027-01-06T12:00:00Z')
  const sendRaw = (bytes: Buffer | string) =>
    client.request('POST', `/v1/resultfiles?gatewayID=${gateway.gatewayID}`, bytes as string, {
      'content-type': 'text/plain',
    })
  const send = async (entries: readonly AnsweredEntry[], about: AnswerFile = {}) => {
    const reply = await sendRaw(Buffer.from(answerFile(entries, about), 'latin1'))
    return { status: reply.status as number, body: reply.body }
  }
  const linesOf = async (id: number) => (await client.get(`/v1/resultfiles/${id}`)).body.Lines
  const payment = async (id: number) => (await client.get(`/v1/payments/${id}`)).body
  return { client, must, gateway, payers, debit, first, move, send, sendRaw, linesOf, payment }
}

describe('a return', () => {
  test('before its debit counts as paid fails it, by the class of its code, and the method with it', async () => {
    const { send, first, payers, payment, client } = await firm()
    const [byAda, byBob] = first.paymentIDs as [number, number]
    const { status, body } = await send([
      { trace: first.traces[0]!, code: 'R01', amountMinor: 11_500n, reference: `P${client.id}-${byAda}` },
      { trace: first.traces[1]!, code: 'R02', amountMinor: 3_450n, reference: 'their own' },
    ])
    expect([status, body]).toMatchObject([
      201,
      {
        Format: 'nacha',
        Matched: 2,
        Applied: 2,
        Payments: 2,
        AlreadyKnown: 0,
        Unmatched: 0,
        OtherAccounts: 0,
        Warnings: [],
      },
    ])
    expect(await payment(byAda)).toMatchObject({ Status: 'Failed', Allocations: [] })
    expect((await client.get(`/v1/invoices/${payers[0]!.invoiceID}`)).body).toMatchObject({ Balance: 115 })
    const attempts = (await client.get(`/v1/invoices/${payers[1]!.invoiceID}/attempts`)).body
    expect(attempts).toMatchObject([{ paymentID: byBob, Outcome: 'declined', Class: 'account_closed', Code: 'R02' }])
    expect((await client.get(`/v1/batches/${first.BatchToken}`)).body.State).toBe('completed')
  })

  test('after it counted as paid takes the money back, on the day of the file, and is known in any later file', async () => {
    const { send, first, payment, client, move } = await firm([115])
    const [id] = first.paymentIDs as [number]
    await move('2027-01-11T12:00:00Z')
    expect((await payment(id)).Status).toBe('Allocated')
    const entry = { trace: first.traces[0]!, code: 'R10', amountMinor: 11_500n, ownTrace: '081000210000077' }
    expect((await send([entry], { day: '270111' })).body).toMatchObject({ Matched: 1, Applied: 1, Payments: 1 })
    expect(await payment(id)).toMatchObject({ Status: 'Failed' })
    const attempts = (await client.get(`/v1/invoices/${(await client.get('/v1/invoices')).body[0].invoiceID}/attempts`))
      .body
    expect(attempts).toMatchObject([{ Outcome: 'returned', Class: 'no_mandate', Code: 'R10' }])
    expect((await send([entry], { day: '270112' })).body).toMatchObject({
      Matched: 0,
      Applied: 0,
      AlreadyKnown: 1,
      Unmatched: 0,
    })
  })

  test.each<[string, Partial<AnsweredEntry>, object]>([
    ['of another amount', { amountMinor: 11_501n }, { Kind: 'return', Amount: 115.01, Code: 'R01' }],
    [
      'with the reference of another debit',
      { reference: 'P1-999', text: 'CALL US' },
      { Kind: 'return', Code: 'R01', Reference: expect.stringMatching(/^P1-999 09101298\d{7} CALL US$/) },
    ],
    ['that banks dispute', { code: 'R61' }, { Kind: 'other', Code: 'R61' }],
    ['of a sanction', { code: 'R90' }, { Kind: 'other', Code: 'R90' }],
    ['of a credit', { transactionCode: '21' }, { Kind: 'return', Code: 'R01' }],
  ])('%s is listed and changes nothing', async (_what, more, line) => {
    const { send, first, payment, linesOf } = await firm([115])
    const { body } = await send([{ trace: first.traces[0]!, code: 'R01', amountMinor: 11_500n, ...more }])
    expect(body).toMatchObject({ Matched: 0, Applied: 0, Unmatched: 1 })
    expect(await linesOf(body.resultFileID)).toMatchObject([{ ...line, State: 'open', paymentID: first.paymentIDs[0] }])
    expect((await payment(first.paymentIDs[0]!)).Status).toBe('Pending')
  })

  test('of a trace that no debit has is listed, one with an unknown code is applied as unknown, and a second one of a debit is listed', async () => {
    const { send, first, linesOf, client, payers } = await firm([115])
    const [trace] = first.traces as [string]
    const { body } = await send([
      { trace: '091012980000000', code: 'R01', amountMinor: 11_500n, reference: 'P1-1' },
      { trace, code: 'R99', amountMinor: 11_500n },
      { trace, code: 'R01', amountMinor: 11_500n },
    ])
    expect(body).toMatchObject({ Matched: 1, Applied: 1, Unmatched: 2 })
    expect(await linesOf(body.resultFileID)).toMatchObject([
      { Kind: 'return', Code: 'R01', Name: 'ADA LOVELACE', paymentID: null },
      { Kind: 'return', Code: 'R01', paymentID: first.paymentIDs[0] },
    ])
    expect((await client.get(`/v1/invoices/${payers[0]!.invoiceID}/attempts`)).body).toMatchObject([
      { Class: 'unknown', Code: 'R99' },
    ])
  })
})

test('rates of returns are answered beside the limits of Nacha, over 60 days', async () => {
  const { send, first, client, gateway, move } = await firm([115, 34.5, 10, 20, 30, 40, 50])
  await send([
    { trace: first.traces[0]!, code: 'R10', amountMinor: 11_500n },
    { trace: first.traces[1]!, code: 'R03', amountMinor: 3_450n },
    { trace: first.traces[2]!, code: 'R01', amountMinor: 1_000n },
  ])
  const path = `/v1/gateways/${gateway.gatewayID}/returns`
  // 1 of 7: 14.29 %, 3 of 7: 42.86 %.
  expect((await client.get(path)).body).toEqual({
    From: '2026-11-08T00:00:00Z',
    To: '2027-01-06T00:00:00Z',
    Debits: 7,
    Rates: [
      { Kind: 'unauthorised', Count: 1, Percent: 14.29, Limit: 0.5 },
      { Kind: 'administrative', Count: 1, Percent: 14.29, Limit: 3 },
      { Kind: 'all', Count: 3, Percent: 42.86, Limit: 15 },
    ],
  })
  expect((await client.get('/v1/events?type=gateway.return_rate')).body).toEqual([])
  await move('2027-03-06T12:00:00Z')
  expect((await client.get(path)).body).toMatchObject({
    Debits: 0,
    Rates: [{ Percent: 0 }, { Percent: 0 }, { Percent: 0 }],
  })
  const [sandbox] = (await client.get('/v1/gateways')).body
  expect((await client.get(`/v1/gateways/${sandbox.gatewayID}/returns`)).status).toBe(409)
})

test('a second return of the same day in another file waits, and the bank is answered whatever the CompanyID is by now', async () => {
  const { send, first, linesOf, client, gateway } = await firm([115])
  const Settings = { CompanyID: '9999999999' }
  expect((await client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings })).status).toBe(204)
  const entry = { trace: first.traces[0]!, amountMinor: 11_500n, reference: `P${client.id}-${first.paymentIDs[0]}` }
  const applied = await send([{ ...entry, code: 'R98', ownTrace: '081000210000103' }])
  expect(applied.body).toMatchObject({ Matched: 1, Applied: 1, OtherAccounts: 0 })
  const { body } = await send([{ ...entry, code: 'R10', ownTrace: '081000210000301' }])
  expect(body).toMatchObject({ Matched: 0, Applied: 0, AlreadyKnown: 0, Unmatched: 1 })
  expect(await linesOf(body.resultFileID)).toMatchObject([
    { Kind: 'return', Code: 'R10', State: 'open', paymentID: first.paymentIDs[0] },
  ])
})

test('a rate that reaches half of its limit, or the limit, has an event, once in 30 days, whoever brings the return', async () => {
  const { send, payers, client, gateway, debit, must, move, linesOf } = await firm([10])
  const [{ customerID, paymentMethodID }] = payers as [(typeof payers)[number]]
  // Of 60 debits, one of which left before, 5 are 8.33 % and 9 are 15 %.
  const lines = Array.from({ length: 59 }, () => ({ customerID, paymentMethodID, Amount: 10 }))
  const { traces, paymentIDs, BatchToken } = await debit('2027-01-08', lines)
  await move('2027-01-11T12:00:00Z')
  const back = (from: number, to: number, amountMinor = 1_000n) =>
    send(
      traces.slice(from, to).map((trace) => ({ trace, code: 'R01', amountMinor })),
      { day: `2701${10 + from}` },
    )
  const byHand = (from: number, to: number) =>
    must('put', `/v1/batches/${BatchToken}/results`, {
      Results: paymentIDs.slice(from, to).map((paymentID) => ({ paymentID, Success: false, Reason: 'R01' })),
    })
  const told = async () => (await client.get('/v1/events?type=gateway.return_rate')).body
  const all = (Count: number, Percent: number) => ({
    RecordID: gateway.gatewayID,
    Record: { gatewayID: gateway.gatewayID, Debits: 60, Kind: 'all', Count, Percent, Limit: 15 },
  })
  await back(0, 4)
  expect(await told()).toEqual([])
  await back(4, 5)
  const half = { ...all(5, 8.33), Reason: 'Half of the limit of Nacha is reached.' }
  expect(await told()).toMatchObject([half])
  await back(5, 6)
  await byHand(6, 8)
  expect(await told()).toMatchObject([half])
  await byHand(8, 9)
  const limit = { ...all(9, 15), Reason: 'The limit of Nacha is reached.' }
  expect(await told()).toMatchObject([half, limit])
  await move('2027-02-09T12:00:00Z')
  await back(9, 10)
  expect(await told()).toMatchObject([half, limit])
  await move('2027-02-10T12:00:00Z')
  const { body } = await back(10, 11, 1_100n)
  expect(await told()).toMatchObject([half, limit])
  // A person says which debit it is of.
  const [line] = await linesOf(body.resultFileID)
  await must('put', `/v1/resultfiles/${body.resultFileID}/lines/${line.lineID}`, { paymentID: paymentIDs[10] })
  expect(await told()).toMatchObject([half, limit, { ...all(11, 18.33), Reason: limit.Reason }])
})

describe('a correction', () => {
  const shown = async (client: { get(path: string): Promise<{ body: any }> }, id: number) =>
    (await client.get(`/v1/paymentmethods/${id}`)).body.BankAccount

  test('is followed at once, before the next entry, and the mandate stays', async () => {
    const { send, first, payers, client, debit, linesOf } = await firm([115])
    const [{ paymentMethodID, customerID }] = payers as [(typeof payers)[number]]
    // C07: routing number, account, transaction code of savings.
    const entry = {
      trace: first.traces[0]!,
      code: 'C07',
      corrected: '10100001918171614        37',
      ownTrace: '081000210000099',
    }
    const { body } = await send([entry])
    expect(body).toMatchObject({ Matched: 1, Applied: 1, Payments: 0, Unmatched: 0 })
    expect(await linesOf(body.resultFileID)).toMatchObject([
      { Kind: 'change', Code: 'C07', State: 'applied', paymentID: first.paymentIDs[0], Amount: null },
    ])
    expect(await shown(client, paymentMethodID)).toMatchObject({
      AccountNumber: '18171614',
      RoutingNumber: '101000019',
      AccountType: 'Savings',
      MandateDate: expect.stringContaining('2026-12-01'),
    })
    const events = (await client.get(`/v1/events?type=payment_method.updated`)).body
    expect(events.at(-1)).toMatchObject({ Reason: expect.stringContaining('C07: AccountNumber was …4221') })
    expect(JSON.stringify(events)).not.toContain('5654221')
    const next = await debit('2027-01-08', [{ customerID, paymentMethodID, Amount: 10 }])
    expect(next.file).toMatch(/^63710100001918171614 {9} ?0000001000/m)
    expect((await send([entry], { day: '270108' })).body).toMatchObject({ AlreadyKnown: 1, Applied: 0 })
  })

  test.each([
    ['C01', '999888', { AccountNumber: '999888', RoutingNumber: '081000210', AccountType: 'Checking' }],
    ['C02', '101000019', { AccountNumber: '5654221', RoutingNumber: '101000019' }],
    ['C03', '101000019   999888', { AccountNumber: '999888', RoutingNumber: '101000019' }],
    ['C05', '37', { AccountNumber: '5654221', AccountType: 'Savings' }],
    ['C06', '999888           37', { AccountNumber: '999888', AccountType: 'Savings' }],
  ])('%s of %j is applied', async (code, corrected, account) => {
    const { send, first, payers, client } = await firm([115])
    expect((await send([{ trace: first.traces[0]!, code, corrected }])).body).toMatchObject({ Applied: 1 })
    expect(await shown(client, payers[0]!.paymentMethodID)).toMatchObject(account)
  })

  test.each([
    ['C02', '101000018'],
    ['C03', '101000018999888'],
    ['C01', ''],
    ['C05', '99'],
    ['C04', 'ADA BYRON'],
    ['C09', '4711'],
    ['C61', 'whatever'],
  ])('%s of %j is listed', async (code, corrected) => {
    const { send, first, payers, client, linesOf } = await firm([115])
    const { body } = await send([{ trace: first.traces[0]!, code, corrected }])
    expect(body).toMatchObject({ Matched: 0, Applied: 0, Unmatched: 1 })
    expect(await linesOf(body.resultFileID)).toMatchObject([{ Kind: 'change', Code: code, State: 'open' }])
    expect(await shown(client, payers[0]!.paymentMethodID)).toMatchObject({
      AccountNumber: '5654221',
      RoutingNumber: '081000210',
    })
  })

  test('is followed by a file that is being built, and the debit in it is one of the corrected account', async () => {
    const { send, first, payers, client, must, debit } = await firm([115])
    const { customerID, paymentMethodID } = payers[0]!
    let built = 0
    const adapters = new Map(service.calling.adapters).set('ach-file', {
      ...achFile,
      buildBatch: async (call, batch) => {
        const file = await achFile.buildBatch!(call, batch)
        built += 1
        if (built === 1) await send([{ trace: first.traces[0]!, code: 'C01', corrected: '999888' }])
        return file
      },
    })
    const next = await debit('2027-01-08', [{ customerID, paymentMethodID, Amount: 10 }], adapters)
    expect([built, next.file]).toEqual([2, expect.stringMatching(/^627081000210999888 {11}0000001000/m)])
    await must('put', '/v1/clock', { Now: '2027-01-11T12:00:00Z' })
    const entry = { trace: next.traces[0]!, code: 'R10', amountMinor: 1_000n }
    expect((await send([entry], { day: '270111' })).body).toMatchObject({ Applied: 1 })
    expect(await shown(client, paymentMethodID)).toMatchObject({ AccountNumber: '999888' })
    expect((await client.get(`/v1/paymentmethods/${paymentMethodID}`)).body.isValid).toBe(false)
  })

  test('does not keep its debit from verifying and rejecting the method, nor a second correction from being followed', async () => {
    const { send, first, payers, client, move } = await firm([115, 34.5, 20])
    const [byC07, byC06, byC01] = payers as [(typeof payers)[number], (typeof payers)[number], (typeof payers)[number]]
    const traces = first.traces as [string, string, string]
    const applied = await send([
      { trace: traces[0], code: 'C07', corrected: '10100001961001           27', ownTrace: '081000210000001' },
      { trace: traces[1], code: 'C06', corrected: '61002            37', ownTrace: '081000210000002' },
      { trace: traces[2], code: 'C01', corrected: '61003', ownTrace: '081000210000003' },
      { trace: traces[2], code: 'C02', corrected: '101000019', ownTrace: '081000210000004' },
      { trace: traces[2], code: 'C05', corrected: '37', ownTrace: '081000210000005' },
      { trace: traces[2], code: 'C01', corrected: '61004', ownTrace: '081000210000006' },
    ])
    expect(applied.body).toMatchObject({ Applied: 6, Unmatched: 0 })
    expect(await shown(client, byC01.paymentMethodID)).toMatchObject({
      AccountNumber: '61004',
      RoutingNumber: '101000019',
      AccountType: 'Savings',
    })
    const areValid = async () => {
      const ids = [byC07, byC06, byC01].map(({ paymentMethodID }) => paymentMethodID)
      return Promise.all(ids.map(async (id) => (await client.get(`/v1/paymentmethods/${id}`)).body.isValid))
    }
    await move('2027-01-11T12:00:00Z')
    expect(await areValid()).toEqual([true, true, true])
    const returned = [
      { trace: traces[0], code: 'R10', amountMinor: 11_500n },
      { trace: traces[1], code: 'R29', amountMinor: 3_450n },
    ]
    expect((await send(returned, { day: '270111' })).body).toMatchObject({ Applied: 2 })
    expect(await areValid()).toEqual([false, false, true])
  })

  test('of an account that is another by now is listed', async () => {
    const { send, first, payers, client, must } = await firm([115])
    const [{ paymentMethodID, customerID }] = payers as [(typeof payers)[number]]
    await send([{ trace: first.traces[0]!, code: 'R01', amountMinor: 11_500n }])
    const BankAccount = { ...(await shown(client, paymentMethodID)), AccountNumber: '777' }
    await must('put', `/v1/paymentmethods/bankaccount/${paymentMethodID}`, { customerID, isPrimary: true, BankAccount })
    expect(
      (await send([{ trace: first.traces[0]!, code: 'C01', corrected: '999888' }], { day: '270107' })).body,
    ).toMatchObject({ Applied: 0, Unmatched: 1 })
    expect((await shown(client, paymentMethodID)).AccountNumber).toBe('777')
  })
})

describe('a file', () => {
  test('of another company is refused, and batches of others are passed over', async () => {
    const { send, first } = await firm([115])
    const other = await send([{ trace: first.traces[0]!, code: 'R01', amountMinor: 11_500n }], {
      companyId: '9999999999',
    })
    expect([other.status, other.body.Errors]).toMatchObject([409, [{ Code: 'other_account', Field: 'gatewayID' }]])
  })

  test('that does not add up is refused with line and field, and one whose blanks were cut off is read', async () => {
    const { sendRaw, first, client } = await firm([115])
    const file = answerFile([{ trace: first.traces[0]!, code: 'R01', amountMinor: 11_500n }])
    const refused = await sendRaw(Buffer.from(file.replace('0000011500', '0000011501')))
    expect([refused.status, refused.body.Errors]).toMatchObject([
      400,
      [{ Code: 'file_unreadable', Message: 'Line 5, total debits: it is 11500, and the batch has 11501.' }],
    ])
    for (const bytes of [file.slice(0, 500), `${file}\n${file}`, '<xml/>', Buffer.from([0xff, 0xfe])])
      expect((await sendRaw(bytes)).status).toBe(400)
    expect((await sendRaw(Buffer.alloc(32 * 1024 * 1024 + 1, '9'))).status).toBe(413)
    const padded = await sendRaw(
      Buffer.from(
        file
          .split('\n')
          .map((line) => line.trimEnd())
          .join('\n'),
      ),
    )
    expect([padded.status, padded.body]).toMatchObject([
      201,
      { Applied: 1, Warnings: [{ Code: 'line_padded', Count: 2 }] },
    ])
    expect((await client.get('/v1/resultfiles')).body).toMatchObject([
      { Format: 'nacha', Warnings: [{ Code: 'line_padded' }] },
    ])
  })

  test.skipIf(!hasFixtures)('of another bank lists all that is strange in it (needs ../shared/fixtures)', async () => {
    const folder = new URL('../../../../shared/fixtures/gateways/nacha/', import.meta.url)
    const { client, gateway, sendRaw, linesOf } = await firm([115])
    for (const [name, CompanyID, codes] of [
      ['invalid/ppd-debit-invalid-entryDetail-checkDigit.ach', '121042882', ['check_digit']],
      ['invalid/pos-invalidReturnFile.ach', '121042882', ['R96']],
      ['invalid/web-invalidNOCFile.ach', '121042882', ['C92']],
    ] as const) {
      expect((await client.put(`/v1/gateways/${gateway.gatewayID}`, { Settings: { CompanyID } })).status).toBe(204)
      const { status, body } = await sendRaw(readFileSync(new URL(name, folder)))
      expect([name, status, body.Unmatched]).toEqual([name, 201, 1])
      expect((await linesOf(body.resultFileID)).map(({ Code }: { Code: string }) => Code)).toEqual(codes)
    }
  })
})

describe('a debit that comes back for want of funds', () => {
  /** Adds an invoice of 115.00 that the service debits, due on Monday, 1 February 2027, and ways to live through its batches. */
  async function dunned() {
    const shop = await firm([115])
    const { client, must, send, payers } = shop
    const [{ customerID }] = payers as [(typeof payers)[number]]
    await send([{ trace: shop.first.traces[0]!, code: 'R01', amountMinor: 11_500n }])
    const { invoiceID } = await must('post', '/v1/invoices', {
      customerID,
      CollectionMethod: 'debit_order',
      DueDate: '2027-02-01',
      Charges: [{ UnitCostEx: 50, Qty: 1 }],
    })
    const invoice = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body
    /** Moves the clock until the service has made a batch with the invoice, hands it over, and has its bank return it on the day after the debit. */
    const round = async (code: string) => {
      let found: { BatchToken: string; ActionDate: string; NumberOfPayments: number } | undefined
      let now = new Date((await client.get('/v1/clock')).body.Now)
      for (let days = 0; days < 30 && !found; days++) {
        now = new Date(now.getTime() + 86_400_000)
        await shop.move(now.toISOString())
        const open = (await client.get('/v1/batches?State=open')).body
        found = open.find(({ NumberOfPayments }: { NumberOfPayments: number }) => NumberOfPayments > 0)
      }
      if (!found) return undefined
      const ActionDate = found.ActionDate.slice(0, 10)
      await must('put', '/v1/batches/submit', { BatchToken: found.BatchToken, ActionDate })
      await buildAll(service, linesOfService)
      const file: string = (await client.get(`/v1/batches/${found.BatchToken}/file`)).text
      const day = new Date(Date.parse(ActionDate) + 86_400_000)
      await shop.move(`${day.toISOString().slice(0, 10)}T12:00:00Z`)
      const answers = [...file.matchAll(/^6\d{11}.{17}(\d{10})(.{15}).*(\d{15})\r$/gm)]
      await send(
        answers.map(([, amount = '', , trace = '']) => ({ trace, code, amountMinor: BigInt(amount) })),
        { day: day.toISOString().slice(2, 10).replaceAll('-', '') },
      )
      return file
    }
    return { ...shop, invoice, round, customerID, invoiceID }
  }

  test('is made again twice under its own description, then no more until the method changes; nor by hand', async () => {
    const { round, invoice, client, must, payers, gateway } = await dunned()
    // Of another invoice, so that what came back before is none of its own.
    expect(await round('R01')).toMatch(/^5225ACME SOFTWARE.*PPDSUBSCRIPTN/m)
    expect(await round('R09')).toMatch(/^5225ACME SOFTWARE.*PPDRETRY PYMT/m)
    expect(await round('R01')).toMatch(/^5225ACME SOFTWARE.*PPDRETRY PYMT/m)
    expect(await invoice()).toMatchObject({ Balance: 50, NumTries: 3, NextTryDate: null })
    expect(await round('R01')).toBeUndefined()
    const [{ customerID, paymentMethodID }] = payers as [(typeof payers)[number]]
    const ActionDate = '2027-05-04'
    const { BatchToken } = await must('post', '/v1/batches', {
      CurrencyCode: 'USD',
      GatewayToken: gateway.GatewayToken,
      ActionDate,
    })
    const PaymentApplied = [{ invoiceID: (await invoice()).invoiceID, amountApplied: 50 }]
    const { paymentID } = await must('post', '/v1/batches/payments', {
      BatchToken,
      customerID,
      paymentMethodID,
      Amount: 50,
      PaymentApplied,
    })
    await must('put', '/v1/batches/submit', { BatchToken, ActionDate })
    await buildAll(service, linesOfService)
    expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({
      State: 'failed',
      BuildError: expect.stringContaining(
        `Payment ${paymentID}: The debit has come back for want of funds three times`,
      ),
    })
    await must('put', '/v1/batches/cancel', { BatchToken })
    const BankAccount = {
      Method: 'ach',
      AccountType: 'Checking',
      AccountHolder: 'Ada Lovelace',
      Bank: 'A bank',
      AccountNumber: '999888',
      RoutingNumber: '081000210',
      MandateReference: 'M1',
      MandateDate: '2027-02-20',
    }
    await must('put', `/v1/paymentmethods/bankaccount/${paymentMethodID}`, { customerID, isPrimary: true, BankAccount })
    // Another account is a new debit.
    expect(await round('R01')).toMatch(/PPDSUBSCRIPTN[\s\S]*081000210999888/)
  })

  test('but came back otherwise is not made again, whatever its class allows', async () => {
    const { round, invoice } = await dunned()
    // Of class declined, after which other gateways try again.
    expect(await round('R23')).toMatch(/PPDSUBSCRIPTN/)
    expect(await invoice()).toMatchObject({ Balance: 50, NumTries: 1, NextTryDate: null })
    expect(await round('R23')).toBeUndefined()
  })

  test('ends the tries of the service also where its line was by hand', async () => {
    const { round, invoice, invoiceID, debit, send, move, payers } = await dunned()
    const [{ customerID, paymentMethodID }] = payers as [(typeof payers)[number]]
    const PaymentApplied = [{ invoiceID, amountApplied: 20 }]
    const byHand = await debit('2027-01-08', [{ customerID, paymentMethodID, Amount: 20, PaymentApplied }])
    await move('2027-01-11T12:00:00Z')
    await send([{ trace: byHand.traces[0]!, code: 'R08', amountMinor: 2_000n }], { day: '270111' })
    expect(await invoice()).toMatchObject({ Balance: 50, NextTryDate: null })
    expect(await round('R01')).toBeUndefined()
  })
})
