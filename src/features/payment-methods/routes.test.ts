import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'

const service = await startTestService()

const CARD = {
  CardType: 'Visa',
  Number: '4242424242424242',
  NameOnCard: 'Ada',
  LastNameOnCard: 'Lovelace',
  ExpiryMonth: 11,
  ExpiryYear: 2027,
}
const DEBIT_ORDER = {
  Method: 'debit_order',
  AccountType: 'savings',
  AccountHolder: 'Ada Lovelace',
  Bank: 'FNB',
  AccountNumber: '62001871490',
  BranchCode: '250655',
}
const ACH = {
  Method: 'ACH',
  AccountType: 'Checking',
  AccountHolder: 'Ada',
  Bank: 'Wells',
  AccountNumber: '000123456789',
  RoutingNumber: '011000015',
}
const SEPA = {
  Method: 'sepa',
  AccountType: 'Current',
  AccountHolder: 'Ada',
  Bank: 'Commerzbank',
  IBAN: 'de89 3704 0044 0532 0130 00',
  BIC: 'cobadeffxxx',
}

const codesOf = (reply: { body: any }) =>
  reply.body.Errors.map(({ Code, Field }: { Code: string; Field: string }) => `${Code} ${Field}`)

async function newCustomer(client: TestClient, more: object = {}): Promise<number> {
  const added = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, ...more })
  expect([added.status, added.body.Errors]).toEqual([201, undefined])
  return added.body.customerID
}

const addCard = (client: TestClient, customerID: number, card: object = {}, isPrimary = false, headers = {}) =>
  client.post('/v1/paymentmethods/creditcard', { customerID, isPrimary, CreditCard: { ...CARD, ...card } }, headers)

const addAccount = (client: TestClient, customerID: number, BankAccount: object, isPrimary = false) =>
  client.post('/v1/paymentmethods/bankaccount', { customerID, isPrimary, BankAccount })

const eventsOf = async (client: TestClient) =>
  (await client.get('/v1/events')).body
    .map(({ Type }: { Type: string }) => Type)
    .filter((type: string) => type.startsWith('payment_method.'))

