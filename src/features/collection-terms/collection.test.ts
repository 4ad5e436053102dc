import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addPackage } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'

/** Collection details of invoices, subscriptions and recurring invoices: defaults, what is named, and what stands against it. */

const service = await startTestService()

interface Method {
  kind?: string
  isPrimary?: boolean
  state?: string
  gatewayId?: number
}

/** Stores a payment method as it stands after it was added; the operations that add them have tests of their own. */
async function addMethod(
  client: TestClient,
  customerID: number,
  gatewayID: number,
  method: Method = {},
): Promise<number> {
  const { kind = 'credit_card', isPrimary = true, state = 'verified' } = method
  const isCard = kind === 'credit_card'
  const [row] = await service.db.transaction(client.id, (tx) =>
    tx.rows<{ id: bigint }>(sql`
      insert into payment_methods (account_id, customer_id, kind, token, is_primary, state, last_four, created_at, gateway_id, gateway_token,
        expiry_month, expiry_year, number)
      values (${client.id}, ${BigInt(customerID)}, ${kind}, gen_random_uuid()::text, ${isPrimary}, ${state}, '4242', now(),
        ${isCard ? BigInt(gatewayID) : null}, ${isCard ? 'tok' : null}, ${isCard ? 12 : null}::smallint, ${isCard ? 2030 : null}::smallint,
        ${isCard ? null : 'sealed'}::text::bytea)
      returning payment_method_id as "id"`),
  )
  return Number(row!.id)
}

async function shop(customer: object = {}) {
  const client = await service.newAccount()
  const [{ gatewayID }] = (await client.get('/v1/gateways')).body
  const added = await client.post('/v1/customers', {
    Name: 'Acme',
    isCompany: true,
    PaymentMethod: 'credit_card',
    PaymentTermDays: 14,
    ...customer,
  })
  const customerID = added.body.customerID as number
  const add = (body: object = {}) => client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }], ...body })
  return { client, customerID, gatewayID: gatewayID as number, add }
}

const DUE = '2027-01-15T00:00:00Z'
const detailsOf = ({ CollectionMethod, gatewayID, customerPaymentMethodID, NextTryDate }: any) => ({
  CollectionMethod,
  gatewayID,
  customerPaymentMethodID,
  NextTryDate,
})
const codesOf = (reply: { body: any }) => reply.body.Errors.map(({ Code, Field }: any) => `${Code} ${Field}`)

describe('an invoice that names nothing', () => {
  test("takes the customer's primary method, its gateway, and is to be tried on its due date", async () => {
    const { client, customerID, gatewayID, add } = await shop()
    const card = await addMethod(client, customerID, gatewayID)
    const { body } = await add()
    const taken = { CollectionMethod: 'credit_card', gatewayID, customerPaymentMethodID: card, NextTryDate: DUE }
    expect(detailsOf(body)).toEqual(taken)
    expect(detailsOf((await client.get(`/v1/invoices/${body.invoiceID}`)).body)).toEqual(taken)
    const [event] = (await client.get('/v1/events?type=invoice.issued')).body
    expect(detailsOf(event.Record)).toEqual(taken)
  })

  test('is made all the same where the customer has no method that fits, and is not tried', async () => {
    const { client, customerID, gatewayID, add } = await shop()
    const none = { CollectionMethod: 'credit_card', gatewayID: null, customerPaymentMethodID: null, NextTryDate: null }
    expect(detailsOf((await add()).body)).toEqual(none)
    await addMethod(client, customerID, gatewayID, { kind: 'sepa' })
    expect(detailsOf((await add()).body)).toEqual(none)
  })

  test('takes a card only while its gateway is active, and none that was rejected', async () => {
    const { client, customerID, gatewayID, add } = await shop({ PaymentMethod: 'debit_order' })
    await addMethod(client, customerID, gatewayID, { kind: 'debit_order', state: 'rejected' })
    expect((await add()).body.customerPaymentMethodID).toBeNull()
    const cards = await shop()
    await addMethod(cards.client, cards.customerID, cards.gatewayID)
    await cards.client.put(`/v1/gateways/${cards.gatewayID}`, { isActive: false })
    expect(detailsOf((await cards.add()).body)).toMatchObject({ gatewayID: null, customerPaymentMethodID: null })
  })

  test('by a bank account shows the gateway of its kind, and is tried by it as by a card', async () => {
    const { client, customerID, gatewayID, add } = await shop({ PaymentMethod: 'bank_account' })
    const account = await addMethod(client, customerID, gatewayID, { kind: 'sepa' })
    expect(detailsOf((await add()).body)).toEqual({
      CollectionMethod: 'debit_order',
      gatewayID,
      customerPaymentMethodID: account,
      NextTryDate: DUE,
    })
  })

  test('as a draft is defaulted anew when it is issued', async () => {
    const { client, customerID, gatewayID, add } = await shop()
    const { body } = await add({ isDraft: true })
    expect(body).toMatchObject({ customerPaymentMethodID: null, NextTryDate: null })
    const card = await addMethod(client, customerID, gatewayID)
    expect((await client.put(`/v1/invoices/${body.invoiceID}/issue`)).status).toBe(204)
    expect((await client.get(`/v1/invoices/${body.invoiceID}`)).body).toMatchObject({
      customerPaymentMethodID: card,
      NextTryDate: DUE,
    })
  })
})

