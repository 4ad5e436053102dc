import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { readNacha } from '../../rails/nacha/read.ts'
import { COMPANY } from '../gateways/company.testing.ts'
import { account } from './batches.testing.ts'

/** Batches of a gateway of type ach-file, from the account of the payer to the file. */

const service = await startTestService()

const codesOf = (reply: { body: any }) => reply.body.Errors.map(({ Code }: { Code: string }) => Code)

/** An account in New York with a gateway of files, on Friday, 1 January 2027; its first debits can be on Tuesday, 5 January. */
async function firm() {
  const shop = await account(service, { TimeZone: 'America/New_York' })
  const { client, must } = shop
  const gateway = await must('post', '/v1/gateways', { GatewayType: 'ach-file', isPrimary: true, Settings: COMPANY })
  const payer = async (more: { isCompany?: boolean; BankAccount?: object } = {}) => {
    const { isCompany = false } = more
    const name = isCompany ? { Name: 'Byron Ltd' } : { Name: 'Ada', LastName: 'Lovelace' }
    const { customerID } = await must('post', '/v1/customers', { ...name, isCompany })
    const BankAccount = {
      Method: 'ach',
      AccountType: 'Checking',
      AccountHolder: 'Zoë Müller',
      Bank: 'A bank',
      AccountNumber: '5654221',
      RoutingNumber: '081000210',
      MandateDate: '2026-12-01',
      ...more.BankAccount,
    }
    const reply = await client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
    return { customerID: customerID as number, paymentMethodID: reply.body.paymentMethodID as number, reply }
  }
  const batch = async (ActionDate = '2027-01-05'): Promise<string> =>
    (await must('post', '/v1/batches', { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate }))
      .BatchToken
  const addLine = (
    BatchToken: string,
    { customerID, paymentMethodID }: { customerID: number; paymentMethodID: number },
    Amount: number,
  ) => client.post('/v1/batches/payments', { BatchToken, customerID, Amount, paymentMethodID, isAutoApply: true })
  const submit = async (BatchToken: string, ActionDate = '2027-01-05') => {
    await must('put', '/v1/batches/submit', { BatchToken, ActionDate })
    await shop.build()
    const { State, BuildError } = (await client.get(`/v1/batches/${BatchToken}`)).body
    return { State, BuildError }
  }
  return { ...shop, gatewayPath: `/v1/gateways/${gateway.gatewayID}`, gateway, payer, batch, addLine, submit }
}

test('the gateway takes ach in USD alone, on test and live accounts', async () => {
  for (const mode of ['test', 'live'] as const) {
    const client = await service.newAccount({ mode, ...(mode === 'live' ? { clockAt: null } : {}) })
    const { status, body } = await client.post('/v1/gateways', { GatewayType: 'ach-file', Settings: COMPANY })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      GatewayName: 'ACH file',
      isAcceptCC: false,
      isAcceptBankDD: true,
      isEnabled: true,
      isTestMode: mode === 'test',
      isManualRecon: true,
      CurrencyCodes: ['USD'],
      DebitMethods: ['ach'],
    })
    const path = `/v1/gateways/${body.gatewayID}`
    const half = await client.put(path, { Settings: { OffsetRouting: '101000019' } })
    expect([half.status, half.body.Errors]).toMatchObject([400, [{ Field: 'Settings.OffsetAccount' }]])
    expect((await client.put(path, { Settings: { CompanyID: null } })).status).toBe(204)
    expect((await client.get(path)).body.isEnabled).toBe(false)
    const other = await client.post('/v1/gateways', {
      GatewayType: 'ach-file',
      CurrencyCodes: ['EUR'],
      DebitMethods: ['sepa'],
    })
    expect([other.status, codesOf(other)]).toEqual([400, ['debit_method_unfit', 'currency_unfit']])
  }
})

test('a bank account needs a routing number that checks', async () => {
  const { payer } = await firm()
  for (const [RoutingNumber, status] of [
    ['081000211', 400],
    ['08100021', 400],
    [null, 400],
    ['081000210', 200],
  ] as const)
    expect((await payer({ BankAccount: { RoutingNumber } })).reply.status).toBe(status)
})