describe('a card', () => {
  test('is stored at the gateway and answered without its number', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const added = await addCard(client, customerID)
    const [{ gatewayID }] = (await client.get('/v1/gateways')).body
    expect([added.status, added.body]).toEqual([
      200,
      {
        paymentMethodID: expect.any(Number),
        customerID,
        PaymentMethodType: 'credit_card',
        isPrimary: true,
        isValid: true,
        gatewayID,
        BankAccount: null,
        CreditCard: {
          CardType: 'Visa',
          NameOnCard: 'Ada',
          LastNameOnCard: 'Lovelace',
          ExpiryMonth: 11,
          ExpiryYear: 2027,
          LastFourDigits: '4242',
        },
      },
    ])
    const read = await client.get(`/v1/paymentmethods/${added.body.paymentMethodID}`)
    expect(read.body).toEqual(added.body)
    const [short] = (await client.get('/v1/paymentmethods')).body
    expect(short).toEqual({
      ...added.body,
      CreditCard: {
        CardType: null,
        NameOnCard: 'Ada',
        LastNameOnCard: null,
        ExpiryMonth: null,
        ExpiryYear: null,
        LastFourDigits: '4242',
      },
    })
    const [detailed] = (await client.get('/v1/paymentmethods?isDetailed=true')).body
    expect(detailed).toEqual(added.body)
    // Reading a card reveals nothing.
    expect(await eventsOf(client)).toEqual(['payment_method.created'])
  })

  test.each([
    [{ Number: '4242424242424241' }, ['card_number_invalid CreditCard.Number']],
    [{ Number: '4242/4242/4242/4242' }, ['card_number_invalid CreditCard.Number']],
    [{ Number: '4242' }, ['card_number_invalid CreditCard.Number']],
    [{ Number: null }, ['required CreditCard.Number']],
    [{ CardType: 'Mastercard' }, ['card_type_unfit CreditCard.CardType']],
    [{ CardType: 'Gold' }, ['unknown_word CreditCard.CardType']],
    [{ ExpiryMonth: 12, ExpiryYear: 2026 }, ['card_expired CreditCard.ExpiryYear']],
    [{ ExpiryMonth: 13 }, ['out_of_range CreditCard.ExpiryMonth']],
    [
      { NameOnCard: ' ', LastNameOnCard: undefined },
      ['required CreditCard.NameOnCard', 'required CreditCard.LastNameOnCard'],
    ],
    [{ LastNameOnCard: 'x'.repeat(71) }, ['too_long CreditCard.LastNameOnCard']],
  ])('%j is 400 before the gateway is asked', async (card, expected) => {
    const client = await service.newAccount()
    const refused = await addCard(client, await newCustomer(client), card)
    expect([refused.status, codesOf(refused)]).toEqual([400, expected])
    expect(await client.get('/v1/paymentmethods')).toMatchObject({ body: [] })
  })

  test('is valid through the last day of its month, and of an unknown brand where it is said so', async () => {
    const client = await service.newAccount({ clockAt: '2027-01-31T23:00:00.000Z' })
    const customerID = await newCustomer(client)
    const added = await addCard(client, customerID, { ExpiryMonth: 1, CardType: 'Unknown' })
    expect([added.status, added.body.isValid]).toEqual([200, true])
    await client.put('/v1/clock', { Now: '2027-02-01' })
    expect((await client.get(`/v1/paymentmethods/${added.body.paymentMethodID}`)).body.isValid).toBe(false)
  })

  test('that the gateway refuses is 400, and no method is made', async () => {
    const client = await service.newAccount()
    const refused = await addCard(client, await newCustomer(client), { Number: '4000000000000002' })
    expect([refused.status, codesOf(refused)]).toEqual([400, ['card_declined CreditCard.Number']])
    expect((await client.get('/v1/paymentmethods')).body).toEqual([])
  })

  test('needs a gateway that takes card numbers: an inactive one, a manual one and a live account have none', async () => {
    const client = await service.newAccount()
    const [{ gatewayID }] = (await client.get('/v1/gateways')).body
    await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
    await client.post('/v1/gateways', { GatewayType: 'manual' })
    const live = await service.newAccount({ mode: 'live', clockAt: null })
    for (const one of [client, live]) {
      const refused = await addCard(one, await newCustomer(one), { ExpiryYear: 2099 })
      expect([refused.status, codesOf(refused)]).toEqual([409, ['gateway_missing gatewayID']])
    }
  })

  test('a customer that nobody has, and nothing at all, are told together', async () => {
    const client = await service.newAccount()
    expect(codesOf(await client.post('/v1/paymentmethods/creditcard', {}))).toEqual([
      'required customerID',
      'required isPrimary',
      'required CreditCard',
    ])
    const foreign = await newCustomer(await service.newAccount())
    expect(codesOf(await addCard(client, foreign))).toEqual(['customer_unknown customerID'])
  })
})