describe('an invoice that names its method', () => {
  test('keeps it beside the primary one, takes its gateway, and sends back unchanged what was a default', async () => {
    const { client, customerID, gatewayID, add } = await shop()
    await addMethod(client, customerID, gatewayID)
    const other = await addMethod(client, customerID, gatewayID, { isPrimary: false })
    const { body } = await add({ customerPaymentMethodID: other })
    expect(detailsOf(body)).toMatchObject({ gatewayID, customerPaymentMethodID: other, NextTryDate: DUE })
    const requested = async (id: number) =>
      (
        await service.db
          .reader(client.id)
          .rows<{ is: boolean }>(
            sql`select is_method_requested as "is" from invoices where account_id = ${client.id} and invoice_id = ${BigInt(id)}`,
          )
      )[0]!.is
    expect(await requested(body.invoiceID)).toBe(true)
    const byDefault = (await add()).body
    expect((await client.put(`/v1/invoices/${byDefault.invoiceID}`, { ...byDefault, poNumber: 'PO' })).status).toBe(204)
    expect(await requested(byDefault.invoiceID)).toBe(false)
  })

  test('is refused with 400 where it is unknown, with 409 where it is of another customer or of another kind', async () => {
    const { client, customerID, gatewayID, add } = await shop()
    const { body: stranger } = await client.post('/v1/customers', { Name: 'B', isCompany: true })
    const card = await addMethod(client, customerID, gatewayID)
    const others = await addMethod(client, stranger.customerID, gatewayID)
    expect(codesOf(await add({ customerPaymentMethodID: 999_999 }))).toEqual([
      'payment_method_unknown customerPaymentMethodID',
    ])
    const ofOther = await add({ customerPaymentMethodID: others })
    expect([ofOther.status, codesOf(ofOther)]).toEqual([409, ['other_customer customerPaymentMethodID']])
    const ofOtherKind = await add({ customerPaymentMethodID: card, CollectionMethod: 'debit_order' })
    expect([ofOtherKind.status, codesOf(ofOtherKind)]).toEqual([409, ['payment_method_kind customerPaymentMethodID']])
    // What is wrong with the body itself comes first.
    expect(codesOf(await add({ customerPaymentMethodID: others, Charges: [] }))).toEqual(['wrong_count Charges'])
    expect(codesOf(await add({ gatewayID: 999_999 }))).toEqual(['gateway_unknown gatewayID'])
    const other = await shop()
    expect(codesOf(await add({ gatewayID: other.gatewayID }))).toEqual(['gateway_unknown gatewayID'])
  })

  test('is refused with 409 where the gateway is inactive, lacks the currency, or keeps another card', async () => {
    const { client, customerID, gatewayID, add } = await shop()
    const card = await addMethod(client, customerID, gatewayID)
    const { body: manual } = await client.post('/v1/gateways', {
      GatewayName: 'Bank',
      GatewayType: 'manual',
      CurrencyCodes: ['EUR'],
      isActive: true,
    })
    const refused = async (body: object) => {
      const reply = await add(body)
      expect(reply.status).toBe(409)
      return codesOf(reply)
    }
    expect(await refused({ gatewayID: manual.gatewayID, customerPaymentMethodID: card })).toEqual([
      'gateway_of_card gatewayID',
    ])
    const account = await addMethod(client, customerID, gatewayID, { kind: 'sepa', isPrimary: false })
    const byBank = { CollectionMethod: 'debit_order', gatewayID: manual.gatewayID, customerPaymentMethodID: account }
    expect(await refused(byBank)).toEqual(['gateway_currency gatewayID'])
    expect(await refused({ CollectionMethod: 'credit_card', gatewayID: manual.gatewayID })).toEqual([
      'gateway_kind gatewayID',
    ])
    await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
    expect(await refused({ customerPaymentMethodID: card })).toEqual(['gateway_inactive gatewayID'])
  })

  test('is 400 where credit_card is named and the customer has no card', async () => {
    const { add } = await shop({ PaymentMethod: 'cash' })
    expect(codesOf(await add({ CollectionMethod: 'credit_card' }))).toEqual([
      'payment_method_missing customerPaymentMethodID',
    ])
    expect((await add({ CollectionMethod: 'eft' })).status).toBe(201)
  })
})

