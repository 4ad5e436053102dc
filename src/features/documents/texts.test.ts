import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { invoicesOf, moveTo, subscribe } from '../../../test/support/shop.ts'
import { momentOf } from '../../kernel/context.ts'
import { getAccount } from '../accounts/queries.ts'
import { loadInvoiceDocument } from './load.ts'

const service = await startTestService()

const PLAIN = { Notes: 'Thank you.', Terms: 'Within 14 days.', BankDetails: 'Bank 1' }
const Texts = {
  de: { Notes: 'Vielen Dank.', Terms: null, BankDetails: 'Konto 1' },
  'de-CH': { Notes: null, Terms: 'Innert 14 Tagen.', BankDetails: null },
}

async function textsOf(client: TestClient, id: number) {
  const db = service.db.reader(client.id)
  const account = await getAccount(db, client.id)
  const caller = { account, keyId: 1n, permission: 'read', isStrict: false } as const
  const context = { account, moment: momentOf(account, Date.now), caller, actor: 'test' }
  const { notes, terms, bankDetails } = await loadInvoiceDocument(db, context, BigInt(id))
  const { Notes, Terms } = (await client.get(`/v1/invoices/${id}`)).body
  expect([notes, terms]).toEqual([Notes, Terms])
  return [notes, terms, bankDetails]
}

async function shop(Locale: string | null) {
  const client = await service.newAccount()
  expect((await client.put('/v1/account', { ...PLAIN, Texts })).status).toBe(204)
  const { body: customer } = await client.post('/v1/customers', { Name: 'Acme', isCompany: true, Locale })
  const add = async (more: object = {}) => {
    const body = { customerID: customer.customerID, Charges: [{ UnitCostEx: 10 }], ...more }
    return (await client.post('/v1/invoices', body)).body.invoiceID as number
  }
  return { client, customer, add }
}

test('papers take the texts of the language of their customer, text by text, before the plain ones', async () => {
  const of = async (locale: string | null, more: object = {}) => {
    const { client, add } = await shop(locale)
    return textsOf(client, await add(more))
  }
  expect(await of('de-AT')).toEqual(['Vielen Dank.', 'Within 14 days.', 'Konto 1'])
  expect(await of('de-CH')).toEqual(['Vielen Dank.', 'Innert 14 Tagen.', 'Konto 1'])
  expect(await of('fr')).toEqual(['Thank you.', 'Within 14 days.', 'Bank 1'])
  expect(await of(null)).toEqual(['Thank you.', 'Within 14 days.', 'Bank 1'])
  expect(await of('de', { Notes: 'My own.' })).toEqual(['My own.', 'Within 14 days.', 'Konto 1'])
})

test('those of an invoice are frozen at its issue, whatever the account says later', async () => {
  const { client, add } = await shop('de')
  const id = await add()
  const before = await textsOf(client, id)
  const { status } = await client.put('/v1/account', { Texts: { de: { Notes: 'Neu.', BankDetails: 'Konto 2' } } })
  expect(status).toBe(204)
  expect(await textsOf(client, id)).toEqual(before)
  expect(await textsOf(client, await add())).toEqual(['Neu.', 'Within 14 days.', 'Konto 2'])
  await client.put('/v1/account', { Texts: null })
  expect((await client.get('/v1/account')).body.Texts).toBe(null)
  expect(await textsOf(client, id)).toEqual(before)
  expect(await textsOf(client, await add())).toEqual(['Thank you.', 'Within 14 days.', 'Bank 1'])
})

test('invoices of the run, their previews and events have them too', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  await client.put('/v1/account', { ...PLAIN, Texts })
  const { subscriptionID } = await subscribe(client, { price: 31 }, {}, { Locale: 'de-CH' })
  const { Notes, Terms } = (await client.get(`/v1/subscriptions/${subscriptionID}/preview`)).body
  expect([Notes, Terms]).toEqual(['Vielen Dank.', 'Innert 14 Tagen.'])
  await moveTo(client, '2027-02-01')
  for (const { invoiceID } of await invoicesOf(client))
    expect(await textsOf(client, invoiceID)).toEqual(['Vielen Dank.', 'Innert 14 Tagen.', 'Konto 1'])
  const events = (await client.get('/v1/events?type=invoice.issued')).body
  expect(events.map(({ Record }: any) => [Record.Notes, Record.Terms])).toEqual(
    events.map(() => ['Vielen Dank.', 'Innert 14 Tagen.']),
  )
})

test('texts by language are bounded, and what is wrong with them is named', async () => {
  const { client } = await shop(null)
  expect((await client.get('/v1/account')).body.Texts).toEqual(Texts)
  const refused = async (wrong: unknown) => {
    const { status, body } = await client.put('/v1/account', { Texts: wrong })
    return [status, body.Errors[0].Code, body.Errors[0].Field]
  }
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`de-${100 + index}`, { Notes: 'x' }]))
  expect(await refused(many)).toEqual([400, 'too_many', 'Texts'])
  expect(await refused([])).toEqual([400, 'wrong_type', 'Texts'])
  expect(await refused({ de: 'x' })).toEqual([400, 'wrong_type', 'Texts.de'])
  expect(await refused({ German: { Notes: 'x' } })).toEqual([400, expect.any(String), 'Texts.German'])
  expect((await refused({ de: { Notes: 'x'.repeat(100_000) } }))[2]).toBe('Texts.de.Notes')
  const long = { Notes: 'x'.repeat(60_000) }
  expect(await refused({ de: long, fr: long })).toEqual([400, 'too_long', 'Texts'])
  expect((await client.get('/v1/account')).body.Texts).toEqual(Texts)
})