describe('a bank account', () => {
  test.each([
    [
      DEBIT_ORDER,
      { DebitMethod: 'Debit Order', AccountType: 'Savings', BranchCode: '250655', LastFourDigits: '1490' },
      { AccountNumber: '62001871490' },
    ],
    [
      ACH,
      { DebitMethod: 'ACH', AccountType: 'Checking', RoutingNumber: '011000015', LastFourDigits: '6789' },
      { AccountNumber: '000123456789' },
    ],
    [
      SEPA,
      { DebitMethod: 'SEPA', AccountType: 'Current', BIC: 'COBADEFFXXX', LastFourDigits: '3000' },
      { IBAN: 'DE89370400440532013000' },
    ],
  ])('%j is answered without its number, which the single read shows to a full key', async (account, shown, number) => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const added = await addAccount(client, customerID, account)
    const nothing = {
      AccountNumber: null,
      BranchCode: null,
      IBAN: null,
      BIC: null,
      RoutingNumber: null,
      EMandateToken: null,
      MandateReference: null,
      MandateDate: null,
    }
    const BankAccount = { ...nothing, AccountHolder: account.AccountHolder, Bank: account.Bank, ...shown }
    expect([added.status, added.body]).toEqual([
      200,
      {
        paymentMethodID: expect.any(Number),
        customerID,
        PaymentMethodType: 'bank_account',
        isPrimary: true,
        isValid: false,
        gatewayID: null,
        BankAccount,
        CreditCard: null,
      },
    ])
    const path = `/v1/paymentmethods/${added.body.paymentMethodID}`
    expect((await client.get(path)).body.BankAccount).toEqual({ ...BankAccount, ...number })
    const reader = await readOnlyClientOf(service, client)
    expect((await reader.get(path)).body).toEqual(added.body)
    expect((await client.get(`/v1/customers/${customerID}/paymentmethods`)).body[0].BankAccount).toEqual({
      ...nothing,
      DebitMethod: null,
      AccountType: null,
      Bank: null,
      AccountHolder: account.AccountHolder,
      LastFourDigits: shown.LastFourDigits,
    })
    expect(await eventsOf(client)).toEqual(['payment_method.created', 'payment_method.revealed'])
    const whole = Object.values(number)[0] as string
    const events = await client.get('/v1/events')
    expect(events.text).not.toContain(whole)
    const [row] = await service.db
      .reader(client.id)
      .rows<{ row: string }>(sql`select m::text as "row" from payment_methods m where account_id = ${client.id}`)
    expect(row?.row).not.toContain(whole)
  })

  test('in a detailed list shows all but its number, and an IBAN by its country and last digits', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const mandate = { MandateReference: 'M-1', MandateDate: '2026-12-01' }
    await addAccount(client, customerID, { ...SEPA, ...mandate })
    await addAccount(client, customerID, ACH)
    await addAccount(client, customerID, DEBIT_ORDER)
    const reader = await readOnlyClientOf(service, client)
    const paths = ['/v1/paymentmethods', `/v1/customers/${customerID}/paymentmethods`]
    const hidden = { AccountNumber: null, BranchCode: null, RoutingNumber: null, EMandateToken: null }
    const none = { ...hidden, IBAN: null, BIC: null, MandateReference: null, MandateDate: null }
    for (const one of [client, reader])
      for (const path of paths) {
        const listed = await one.get(`${path}?isDetailed=true`)
        expect(listed.body.map(({ BankAccount }: { BankAccount: object }) => BankAccount)).toEqual([
          {
            ...hidden,
            DebitMethod: 'SEPA',
            AccountType: 'Current',
            AccountHolder: 'Ada',
            Bank: 'Commerzbank',
            IBAN: 'DE ·· 3000',
            BIC: 'COBADEFFXXX',
            LastFourDigits: '3000',
            MandateReference: 'M-1',
            MandateDate: '2026-12-01T00:00:00Z',
          },
          {
            ...none,
            DebitMethod: 'ACH',
            AccountType: 'Checking',
            AccountHolder: 'Ada',
            Bank: 'Wells',
            LastFourDigits: '6789',
          },
          {
            ...none,
            DebitMethod: 'Debit Order',
            AccountType: 'Savings',
            AccountHolder: 'Ada Lovelace',
            Bank: 'FNB',
            LastFourDigits: '1490',
          },
        ])
        expect(listed.text).not.toMatch(/3704|0532|000123456789|011000015|62001871490|250655/)
        const short = (await one.get(`${path}?isDetailed=false`)).body
        expect([short, short[0].BankAccount.IBAN]).toEqual([(await one.get(path)).body, null])
      }
    const refused = await client.get('/v1/paymentmethods?isDetailed=perhaps')
    expect([refused.status, refused.body.Errors[0].Field]).toEqual([400, 'isDetailed'])
    // Nothing whole was shown.
    expect(await eventsOf(client)).not.toContain('payment_method.revealed')
  })

  test.each([
    [{ ...DEBIT_ORDER, AccountNumber: undefined }, ['required BankAccount.AccountNumber']],
    [{ ...DEBIT_ORDER, AccountNumber: '1234' }, ['account_number_invalid BankAccount.AccountNumber']],
    [{ ...DEBIT_ORDER, AccountNumber: '12345678901234567' }, ['account_number_invalid BankAccount.AccountNumber']],
    [{ ...DEBIT_ORDER, BranchCode: '25065' }, ['branch_code_invalid BankAccount.BranchCode']],
    [
      { ...DEBIT_ORDER, IBAN: SEPA.IBAN, BIC: SEPA.BIC },
      ['not_of_method BankAccount.IBAN', 'not_of_method BankAccount.BIC'],
    ],
    [{ ...DEBIT_ORDER, AccountType: 'Gold' }, ['unknown_word BankAccount.AccountType']],
    [{ ...DEBIT_ORDER, AccountHolder: 'x'.repeat(71) }, ['too_long BankAccount.AccountHolder']],
    [{ ...DEBIT_ORDER, AccountHolder: '4242 4242 4242 4242' }, ['card_number_misplaced BankAccount.AccountHolder']],
    [{ ...ACH, AccountHolder: '日本' }, ['holder_unreadable BankAccount.AccountHolder']],
    [{ ...ACH, RoutingNumber: '011000016' }, ['routing_number_invalid BankAccount.RoutingNumber']],
    [
      { ...ACH, RoutingNumber: undefined, BranchCode: '250655' },
      ['not_of_method BankAccount.BranchCode', 'required BankAccount.RoutingNumber'],
    ],
    [{ ...ACH, AccountNumber: '12_34' }, ['account_number_invalid BankAccount.AccountNumber']],
    [{ ...SEPA, IBAN: 'DE89370400440532013001' }, ['iban_invalid BankAccount.IBAN']],
    [{ ...SEPA, IBAN: 'BR1500000000000010932840814P2' }, ['iban_not_sepa BankAccount.IBAN']],
    [{ ...SEPA, IBAN: undefined, BIC: 'COBA' }, ['required BankAccount.IBAN', 'bic_invalid BankAccount.BIC']],
    [{ ...SEPA, EMandateToken: 'abc' }, ['mandate_unknown BankAccount.EMandateToken']],
    [{ ...SEPA, MandateReference: 'x'.repeat(36) }, ['too_long BankAccount.MandateReference']],
    [{ ...SEPA, Method: 'bacs' }, ['unknown_word BankAccount.Method']],
  ])('%j is 400, and no number is repeated', async (account, expected) => {
    const client = await service.newAccount()
    const refused = await addAccount(client, await newCustomer(client), account)
    expect([refused.status, codesOf(refused)]).toEqual([400, expected])
    expect(refused.text).not.toMatch(/DE89|BR15|12_34|1234|4242 4242|abc/)
  })

  test('is taken with numbers for its numbers: zeros in front are filled in, what is too large for a number is not', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const ach = await addAccount(client, customerID, { ...ACH, AccountNumber: 123, RoutingNumber: 11000015 })
    expect(ach.body.BankAccount).toMatchObject({ RoutingNumber: '011000015', LastFourDigits: '123' })
    const debitOrder = await addAccount(client, customerID, { ...DEBIT_ORDER, BranchCode: 2505 })
    expect(debitOrder.body.BankAccount).toMatchObject({ BranchCode: '002505' })
    const tooLarge = JSON.stringify({
      customerID,
      isPrimary: false,
      BankAccount: { ...ACH, AccountNumber: 0 },
    }).replace('"AccountNumber":0', '"AccountNumber":12345678901234567')
    expect(codesOf(await client.post('/v1/paymentmethods/bankaccount', tooLarge))).toEqual([
      'number_too_large BankAccount.AccountNumber',
    ])
  })

  test('is taken in SEPA from the day on which its country joined', async () => {
    const account = { ...SEPA, IBAN: 'RS35260005601001611379', BIC: 'NBSRRSBG' }
    const early = await service.newAccount({ clockAt: '2026-04-30T00:00:00.000Z' })
    const late = await service.newAccount({ clockAt: '2026-05-31T00:00:00.000Z' })
    expect((await addAccount(early, await newCustomer(early), account)).status).toBe(400)
    expect((await addAccount(late, await newCustomer(late), account)).status).toBe(200)
  })

  test('edited keeps its mandate with its number, and loses it with another one', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const mandate = { MandateReference: 'M-1', MandateDate: '2026-12-01' }
    const { body } = await addAccount(client, customerID, { ...SEPA, ...mandate })
    const path = `/v1/paymentmethods/bankaccount/${body.paymentMethodID}`
    const read = async () => {
      const { body: present, headers } = await client.get(`/v1/paymentmethods/${body.paymentMethodID}`)
      return { account: present.BankAccount, etag: headers['etag'] as string }
    }
    const put = (account: object, headers = {}) =>
      client.put(path, { customerID, isPrimary: false, BankAccount: { ...SEPA, ...account } }, headers)
    const { etag } = await read()
    expect((await put({ Bank: 'Deutsche' }, { 'if-match': etag })).status).toBe(204)
    expect((await put({ Bank: 'Deutsche' }, { 'if-match': etag })).status).toBe(412)
    expect((await read()).account).toMatchObject({
      Bank: 'Deutsche',
      MandateReference: 'M-1',
      MandateDate: '2026-12-01T00:00:00Z',
    })
    const other = { IBAN: 'NL91ABNA0417164300', BIC: 'ABNANL2A' }
    await put({ ...other, ...mandate, MandateReference: 'M-2' })
    expect((await read()).account).toMatchObject({ IBAN: other.IBAN, MandateReference: 'M-2', LastFourDigits: '4300' })
    await put({ MandateReference: 'M-3' })
    expect((await read()).account).toMatchObject({ MandateReference: null, MandateDate: null })
    await put({ ...mandate })
    await put({ MandateReference: null })
    expect((await read()).account).toMatchObject({ MandateReference: null, MandateDate: '2026-12-01T00:00:00Z' })
  })

  test('is not edited on a card, for another customer, or where there is none', async () => {
    const client = await service.newAccount()
    const [customerID, other] = [await newCustomer(client), await newCustomer(client)]
    const card = (await addCard(client, customerID)).body.paymentMethodID
    const account = (await addAccount(client, customerID, ACH)).body.paymentMethodID
    const put = (id: number, of: number) =>
      client.put(`/v1/paymentmethods/bankaccount/${id}`, { customerID: of, isPrimary: false, BankAccount: ACH })
    expect(codesOf(await put(card, customerID))).toEqual(['payment_method_is_card null'])
    expect(codesOf(await put(account, other))).toEqual(['customer_fixed customerID'])
    expect((await put(999_999, customerID)).status).toBe(404)
    // Sent back as it was read, with its number.
    const { body, headers } = await client.get(`/v1/paymentmethods/${account}`)
    expect(
      (
        await client.put(`/v1/paymentmethods/bankaccount/${account}`, body, {
          prefer: 'handling=strict',
          'if-match': headers['etag'] as string,
        })
      ).status,
    ).toBe(204)
  })
})

