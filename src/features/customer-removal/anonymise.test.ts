import pg from 'pg'
import { afterAll, describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { addCard, CARDS, cardShop } from '../collection/shop.testing.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { moveTo } from '../../../test/support/shop.ts'
import { newPackage, rate, version } from '../packages/packages.testing.ts'

const service = await startTestService()
const owner = new pg.Client(clientConfig(service.connection, undefined))
await owner.connect()
afterAll(() => owner.end())

/** Every word that tells who somebody is carries this mark. */
const MARK = 'Quillfeather'

const ada = {
  Name: `Ada ${MARK}`,
  LastName: `L ${MARK}`,
  Company: `${MARK} Ltd`,
  RegistrationNumber: `R ${MARK}`,
  VatNo: `V ${MARK}`,
  Email: `ada@${MARK}.example`,
  EmailCC: `cc@${MARK}.example`,
  Cell: `1 ${MARK}`,
  Tel: `2 ${MARK}`,
  Fax: `3 ${MARK}`,
  Address1: `4 ${MARK}`,
  Address2: `5 ${MARK}`,
  City: `6 ${MARK}`,
  State: `7 ${MARK}`,
  ZipCode: `8 ${MARK}`,
  CountryState: `9 ${MARK}`,
  Country: 'South Africa',
  Reference: 'A-1',
}

/** A customer with some of everything that may tell who it is, renamed once after its first invoice. */
async function knownCustomer(client: TestClient) {
  const PackageVersion = version({ packageVersionRates: [rate('USD', { SetupFee: 0 })] })
  const { packageID } = await newPackage(client, { PackageVersion })
  await client.post('/v1/customfields', { Key: 'Hobby' })
  const CustomFields = [{ Key: 'Hobby', Value: `Chess ${MARK}` }]
  const key = { 'idempotency-key': 'ada' }
  const added = await client.post('/v1/customers', { ...ada, CustomFields }, key)
  const { customerID } = added.body
  await client.post('/v1/subscriptions', { customerID, packageID })
  await client.put(`/v1/customers/${customerID}`, { ...ada, Name: `Augusta ${MARK}` })
  const contact = { customerID, Name: MARK, LastName: MARK, Email: `a@${MARK}.example`, Cell: MARK, Username: MARK }
  const contacts = await client.post('/v1/customercontacts', { ...contact, isActive: true, Password: 'geheim1' })
  await client.post('/v1/customernotes', { customerID, Note: `${MARK} called` })
  return { customerID: customerID as number, contactID: contacts.body.customerContactID as number, packageID }
}

/** Finds the columns that hold the mark, as "table.column". */
async function placesOfMark(account: bigint): Promise<string[]> {
  const { rows } = await owner.query<{ table: string; column: string }>(`
    select c.table_name as "table", c.column_name as "column" from information_schema.columns c
     where c.table_schema = 'perennial' and c.data_type in ('text', 'jsonb', 'character varying', 'bytea')
       and exists (select 1 from information_schema.columns a where a.table_schema = 'perennial' and a.table_name = c.table_name
                    and a.column_name = 'account_id')`)
  const found: string[] = []
  for (const { table, column } of rows) {
    const { rows: hits } = await owner.query(
      `select 1 from perennial.${table} where account_id = $1 and lower(${column}::text) like '%' || lower($2) || '%' limit 1`,
      [account, MARK],
    )
    if (hits.length > 0) found.push(`${table}.${column}`)
  }
  return found
}

describe('POST /v1/customers/{customerID}/anonymise', () => {
  test('leaves no word anywhere that tells who the customer was', async () => {
    const client = await service.newAccount()
    const { customerID } = await knownCustomer(client)
    expect((await placesOfMark(client.id)).length).toBeGreaterThan(10)
    const done = await client.post(`/v1/customers/${customerID}/anonymise`)
    expect([done.status, done.text]).toEqual([204, ''])
    // The number of an invoice's tax facts stays: law asks to keep it.
    expect(await placesOfMark(client.id)).toEqual(['invoices.customer_vat_number'])
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
  })

  test('keeps amounts, dates, numbers and references, cancels nothing, and bills on', async () => {
    const client = await service.newAccount()
    const { customerID } = await knownCustomer(client)
    const [before] = (await client.get(`/v1/customers/${customerID}/invoices`)).body
    await client.post(`/v1/customers/${customerID}/anonymise`)
    const customer = (await client.get(`/v1/customers/${customerID}`)).body
    expect(customer).toMatchObject({
      Name: 'Anonymised',
      LastName: 'Anonymised',
      Email: null,
      Country: null,
      countryID: 710,
      Reference: 'A-1',
      Balance: 31,
      comp_status: 'Active',
      ActiveSubs: 1,
    })
    const [after] = (await client.get(`/v1/customers/${customerID}/invoices`)).body
    for (const field of ['invoiceID', 'invoiceNum', 'InvoiceDate', 'DueDate', 'Total', 'Charges', 'Taxes', 'Reference'])
      expect(after[field]).toEqual(before[field])
    await client.put('/v1/clock', { Now: '2027-02-02' })
    expect((await client.get(`/v1/customers/${customerID}/invoices`)).body).toHaveLength(2)
    const events = (await client.get(`/v1/events?customerID=${customerID}`)).body
    expect(events.map(({ Type }: { Type: string }) => Type)).toEqual([
      'customer.created',
      'subscription.created',
      'invoice.issued',
      'invoice.mail_queued',
      'customer.updated',
      'customer_contact.created',
      'customer_note.created',
      'customer.anonymised',
      'invoice.issued',
    ])
    expect(events[0].Record).toMatchObject({
      customerID,
      Reference: 'A-1',
      CustomFields: [{ Key: 'Hobby', Value: 'Anonymised' }],
    })
    expect(events[2].Record).toMatchObject({ Name: 'Anonymised', Total: 31, Customer: { Name: 'Anonymised' } })
  })

  test('contacts stay without a name and without a way to sign in; what waited to be mailed is gone', async () => {
    const client = await service.newAccount()
    const { customerID, contactID } = await knownCustomer(client)
    expect((await client.get('/v1/outbox')).body).toHaveLength(2)
    await client.post(`/v1/customers/${customerID}/anonymise`)
    expect((await client.get(`/v1/customercontacts/${contactID}`)).body).toEqual({
      customerContactID: contactID,
      customerID,
      Name: 'Anonymised',
      LastName: 'Anonymised',
      Email: 'anonymised@example.invalid',
      Cell: null,
      Username: null,
      isActive: false,
    })
    expect((await client.get('/v1/outbox')).body).toEqual([])
    expect((await client.get(`/v1/customers/${customerID}/customernotes`)).body).toMatchObject([{ Note: 'Anonymised' }])
    const fields = (await client.get('/v1/customers/with_customfields')).body[0].CustomFields
    expect(fields).toEqual([{ Key: 'Hobby', Value: 'Anonymised' }])
  })

  test('a request that is sent again is answered without the name, and not done again', async () => {
    const client = await service.newAccount()
    const { customerID } = await knownCustomer(client)
    await client.post(`/v1/customers/${customerID}/anonymise`)
    const CustomFields = [{ Key: 'Hobby', Value: `Chess ${MARK}` }]
    const again = await client.post('/v1/customers', { ...ada, CustomFields }, { 'idempotency-key': 'ada' })
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, 'true'])
    expect(again.body).toMatchObject({ customerID, Name: 'Anonymised', Email: null })
    expect((await client.get('/v1/customers')).body).toHaveLength(1)
  })

  test('leaves other customers as they are, and is not for another account', async () => {
    const [client, other] = [await service.newAccount(), await service.newAccount()]
    const { customerID } = await knownCustomer(client)
    const neighbour = (await client.post('/v1/customers', { ...ada, Reference: 'A-2' })).body
    const [ours] = (await client.get(`/v1/events?customerID=${neighbour.customerID}`)).body
    expect((await other.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(404)
    await client.post(`/v1/customers/${customerID}/anonymise`)
    expect((await client.get(`/v1/customers/${neighbour.customerID}`)).body).toEqual(neighbour)
    expect((await client.get(`/v1/events?customerID=${neighbour.customerID}`)).body).toEqual([ours])
  })

  test('waits for the outcomes of tries and refunds, and takes the methods out of what is not paid', async () => {
    const { client, customerID, invoice, read, move } = await cardShop(service, CARDS.byAmount)
    const named = {
      CollectionMethod: 'credit_card',
      customerPaymentMethodID: await addCard(client, customerID, CARDS.good),
    }
    const tried = await invoice(10.91, { ...named, customerPaymentMethodID: null })
    const open = await invoice(20, named)
    await client.put(
      `/v1/paymentmethods/${(await client.get('/v1/paymentmethods')).body[0].paymentMethodID}/setprimary`,
    )
    expect((await client.post(`/v1/invoices/${tried}/collect`)).status).toBe(202)
    const anonymise = () => client.post(`/v1/customers/${customerID}/anonymise`)
    const refused = await anonymise()
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([409, 'outcome_unknown'])
    await move('2027-01-02')
    expect((await anonymise()).status).toBe(204)
    expect(await read(open)).toMatchObject({ customerPaymentMethodID: null, NextTryDate: null })
    expect((await client.get('/v1/paymentmethods')).body).toEqual([])
    expect(await move('2027-03-01')).toMatchObject({ Collected: 0, Declined: 0 })
  })

  test('waits for a refund whose outcome is not known', async () => {
    const { client, customerID, refund } = await chargedPayment(service, '4000000000007726')
    expect((await refund()).status).toBe(202)
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(409)
    await moveTo(client, '2027-01-02')
    expect((await client.post(`/v1/customers/${customerID}/anonymise`)).status).toBe(204)
  })

  test('the role of the service can change nothing of an event but its record, and none of another account', async () => {
    const role = new pg.Client(clientConfig(service.connection, 'perennial_app'))
    await role.connect()
    await service.newAccount()
    await role.query(`set app.account_id = '404'`)
    for (const change of [`type = 'x'`, 'customer_id = 1', `happened_at = now()`, `actor = 'x'`, 'account_id = 404'])
      await expect(role.query(`update perennial.event_rows set ${change}`)).rejects.toThrow('permission denied')
    await expect(role.query('delete from perennial.event_rows')).rejects.toThrow('permission denied')
    expect((await role.query(`update perennial.event_rows set record = '{}'`)).rowCount).toBe(0)
    await role.end()
  })
})

test('a deleted customer takes contacts, notes, values and waiting mail with it', async () => {
  const client = await service.newAccount()
  await client.post('/v1/customfields', { Key: 'Hobby' })
  const body = { Name: 'Acme', isCompany: true, CustomFields: [{ Key: 'Hobby', Value: 'Chess' }] }
  const { customerID } = (await client.post('/v1/customers', body)).body
  const contact = { customerID, Name: 'Jane', LastName: 'Doe', Email: 'jane@example.com', isActive: true }
  const { customerContactID } = (await client.post('/v1/customercontacts', contact)).body
  const { customerNoteID } = (await client.post('/v1/customernotes', { customerID, Note: 'x' })).body
  expect((await client.delete(`/v1/customers/${customerID}`)).status).toBe(204)
  expect((await client.get(`/v1/customercontacts/${customerContactID}`)).status).toBe(404)
  expect((await client.get(`/v1/customernotes/${customerNoteID}`)).status).toBe(404)
  expect((await client.get('/v1/outbox')).body).toEqual([])
  expect((await client.delete('/v1/customfields/Hobby')).status).toBe(204)
})
