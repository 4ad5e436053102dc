import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { checkPain008 } from '../../rails/sepa/check-pain008.ts'
import { settleAfterDays } from '../result-files/settle.ts'
import type { BatchToBuild, Built, Held, GatewayCall, LineToBuild } from './contract.ts'
import { SEPA_FILE } from './facts.ts'
import { sepaFile } from './sepa-file.ts'
import { callOf } from './calls.testing.ts'
import { checkGatewaySettings, readSettings } from './settings.ts'
import { Problems } from '../../kernel/fault.ts'

const service = await startTestService()

const SETTINGS = {
  CreditorName: 'Böhm & Söhne',
  CreditorIBAN: 'de89 3704 0044 0532 0130 00',
  CreditorBIC: 'cobadeffxxx',
  CreditorIdentifier: 'DE98 ZZZ 09999999999',
}
const callWith = (settings: Record<string, string | null> = {}): GatewayCall =>
  callOf({
    accountId: 7n as GatewayCall['accountId'],
    gatewayId: 1n,
    settings: readSettings(SEPA_FILE, { ...SETTINGS, ...settings }),
    now: '2027-01-04T08:00:00.000Z',
    today: '2027-01-04',
  })

const lineOf = (paymentId: bigint, rest: Partial<LineToBuild> = {}): LineToBuild => ({
  paymentId,
  reference: `P7-${paymentId}`,
  chargeReference: `${paymentId}.Qm3kz0aXw1Yb`,
  amountMinor: 11_500n,
  kind: 'sepa',
  accountType: 'Current',
  accountHolder: 'Zoë Öz',
  bank: 'A bank',
  accountNumber: null,
  branchCode: null,
  routingNumber: null,
  iban: 'NL91ABNA0417164300',
  bic: 'ABNANL2A',
  mandateReference: 'EM1',
  mandateDate: '2026-12-01',
  hasAccountChanged: false,
  invoiceNumbers: ['702'],
  ...rest,
})
const batchOf = (lines: LineToBuild[], rest: Partial<BatchToBuild> = {}): BatchToBuild => ({
  token: '0f8b1c52-a7d9-4c52-a91c-3f0e8c2d7b11',
  batchId: 1n,
  currency: 'EUR',
  actionDate: '2027-01-07',
  submittedAt: '2027-01-04T08:00:00.000Z',
  zone: 'UTC',
  fileOfDay: null,
  lines,
  ...rest,
})
const build = (batch: BatchToBuild, settings = {}) => sepaFile.buildBatch!(callWith(settings), batch)
function xmlOf(built: Built | Held): string {
  if (built.kind !== 'built' || built.file === null) throw new Error(`a file, not ${JSON.stringify(built.kind)}`)
  return built.file.bytes.toString('utf8')
}

describe('a batch', () => {
  test('is built into one file that is right, and into the same bytes again', async () => {
    const batch = batchOf([lineOf(1n), lineOf(2n, { amountMinor: 5n, hasAccountChanged: true })])
    const built = await build(batch)
    expect(built).toMatchObject({
      file: { name: 'pain.008-2027-01-07-0f8b1c52a7d94c52a91c3f0e8c2d7b11.xml', mediaType: 'application/xml' },
    })
    const xml = xmlOf(built)
    expect(checkPain008(xml)).toEqual([])
    expect(xml).toContain('<CtrlSum>115.05</CtrlSum>')
    expect(xml).toContain('<IBAN>DE89370400440532013000</IBAN>')
    expect(xml.match(/SMNDA/g)).toHaveLength(1)
    expect(await build(batch)).toEqual(built)
  })

  test('follows the Settings: version, scheme and sequence type', async () => {
    const plain = xmlOf(await build(batchOf([lineOf(1n)])))
    expect(plain).toMatch(/pain\.008\.001\.08.*<Cd>CORE<.*<SeqTp>RCUR</s)
    const chosen = xmlOf(await build(batchOf([lineOf(1n)]), { Version: '02', Scheme: 'b2b', SequenceType: 'FRST' }))
    expect(chosen).toMatch(/pain\.008\.001\.02.*<Cd>B2B<.*<SeqTp>FRST</s)
  })

  test.each<[string, Partial<LineToBuild>, RegExp]>([
    ['no mandate', { mandateReference: null }, /no MandateReference and MandateDate/],
    ['no day of its mandate', { mandateDate: null }, /no MandateReference and MandateDate/],
    ['a reference of another script', { mandateReference: 'MÄ1' }, /MndtId is no reference/],
    ['a mandate signed later', { mandateDate: '2027-01-08' }, /DtOfSgntr is not a day up to/],
    ['an amount over the bound', { amountMinor: 100_000_000_000n }, /InstdAmt is not an amount/],
    ['an account in Britain and no address', { iban: 'GB29NWBK60161331926819' }, /no city and country/],
  ])('names a line with %s, and no other', async (_what, rest, reason) => {
    const built = await build(batchOf([lineOf(1n), lineOf(2n, rest), lineOf(3n)]))
    expect(built).toEqual({ kind: 'refused', lines: [{ paymentId: 2n, reason: expect.stringMatching(reason) }] })
  })

  test('names every line that cannot be built', async () => {
    const built = await build(batchOf([lineOf(1n, { mandateDate: null }), lineOf(2n, { mandateReference: '/1' })]))
    expect(built).toMatchObject({ kind: 'refused', lines: [{ paymentId: 1n }, { paymentId: 2n }] })
  })

  test('has the address of payers outside of the European Economic Area, and of no other', async () => {
    const address = { street: '12 High Street', postalCode: null, town: 'Genève', country: 'CH' }
    const abroad = lineOf(1n, { iban: 'CH9300762011623852957', bic: 'POFICHBEXXX', address })
    const xml = xmlOf(await build(batchOf([abroad, lineOf(2n, { address })])))
    expect(xml.match(/<PstlAdr>.*?<\/PstlAdr>/g)).toEqual([
      '<PstlAdr><StrtNm>12 High Street</StrtNm><TwnNm>Geneve</TwnNm><Ctry>CH</Ctry></PstlAdr>',
    ])
  })

  test('on a day that is none of the bank is refused as a whole', async () => {
    const built = await build(batchOf([lineOf(1n)], { actionDate: '2027-03-26' }))
    expect(built).toEqual({ kind: 'refused', lines: [], reason: expect.stringContaining('TARGET') })
  })
})