describe('the primary method', () => {
  test('is the first one, whatever is asked for, and moves to another that asks or is asked for', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const ids: number[] = []
    for (const isPrimary of [false, false, true])
      ids.push(
        (await addAccount(client, customerID, { ...ACH, AccountNumber: `100${ids.length}` }, isPrimary)).body
          .paymentMethodID,
      )
    const primaries = async () =>
      (await client.get(`/v1/customers/${customerID}/paymentmethods`)).body.map(({ isPrimary }: any) => isPrimary)
    expect(await primaries()).toEqual([false, false, true])
    expect((await client.put(`/v1/paymentmethods/${ids[1]}/setprimary`)).status).toBe(204)
    expect((await client.put(`/v1/paymentmethods/${ids[1]}/setprimary`)).status).toBe(204)
    expect(await primaries()).toEqual([false, true, false])
    const back = { customerID, isPrimary: false, BankAccount: { ...ACH, AccountNumber: '1001' } }
    expect((await client.put(`/v1/paymentmethods/bankaccount/${ids[1]}`, back)).status).toBe(204)
    expect(await primaries()).toEqual([false, true, false])
    expect((await eventsOf(client)).filter((type: string) => type.endsWith('primary_set'))).toHaveLength(1)
  })

  test('is answered with its customer, by a token of our own', async () => {
    const client = await service.newAccount()
    const [customerID, without] = [await newCustomer(client), await newCustomer(client)]
    const { paymentMethodID } = (await addCard(client, customerID)).body
    const read = async (id: number) => (await client.get(`/v1/customers/${id}`)).body.PrimaryPaymentMethodInfo
    const info = await read(customerID)
    expect(info).toEqual({ paymentMethodID, Token: expect.stringMatching(/^[\w-]{32}$/) })
    expect(await read(without)).toBeNull()
    const listed = await client.post('/v1/by_customer_ids', { ids: [without, customerID] })
    expect(listed.body.map(({ PrimaryPaymentMethod }: any) => PrimaryPaymentMethod)).toEqual([false, true])
    expect((await client.get('/v1/customers')).body.map((c: any) => c.PrimaryPaymentMethodInfo)).toEqual([info, null])
    const [row] = await service.db
      .reader(client.id)
      .rows<{ token: string }>(
        sql`select gateway_token as "token" from payment_methods where account_id = ${client.id}`,
      )
    expect(row?.token).not.toBe(info.Token)
  })

  test('of two requests at once there is one', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const added = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        addAccount(client, customerID, { ...ACH, AccountNumber: `200${n}` }, n % 2 === 0),
      ),
    )
    await Promise.all(added.map(({ body }) => client.put(`/v1/paymentmethods/${body.paymentMethodID}/setprimary`)))
    const { body } = await client.get(`/v1/customers/${customerID}/paymentmethods`)
    expect(body.filter(({ isPrimary }: any) => isPrimary)).toHaveLength(1)
  })
})