describe('a batch', () => {
  test('becomes a file that is right, is kept with its traces, and counts as paid three bank days after', async () => {
    const { client, must, payer, batch, addLine, submit, move } = await firm()
    const [ada, byron] = [await payer(), await payer({ isCompany: true, BankAccount: { AccountType: 'Savings' } })]
    const { invoiceID } = await must('post', '/v1/invoices', {
      customerID: ada.customerID,
      Charges: [{ UnitCostEx: 115, Qty: 1 }],
    })
    const token = await batch()
    const first = (await addLine(token, ada, 115)).body
    const second = (await addLine(token, byron, 34.5)).body
    // 13:59 in New York, a minute before the cut-off of the day before.
    await move('2027-01-04T18:59:00Z')
    expect(await submit(token)).toEqual({ State: 'submitted', BuildError: null })
    const file = await client.get(`/v1/batches/${token}/file`)
    expect([file.status, file.headers['content-disposition']]).toEqual([
      200,
      expect.stringContaining('ach-2027-01-05-'),
    ])
    const rows = await service.db
      .reader(client.id)
      .rows<{ trace: string; batch: bigint }>(
        sql`select sent_trace as "trace", batch_id as "batch" from batch_lines where account_id = ${client.id} order by payment_id`,
      )
    const start = `09101298${String((rows[0]!.batch * 1000n) % 10_000_000n).padStart(7, '0')}`
    // Companies come first in the file.
    expect(rows.map(({ trace }) => trace)).toEqual([start.slice(0, -1) + '2', start.slice(0, -1) + '1'])
    const read = readNacha(Buffer.from(file.text, 'latin1'))
    expect(read).toMatchObject({
      kind: 'read',
      on: '2027-01-04',
      time: '1359',
      modifier: 'A',
      batches: [
        {
          entryClass: 'CCD',
          companyId: '1234567890',
          effectiveDay: '270105',
          entries: [
            { transactionCode: '37', amountMinor: 3_450n, reference: `P${client.id}-${second.paymentID}`.slice(0, 15) },
          ],
        },
        {
          entryClass: 'PPD',
          entries: [{ transactionCode: '27', amountMinor: 11_500n, name: 'ZOE MUELLER', account: '5654221' }],
        },
      ],
    })
    // Tuesday 5 January and three bank days: Friday 8 January.
    await client.put('/v1/clock', { Now: '2027-01-07T23:00:00-05:00' })
    expect((await client.get(`/v1/payments/${first.paymentID}`)).body.Status).toBe('Pending')
    await client.put('/v1/clock', { Now: '2027-01-08T12:00:00-05:00' })
    expect((await client.get(`/v1/payments/${first.paymentID}`)).body.Status).toBe('Allocated')
    expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Status: 'Paid', Balance: 0 })
    expect((await client.get(`/v1/batches/${token}`)).body.State).toBe('completed')
  })

  test('is told apart from the others of its day, by the day in New York, and built again it keeps its letter', async () => {
    const { client, payer, batch, addLine, submit, move } = await firm()
    const ada = await payer()
    const modifierOf = async (token: string) => (await client.get(`/v1/batches/${token}/file`)).text[33]
    const made = async () => {
      const token = await batch('2027-01-07')
      expect((await addLine(token, ada, 10)).status).toBe(201)
      expect(await submit(token, '2027-01-07')).toMatchObject({ State: 'submitted' })
      return modifierOf(token)
    }
    await move('2027-01-05T02:00:00Z')
    expect([await made(), await made()]).toEqual(['A', 'B'])
    // Midnight of UTC has passed, that of New York has not: still the same day; then the next.
    await move('2027-01-05T04:30:00Z')
    expect(await made()).toBe('C')
    await move('2027-01-05T05:30:00Z')
    expect(await made()).toBe('A')
  })

  test('takes no line without a day on which the payer allowed it; the reference does not matter, and nothing lapses', async () => {
    const { payer, batch, addLine } = await firm()
    const token = await batch()
    for (const [mandate, code] of [
      [{ MandateDate: null }, 'mandate_missing'],
      [{ MandateDate: '2027-01-06' }, 'mandate_unfit'],
    ] as const) {
      const { reply, ...method } = await payer({ BankAccount: mandate })
      // A day that lies ahead may be refused by the method already.
      if (reply.status !== 200) continue
      const refused = await addLine(token, method, 10)
      expect([refused.status, codesOf(refused)]).toEqual([409, [code]])
    }
    expect((await addLine(token, await payer({ BankAccount: { MandateDate: '2020-01-01' } }), 10)).status).toBe(201)
  })

  test('is refused on holidays of the Federal Reserve and after its last moment', async () => {
    const { client, gateway, batch, move } = await firm()
    const add = (ActionDate: string) =>
      client.post('/v1/batches', { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate })
    // Martin Luther King's day.
    expect(codesOf(await add('2027-01-18'))).toEqual(['no_bank_day'])
    await move('2027-01-04T18:59:00Z')
    expect(await batch()).toBeTruthy()
    await move('2027-01-04T19:01:00Z')
    expect(codesOf(await add('2027-01-05'))).toEqual(['too_late'])
  })

  test('fails with the line that it cannot carry', async () => {
    const { client, payer, batch, addLine, submit } = await firm()
    const token = await batch()
    const { body } = await addLine(token, await payer(), 100_000_000)
    expect(await submit(token)).toEqual({
      State: 'failed',
      BuildError: `Payment ${body.paymentID}: Its amount is over 99999999.99, the most that an entry can have.`,
    })
    expect((await client.get(`/v1/batches/${token}/file`)).status).toBe(409)
  })
})