describe('an issued invoice', () => {
  test('takes other collection details and a hold, absent keeps the hold, and each changes the ETag', async () => {
    const { client, customerID, gatewayID, add } = await shop({ PaymentMethod: 'cash' })
    const { body } = await add()
    const path = `/v1/invoices/${body.invoiceID}`
    const card = await addMethod(client, customerID, gatewayID)
    const edited = { ...body, CollectionMethod: 'credit_card', gatewayID: null, customerPaymentMethodID: null }
    const before = (await client.get(path)).headers['etag']
    expect((await client.put(path, edited)).status).toBe(204)
    const read = await client.get(path)
    expect(detailsOf(read.body)).toEqual({
      CollectionMethod: 'credit_card',
      gatewayID,
      customerPaymentMethodID: card,
      NextTryDate: DUE,
    })
    expect(read.headers['etag']).not.toBe(before)
    expect((await client.put(path, { ...read.body, isCollectionHold: true })).status).toBe(204)
    const held = await client.get(path)
    expect(held.body).toMatchObject({ isCollectionHold: true, NextTryDate: null })
    expect(held.headers['etag']).not.toBe(read.headers['etag'])
    const { isCollectionHold: _, ...without } = held.body
    await client.put(path, without)
    expect((await client.get(path)).body.isCollectionHold).toBe(true)
    await client.put(path, { ...without, isCollectionHold: null })
    expect((await client.get(path)).body).toMatchObject({ isCollectionHold: false, NextTryDate: DUE })
    const events = (await client.get('/v1/events?type=invoice.updated')).body
    expect(events[0].Record ?? events.at(-1).Record).toHaveProperty('isCollectionHold')
  })

  test('is not tried while its customer is held or suspended', async () => {
    const { client, customerID, gatewayID, add } = await shop()
    await addMethod(client, customerID, gatewayID)
    const { body } = await add()
    const nextTry = async () => (await client.get(`/v1/invoices/${body.invoiceID}`)).body.NextTryDate
    const customer = (await client.get(`/v1/customers/${customerID}`)).body
    await client.put(`/v1/customers/${customerID}`, { ...customer, isCollectionHold: true })
    expect(await nextTry()).toBeNull()
    await client.put(`/v1/customers/${customerID}`, { ...customer, isCollectionHold: false })
    expect(await nextTry()).toBe(DUE)
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(await nextTry()).toBeNull()
  })
})

describe('subscriptions and recurring invoices', () => {
  test('keep null for what was not given, and give their invoices what was, and else the defaults of the day', async () => {
    const { client, customerID, gatewayID } = await shop()
    await addMethod(client, customerID, gatewayID)
    const other = await addMethod(client, customerID, gatewayID, { isPrimary: false })
    const { packageID } = await addPackage(client)
    const plain = (await client.post('/v1/subscriptions', { customerID, packageID })).body
    expect(plain).toMatchObject({ CollectionMethod: null, gatewayID: null, customerPaymentMethodID: null })
    const named = await client.post('/v1/subscriptions', { customerID, packageID, customerPaymentMethodID: other })
    expect(named.body).toMatchObject({ gatewayID: null, customerPaymentMethodID: other })
    const recurring = await client.post('/v1/recurring-invoices', {
      customerID,
      RecurInvoiceCharges: [{ UnitCostEx: 5 }],
      customerPaymentMethodID: other,
    })
    expect(recurring.body).toMatchObject({ customerPaymentMethodID: other })
    const invoices = (await client.get('/v1/invoices')).body
    expect(invoices.map(({ customerPaymentMethodID }: any) => customerPaymentMethodID)).toEqual([
      expect.not.objectContaining({ other }),
      other,
      other,
    ])
    expect(invoices[0].customerPaymentMethodID).not.toBe(other)
    expect(invoices.every((invoice: any) => invoice.gatewayID === gatewayID)).toBe(true)
  })

  test('refuse what is unknown or unfitting, and an edit of other fields does not look again', async () => {
    const { client, customerID, gatewayID } = await shop()
    const card = await addMethod(client, customerID, gatewayID)
    const { packageID } = await addPackage(client)
    const { body } = await client.post('/v1/subscriptions', { customerID, packageID, customerPaymentMethodID: card })
    const path = `/v1/subscriptions/${body.subscriptionID}`
    expect(codesOf(await client.put(path, { gatewayID: 999_999 }))).toEqual(['gateway_unknown gatewayID'])
    expect(codesOf(await client.put(path, { CollectionMethod: 'debit_order' }))).toEqual([
      'payment_method_kind customerPaymentMethodID',
    ])
    await client.put(`/v1/gateways/${gatewayID}`, { isActive: false })
    expect((await client.put(path, { poNumber: 'PO 1' })).status).toBe(204)
    expect(codesOf(await client.put(path, { gatewayID }))).toEqual(['gateway_inactive gatewayID'])
    expect((await client.put(path, { customerPaymentMethodID: null })).status).toBe(204)
    expect((await client.get(path)).body.customerPaymentMethodID).toBeNull()
  })
})