describe('deleting', () => {
  test('takes a method that is not primary; the primary one stays', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    const primary = (await addCard(client, customerID)).body.paymentMethodID
    const other = (await addAccount(client, customerID, ACH)).body.paymentMethodID
    const refused = await client.delete(`/v1/paymentmethods/${primary}`)
    expect([refused.status, codesOf(refused)]).toEqual([409, ['payment_method_primary null']])
    expect((await client.delete(`/v1/paymentmethods/${other}`)).status).toBe(204)
    expect((await client.delete(`/v1/paymentmethods/${other}`)).status).toBe(404)
    expect((await eventsOf(client)).at(-1)).toBe('payment_method.deleted')
  })

  test('leaves one that something open names by request, and takes one that was only taken as a default', async () => {
    const client = await service.newAccount()
    const customerID = await newCustomer(client)
    await addCard(client, customerID)
    const named = (await addCard(client, customerID)).body.paymentMethodID
    await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })
    const set = (isRequested: boolean) =>
      service.db.transaction(client.id, (tx) =>
        tx.rows(
          sql`update invoices set payment_method_id = ${named}, is_method_requested = ${isRequested} where account_id = ${client.id}`,
        ),
      )
    await set(true)
    expect(codesOf(await client.delete(`/v1/paymentmethods/${named}`))).toEqual(['payment_method_used null'])
    await set(false)
    expect((await client.delete(`/v1/paymentmethods/${named}`)).status).toBe(204)
  })

  test("a gateway that keeps a card stays, and so does a customer's own", async () => {
    const client = await service.newAccount()
    const { gatewayID } = (await client.post('/v1/gateways', { GatewayType: 'manual' })).body
    const customerID = await newCustomer(client, { PrimaryGatewayID: gatewayID })
    expect((await client.get(`/v1/customers/${customerID}`)).body.PrimaryGatewayID).toBe(gatewayID)
    expect(codesOf(await client.delete(`/v1/gateways/${gatewayID}`))).toEqual(['gateway_used null'])
    expect((await client.put(`/v1/customers/${customerID}`, { Name: 'Acme', isCompany: true })).status).toBe(204)
    expect((await client.delete(`/v1/gateways/${gatewayID}`)).status).toBe(204)
  })
})

