import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { checkPain008 } from '../../rails/sepa/check-pain008.ts'
import { sql } from '../../platform/database/sql.ts'
import { account } from './batches.testing.ts'
import { CREDITOR } from '../gateways/creditor.testing.ts'

/** Batches of a gateway of type sepa-file, from the mandate to the file. */

const service = await startTestService()

const SETTINGS = { ...CREDITOR, CreditorName: 'Böhm & Söhne' }
const IBAN = 'NL91ABNA0417164300'
const OTHER = 'DE75512108001245126199'
const MANDATE = { MandateReference: 'EM1', MandateDate: '2026-12-01' }

const codesOf = (reply: { body: any }) => reply.body.Errors.map(({ Code }: { Code: string }) => Code)

/** An account with a gateway of files, on Friday, 1 January 2027; its first debits can be on Tuesday, 5 January. */
async function firm(customer: object = {}) {
  const shop = await account(service)
  const { client, must } = shop
  await must('post', '/v1/currencies', { CurrencyCode: 'EUR' })
  const gateway = await must('post', '/v1/gateways', { GatewayType: 'sepa-file', Settings: SETTINGS })
  const wish = { Name: 'Zoë Müller', isCompany: true, CurrencyCode: 'EUR', ...customer }
  const { customerID } = await must('post', '/v1/customers', wish)
  const bodyOf = (more: object) => ({
    customerID,
    isPrimary: true,
    BankAccount: {
      Method: 'sepa',
      AccountType: 'Current',
      AccountHolder: 'Zoë Müller',
      Bank: 'A bank',
      IBAN,
      BIC: 'ABNANL2A',
      ...more,
    },
  })
  const addMethod = async (more: object): Promise<number> =>
    (await must('post', '/v1/paymentmethods/bankaccount', bodyOf(more))).paymentMethodID
  const editMethod = (id: number, more: object) =>
    client.put(`/v1/paymentmethods/bankaccount/${id}`, bodyOf(more)).then(({ status }) => status)
  const batch = async (ActionDate: string): Promise<string> =>
    (await must('post', '/v1/batches', { CurrencyCode: 'EUR', GatewayToken: gateway.GatewayToken, ActionDate }))
      .BatchToken
  const addLine = (BatchToken: string, paymentMethodID: number, Amount = 115) =>
    client.post('/v1/batches/payments', { BatchToken, customerID, Amount, paymentMethodID, isAutoApply: true })
  const submit = async (BatchToken: string, ActionDate: string) => {
    await must('put', '/v1/batches/submit', { BatchToken, ActionDate })
    await shop.build()
    const { State, BuildError } = (await client.get(`/v1/batches/${BatchToken}`)).body
    return { State, BuildError }
  }
  /** Submits a batch of one line, and returns its file. */
  const fileOf = async (ActionDate: string, paymentMethodID: number): Promise<string> => {
    const token = await batch(ActionDate)
    expect((await addLine(token, paymentMethodID)).status).toBe(201)
    expect(await submit(token, ActionDate)).toEqual({ State: 'submitted', BuildError: null })
    const { status, text } = await client.get(`/v1/batches/${token}/file`)
    expect(status).toBe(200)
    return text
  }
  return {
    ...shop,
    gatewayID: gateway.gatewayID as number,
    customerID,
    addMethod,
    editMethod,
    batch,
    addLine,
    submit,
    fileOf,
  }
}

describe('a batch', () => {
  test('becomes a file that is right, and is sealed where it lies', async () => {
    const { client, addMethod, batch, addLine, submit, must, move, customerID } = await firm()
    const invoice = await must('post', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 115, Qty: 1 }] })
    const method = await addMethod(MANDATE)
    const token = await batch('2027-01-05')
    const line = (await addLine(token, method)).body
    // Batches are made weeks before; banks refuse files whose time of creation is long past.
    await move('2027-01-02T09:30:00Z')
    expect(await submit(token, '2027-01-05')).toEqual({ State: 'submitted', BuildError: null })
    const file = await client.get(`/v1/batches/${token}/file`)
    expect(checkPain008(file.text)).toEqual([])
    expect(file.headers['content-type']).toContain('xml')
    expect(file.text).toContain('<CreDtTm>2027-01-02T09:30:00.000Z</CreDtTm>')
    expect(file.text).toContain(`<MsgId>${token.replaceAll('-', '').toLowerCase()}</MsgId>`)
    expect(file.text).toContain(`<EndToEndId>P${client.id}-${line.paymentID}</EndToEndId>`)
    expect(file.text).toContain('<Nm>Zoe Mueller</Nm>')
    expect(file.text).toContain(`<ReqdColltnDt>2027-01-05</ReqdColltnDt>`)
    expect(file.text).toMatch(new RegExp(`<Ustrd>[^<]*${invoice.invoiceNum}[^<]*</Ustrd>`))
    expect(file.text).not.toContain('SMNDA')
    const [stored] = await service.db
      .reader(client.id)
      .rows<{ file: Buffer; sha: string }>(
        sql`select sealed_file as "file", encode(file_sha256, 'hex') as "sha" from payment_batches where account_id = ${client.id}`,
      )
    expect(stored?.file.toString('latin1')).not.toContain(IBAN)
    expect(stored?.sha).toBe(createHash('sha256').update(file.text).digest('hex'))
  })

  test('is refused on days that TARGET excludes, and after its last moment', async () => {
    const { client, gateway: _, batch, move } = await firm()
    const gateways = (await client.get('/v1/gateways')).body
    const { GatewayToken } = gateways.find(({ GatewayType }: { GatewayType: string }) => GatewayType === 'sepa-file')
    const add = (ActionDate: string) => client.post('/v1/batches', { CurrencyCode: 'EUR', GatewayToken, ActionDate })
    expect(codesOf(await add('2027-01-03'))).toEqual(['no_bank_day'])
    expect(codesOf(await add('2027-03-26'))).toEqual(['no_bank_day'])
    await move('2027-01-04T15:59:00Z')
    expect(await batch('2027-01-05')).toBeTruthy()
    await move('2027-01-04T16:01:00Z')
    expect(codesOf(await add('2027-01-05'))).toEqual(['too_late'])
    expect(
      codesOf(await client.post('/v1/batches', { CurrencyCode: 'USD', GatewayToken, ActionDate: '2027-01-06' })),
    ).toEqual(['gateway_unfit'])
  })
})