describe('the test of a gateway', () => {
  test.each([
    [{}, 'accepted', undefined],
    [{ CreditorBIC: 'ABNANL1O' }, 'accepted', undefined],
    [{ CreditorBIC: 'ABNANL1O', Version: '02' }, 'refused', /BIC/],
  ])('of Settings %j', async (settings, kind, reason) => {
    const answer = await sepaFile.check(callWith(settings))
    expect(answer.kind).toBe(kind)
    if (reason) expect(answer).toEqual({ kind, reason: expect.stringMatching(reason) })
  })

  test('names what is not set', async () => {
    const { CreditorBIC: _, ...settings } = callWith().settings
    expect(await sepaFile.check({ ...callWith(), settings })).toEqual({
      kind: 'refused',
      reason: 'Settings.CreditorBIC is not set.',
    })
  })
})

describe('the gateway', () => {
  const codesOf = (reply: { body: any }) =>
    reply.body.Errors.map(({ Code, Field }: { Code: string; Field: string }) => `${Code} ${Field}`)
  const add = (client: TestClient, body: object = {}) =>
    client.post('/v1/gateways', { GatewayType: 'sepa-file', Settings: SETTINGS, ...body })

  test('takes sepa in EUR alone, is enabled when its creditor is named, on live accounts too', async () => {
    for (const mode of ['test', 'live'] as const) {
      const client = await service.newAccount({ mode, ...(mode === 'live' ? { clockAt: null } : {}) })
      const { status, body } = await add(client)
      expect(status).toBe(201)
      expect(body).toMatchObject({
        GatewayName: 'SEPA file',
        isAcceptCC: false,
        isAcceptBankDD: true,
        isEnabled: true,
        isTestMode: mode === 'test',
        isManualRecon: true,
        CurrencyCodes: ['EUR'],
        DebitMethods: ['sepa'],
      })
      const path = `/v1/gateways/${body.gatewayID}`
      expect((await client.put(path, { Settings: { CreditorIdentifier: null } })).status).toBe(204)
      expect((await client.get(path)).body.isEnabled).toBe(false)
    }
  })

  test('refuses other currencies and kinds', async () => {
    const client = await service.newAccount({ currency: 'EUR' })
    const refused = await add(client, { CurrencyCodes: ['EUR', 'USD'], DebitMethods: ['ach'] })
    expect([refused.status, codesOf(refused)]).toEqual([
      400,
      ['debit_method_unfit DebitMethods', 'currency_unfit CurrencyCodes'],
    ])
    expect((await add(client, { CurrencyCodes: ['EUR'] })).status).toBe(201)
  })

  test.each([
    ['CreditorName', 'x'.repeat(71)],
    ['CreditorName', '日本電気株式会社'],
    ['CreditorName', '++++'],
    ['CreditorIBAN', 'DE88370400440532013000'],
    ['CreditorIBAN', 'TR330006100519786457841326'],
    ['CreditorBIC', 'COBADE'],
    ['CreditorIdentifier', 'DE97ZZZ09999999999'],
    ['Scheme', 'COR1'],
    ['Version', '09'],
    ['SequenceType', 'RPRE'],
    ['SettleAfterDays', -1],
    ['LeadDays', 31],
    ['SubmitDays', 1.5],
    ['CutOff', '24:00'],
    ['PreNotificationDays', 91],
    ['RetryNoticeDays', '14'],
  ])('refuses Settings.%s of %j by name, without the value', async (name, value) => {
    const problems = new Problems()
    checkGatewaySettings(SEPA_FILE, { ...SETTINGS, [name]: value as string }, 'UTC', problems)
    expect(problems.found.map(({ field }) => field)).toEqual([`Settings.${name}`])
    // Bounds are named, which a value may happen to be part of.
    if (String(value).length > 3) expect(problems.found[0]?.message).not.toContain(String(value))
  })

  test.each(['CreditorName', 'CreditorIBAN', 'CreditorBIC', 'CreditorIdentifier'])(
    'is not enabled with a blank %s: no file leaves without it',
    async (name) => {
      const client = await service.newAccount({ currency: 'EUR' })
      const { body } = await add(client, { Settings: { ...SETTINGS, [name]: ' ' } })
      expect(body.isEnabled).toBe(false)
      const path = `/v1/gateways/${body.gatewayID}`
      expect((await client.put(path, { Settings: SETTINGS })).status).toBe(204)
      expect((await client.get(path)).body.isEnabled).toBe(true)
      expect((await client.put(path, { Settings: { [name]: '' } })).status).toBe(204)
      expect((await client.get(path)).body.isEnabled).toBe(false)
    },
  )

  test('keeps a SettleAfterDays of null, which is no default', async () => {
    const daysOf = (settings: Record<string, string | null>) => settleAfterDays(callWith(settings).settings, 5)
    expect([daysOf({}), daysOf({ SettleAfterDays: null })]).toEqual([5, null])
    const client = await service.newAccount({ currency: 'EUR' })
    const { body } = await add(client)
    const path = `/v1/gateways/${body.gatewayID}`
    const before = (await client.get(path)).headers['etag']
    expect((await client.put(path, { Settings: { SettleAfterDays: null, LeadDays: null } })).status).toBe(204)
    expect((await client.get(path)).headers['etag']).not.toBe(before)
  })

  test('keeps its CreditorIdentifier while mandates were signed for it', async () => {
    const client = await service.newAccount({ currency: 'EUR' })
    const { body } = await add(client)
    const path = `/v1/gateways/${body.gatewayID}`
    const other = { Settings: { CreditorIdentifier: 'AT61ZZZ01234567890' } }
    expect((await client.put(path, other)).status).toBe(204)
    expect((await client.put(path, { Settings: SETTINGS })).status).toBe(204)
    const manual = await client.post('/v1/gateways', { GatewayType: 'manual', DebitMethods: [] })
    const newCustomer = async (more: object) =>
      (await client.post('/v1/customers', { Name: 'Acme', isCompany: true, CurrencyCode: 'EUR', ...more })).body
        .customerID
    const BankAccount = {
      Method: 'sepa',
      AccountType: 'Current',
      AccountHolder: 'Ada',
      Bank: 'A bank',
      IBAN: 'NL91ABNA0417164300',
      BIC: 'ABNANL2A',
      MandateReference: 'EM1',
      MandateDate: '2026-01-01',
    }
    const addMandate = async (customerID: number) =>
      client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
    // A customer of another gateway does not count.
    const elsewhere = await newCustomer({ PrimaryGatewayID: manual.body.gatewayID })
    expect((await addMandate(elsewhere)).status).toBe(200)
    expect((await client.put(path, other)).status).toBe(204)
    expect((await client.put(path, { Settings: SETTINGS })).status).toBe(204)
    expect((await addMandate(await newCustomer({}))).status).toBe(200)
    for (const Settings of [other.Settings, { CreditorIdentifier: null }]) {
      const refused = await client.put(path, { Settings })
      expect([refused.status, codesOf(refused)]).toEqual([409, ['setting_fixed Settings.CreditorIdentifier']])
      expect(refused.text).not.toContain('0123456')
    }
    // The same one in another spelling is no change.
    const same = { Settings: { CreditorIdentifier: 'de98zzz09999999999', LeadDays: 3 } }
    expect((await client.put(path, same)).status).toBe(204)
  })

  test('answers validations by format and check sums, and changes nothing stored', async () => {
    const client = await service.newAccount({ currency: 'EUR' })
    const { body } = await add(client)
    const BankAccount = {
      Method: 'sepa',
      AccountType: 'Current',
      AccountHolder: 'Ada',
      Bank: 'A bank',
      IBAN: 'NL91ABNA0417164300',
      BIC: 'ABNANL2A',
    }
    const path = `/v1/ValidateBankAccount/${body.gatewayID}`
    expect((await client.post(path, { BankAccount })).status).toBe(204)
    expect((await client.post(path, { BankAccount: { ...BankAccount, IBAN: 'NL92ABNA0417164300' } })).status).toBe(400)
  })
})

const many = Array.from({ length: 30 }, (_, n) => String(100_000 + n))

test.each([
  ['one invoice', ['8'], 'Acme: Invoice 8'],
  ['two', ['8', '9'], 'Acme: Invoices 8, 9'],
  ['no invoice', [], 'Acme'],
  // 16 characters, 15 more numbers of 8 characters each, and the four of the sign that there are more: 140.
  ['more than there is room for', many, `Acme: Invoices ${many.slice(0, 15).join(', ')} ...`],
])('a payer reads whose debit it is, and %s', async (_name, invoiceNumbers, text) => {
  const xml = xmlOf(await build(batchOf([lineOf(1n, { invoiceNumbers })]), { CreditorName: 'Acme' }))
  expect(/<Ustrd>(.*)<\/Ustrd>/.exec(xml)?.[1]).toBe(text)
  expect(text.length).toBeLessThanOrEqual(140)
})