test('PrimaryGatewayID names an active gateway of the account', async () => {
  const [client, other] = [await service.newAccount(), await service.newAccount()]
  const add = (PrimaryGatewayID: number) =>
    client.post('/v1/customers', { Name: 'Acme', isCompany: true, PrimaryGatewayID })
  const foreign = (await other.get('/v1/gateways')).body[0].gatewayID
  expect(codesOf(await add(foreign))).toEqual(['gateway_unknown PrimaryGatewayID'])
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const { customerID } = (await add(gatewayID)).body
  await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
  expect(codesOf(await add(gatewayID))).toEqual(['gateway_inactive PrimaryGatewayID'])
  // What it has already is no new wish.
  const again = { Name: 'Acme', isCompany: true, PrimaryGatewayID: gatewayID }
  expect((await client.put(`/v1/customers/${customerID}`, again)).status).toBe(204)
})

describe('validating a bank account', () => {
  const validate = (client: TestClient, gatewayID: number, body: object, method = 'POST') =>
    client.request(method, `/v1/ValidateBankAccount/${gatewayID}`, body)
  const sandboxOf = async (client: TestClient) => (await client.get('/v1/gateways')).body[0].gatewayID

  test.each(['POST', 'PUT'])('makes the stored one verified, or rejected until it is edited (%s)', async (method) => {
    const client = await service.newAccount()
    const gatewayID = await sandboxOf(client)
    const [customerID, other] = [await newCustomer(client), await newCustomer(client)]
    const refusedNumber = { ...ACH, AccountNumber: '100009926' }
    const id = (await addAccount(client, customerID, ACH)).body.paymentMethodID
    const bad = (await addAccount(client, customerID, refusedNumber)).body.paymentMethodID
    const same = (await addAccount(client, other, ACH)).body.paymentMethodID
    const isValid = async (of: number) => (await client.get(`/v1/paymentmethods/${of}`)).body.isValid
    expect((await validate(client, gatewayID, { BankAccount: ACH, customerID }, method)).status).toBe(204)
    expect([await isValid(id), await isValid(bad), await isValid(same)]).toEqual([true, false, false])
    const refused = await validate(client, gatewayID, { BankAccount: refusedNumber, customerID }, method)
    expect([refused.status, codesOf(refused)]).toEqual([400, ['bank_account_refused BankAccount']])
    const states = async () =>
      (
        await service.db
          .reader(client.id)
          .rows<{ state: string }>(
            sql`select state from payment_methods where account_id = ${client.id} order by payment_method_id`,
          )
      ).map(({ state }) => state)
    expect(await states()).toEqual(['verified', 'rejected', 'unverified'])
    const edited = { customerID, isPrimary: false, BankAccount: refusedNumber }
    await client.put(`/v1/paymentmethods/bankaccount/${bad}`, edited)
    expect(await states()).toEqual(['verified', 'unverified', 'unverified'])
    expect((await eventsOf(client)).filter((type: string) => type.endsWith('validated'))).toHaveLength(2)
  })

  test('by a gateway without an online check looks at the format and changes nothing', async () => {
    const client = await service.newAccount()
    const { gatewayID } = (await client.post('/v1/gateways', { GatewayType: 'manual' })).body
    const customerID = await newCustomer(client)
    const id = (await addAccount(client, customerID, SEPA)).body.paymentMethodID
    expect((await validate(client, gatewayID, { BankAccount: SEPA, customerID })).status).toBe(204)
    expect((await client.get(`/v1/paymentmethods/${id}`)).body.isValid).toBe(false)
    expect(codesOf(await validate(client, gatewayID, { BankAccount: { ...SEPA, BIC: 'x' } }))).toEqual([
      'bic_invalid BankAccount.BIC',
    ])
  })

  test('is 404 for a gateway that nobody has, 409 for one that takes no such accounts or is inactive', async () => {
    const client = await service.newAccount()
    const { gatewayID } = (await client.post('/v1/gateways', { GatewayType: 'manual', DebitMethods: ['ach'] })).body
    expect((await validate(client, 999_999, { BankAccount: SEPA })).status).toBe(404)
    expect(codesOf(await validate(client, gatewayID, { BankAccount: SEPA }))).toEqual(['gateway_unfit gatewayID'])
    await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
    expect(codesOf(await validate(client, gatewayID, { BankAccount: ACH }))).toEqual(['gateway_inactive gatewayID'])
  })
})

test("another account's method is missing, and a key that may only read changes none", async () => {
  const [owner, other] = [await service.newAccount(), await service.newAccount()]
  const customerID = await newCustomer(owner)
  const { paymentMethodID } = (await addAccount(owner, customerID, ACH)).body
  const path = `/v1/paymentmethods/${paymentMethodID}`
  const body = { customerID, isPrimary: true, BankAccount: ACH }
  const edit = `/v1/paymentmethods/bankaccount/${paymentMethodID}`
  for (const reply of [
    await other.get(path),
    await other.put(edit, body),
    await other.put(`${path}/setprimary`),
    await other.delete(path),
    await other.get(`/v1/customers/${customerID}/paymentmethods`),
  ])
    expect(reply.status).toBe(404)
  const reader = await readOnlyClientOf(service, owner)
  for (const reply of [
    await reader.post('/v1/paymentmethods/bankaccount', body),
    await reader.post('/v1/paymentmethods/creditcard', {}),
    await reader.put(edit, body),
    await reader.put(`${path}/setprimary`),
    await reader.delete(path),
  ])
    expect(reply.status).toBe(403)
})