describe('a mandate', () => {
  test('has to be there for a line, whole and of characters that SEPA carries', async () => {
    const { addMethod, batch, addLine } = await firm()
    const token = await batch('2027-01-05')
    for (const [mandate, code] of [
      [{}, 'mandate_missing'],
      [{ MandateReference: 'EM1' }, 'mandate_missing'],
      [{ MandateDate: '2026-12-01' }, 'mandate_missing'],
      [{ ...MANDATE, MandateReference: 'MÄ1' }, 'mandate_unfit'],
      [{ ...MANDATE, MandateDate: '2024-01-04' }, 'mandate_lapsed'],
    ] as const) {
      const refused = await addLine(token, await addMethod(mandate))
      expect([refused.status, codesOf(refused)]).toEqual([409, [code]])
    }
    expect((await addLine(token, await addMethod({ ...MANDATE, MandateDate: '2024-01-05' }))).status).toBe(201)
  })

  test('that is taken away from a line fails its batch, which names the line', async () => {
    const { client, addMethod, editMethod, batch, addLine, submit } = await firm()
    const method = await addMethod(MANDATE)
    const token = await batch('2027-01-05')
    const { paymentID } = (await addLine(token, method)).body
    expect(await editMethod(method, { MandateReference: null })).toBe(204)
    const failed = await submit(token, '2027-01-05')
    expect(failed).toEqual({ State: 'failed', BuildError: expect.stringContaining(String(paymentID)) })
    expect(failed.BuildError).not.toContain(IBAN)
    expect((await client.get(`/v1/batches/${token}/file`)).status).toBe(409)
  })

  test('lives on by its use: 36 months count from the last debit', async () => {
    const { addMethod, fileOf, batch, addLine, move } = await firm()
    const method = await addMethod({ ...MANDATE, MandateDate: '2024-02-01' })
    await fileOf('2027-01-05', method)
    await move('2029-12-20')
    expect((await addLine(await batch('2030-01-04'), method)).status).toBe(201)
    expect(codesOf(await addLine(await batch('2030-01-07'), method))).toEqual(['mandate_lapsed'])
  })

  test('that goes on with another account has SMNDA in its next file, and in no later one', async () => {
    const { addMethod, editMethod, fileOf } = await firm()
    const method = await addMethod(MANDATE)
    expect(await fileOf('2027-01-05', method)).not.toContain('SMNDA')
    // A batch that was submitted holds its method as it is; another goes on.
    const next = await addMethod({ ...MANDATE, MandateReference: 'EM2' })
    expect(await editMethod(next, { ...MANDATE, MandateReference: 'EM2', IBAN: OTHER, BIC: 'COBADEFFXXX' })).toBe(204)
    expect(await fileOf('2027-01-06', next)).toContain('SMNDA')
    expect(await fileOf('2027-01-07', next)).not.toContain('SMNDA')
  })
})

describe('a payer outside of the European Economic Area', () => {
  const ABROAD = { IBAN: 'GB29NWBK60161331926819', BIC: 'NWBKGB2L', ...MANDATE }

  test('is named with the address of the customer, structured', async () => {
    const place = { Address1: '12 High Street', City: 'London', ZipCode: 'SW1A 1AA', Country: 'United Kingdom' }
    const { addMethod, fileOf } = await firm(place)
    expect(await fileOf('2027-01-05', await addMethod(ABROAD))).toContain(
      '<PstlAdr><StrtNm>12 High Street</StrtNm><PstCd>SW1A 1AA</PstCd><TwnNm>London</TwnNm><Ctry>GB</Ctry></PstlAdr>',
    )
  })

  test('cannot be debited without it', async () => {
    const { addMethod, batch, addLine, submit } = await firm()
    const token = await batch('2027-01-05')
    await addLine(token, await addMethod(ABROAD))
    expect(await submit(token, '2027-01-05')).toEqual({
      State: 'failed',
      BuildError: expect.stringContaining('no city and country'),
    })
  })
})

test('an invoice whose payer has given no mandate is not planned to be debited; it is once the mandate is there', async () => {
  const { client, must, customerID, gatewayID, addMethod, editMethod } = await firm({ PaymentMethod: 'debit_order' })
  const method = await addMethod({})
  const { invoiceID } = await must('post', '/v1/invoices', {
    customerID,
    CollectionMethod: 'debit_order',
    gatewayID,
    DueDate: '2027-01-01',
    Charges: [{ UnitCostEx: 115 }],
  })
  const invoice = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body
  await client.put('/v1/clock', { Now: '2027-01-03T12:00:00Z' })
  expect(await invoice()).toMatchObject({ customerPaymentMethodID: method, NextTryDate: null, NumTries: 0 })
  expect((await client.get('/v1/batches')).body).toEqual([])
  expect(await editMethod(method, MANDATE)).toBe(204)
  await client.put('/v1/clock', { Now: '2027-01-05T12:00:00Z' })
  expect((await invoice()).NextTryDate).not.toBeNull()
  expect((await client.get('/v1/batches')).body).toMatchObject([{ State: 'open', PaymentsTotal: '115.00' }])
})
