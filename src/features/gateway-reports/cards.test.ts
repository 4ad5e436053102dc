import { expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { moveTo } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { keptReports, report, workAt } from './reports.testing.ts'

/** Stored cards that their bank has issued anew. */

const service = await startTestService()

/** A customer whose card expires in February 2027 and is renewed by then; today is 1 January. */
async function holder() {
  const client = await service.newAccount()
  const [{ gatewayID, GatewayToken }] = (await client.get('/v1/gateways')).body
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const added = await client.post('/v1/paymentmethods/creditcard', {
    customerID,
    isPrimary: true,
    CreditCard: {
      Number: '4000000000001232',
      CardType: 'Visa',
      NameOnCard: 'Ada',
      LastNameOnCard: 'Lovelace',
      ExpiryMonth: 2,
      ExpiryYear: 2027,
    },
  })
  expect(added.status).toBe(200)
  const path = `/v1/paymentmethods/${added.body.paymentMethodID}`
  const read = () => client.get(path)
  const tokens = async () =>
    (
      await service.db.reader(client.id).rows<{ token: string }>(sql`
        select gateway_token as "token" from payment_methods where account_id = ${client.id} order by payment_method_id`)
    ).map(({ token }) => token)
  const updates = async () =>
    (await client.get('/v1/events')).body.filter(({ Type }: any) => Type === 'payment_method.updated')
  return { client, customerID, gatewayID, GatewayToken, read, tokens, updates }
}

test('a card that was renewed has its new expiry and token the day after its month, with one event', async () => {
  const { client, gatewayID, read, tokens, updates } = await holder()
  const [before] = await tokens()
  const first = await read()
  await moveTo(client, '2027-02-28')
  expect(await updates()).toEqual([])
  await moveTo(client, '2027-03-01')
  const second = await read()
  expect(second.body.CreditCard).toEqual({ ...first.body.CreditCard, ExpiryYear: 2030 })
  expect(second.headers['etag']).not.toBe(first.headers['etag'])
  expect(await tokens()).toEqual([`${before}.1`])
  const events = await updates()
  expect(events).toMatchObject([{ Actor: `gateway ${gatewayID}` }])
  expect(JSON.stringify(events)).not.toContain(before)
})

test('a card that was renewed is a changed method: what had stopped is tried the day after, once', async () => {
  const { client, gatewayID, customerID } = await holder()
  await moveTo(client, '2027-02-25')
  const body = { customerID, CollectionMethod: 'credit_card', DueDate: '2027-02-25', Charges: [{ UnitCostEx: 115 }] }
  const { invoiceID } = (await client.post('/v1/invoices', body)).body
  // Two tries of which the gateway received nothing stop the others.
  const faulty = (Fault: string | null) => client.put(`/v1/gateways/${gatewayID}`, { Settings: { Fault } })
  await faulty('not_received')
  await moveTo(client, '2027-02-28')
  await faulty(null)
  await moveTo(client, '2027-03-01')
  expect((await client.get(`/v1/invoices/${invoiceID}`)).body.NextTryDate).toBe('2027-03-02T00:00:00Z')
  await moveTo(client, '2027-03-20')
  const tries = (await client.get(`/v1/invoices/${invoiceID}/attempts`)).body
  expect(tries.map(({ Date, Outcome, Class }: any) => [Date.slice(0, 10), Outcome, Class])).toEqual([
    ['2027-02-25', 'declined', 'unknown'],
    ['2027-02-28', 'declined', 'unknown'],
    ['2027-03-02', 'succeeded', null],
  ])
})

test('a report by the new token, or one that comes again, changes nothing; one by the old token still finds the card', async () => {
  const shop = await holder()
  const { client, tokens, updates } = shop
  const [before = ''] = await tokens()
  await moveTo(client, '2027-03-01')
  for (const [n, reference] of [before, `${before}.1`, before].entries())
    await report(service, shop, { id: `r-${n}`, about: 'stored', reference })
  await Promise.all([workAt(service, client), workAt(service, client)])
  expect(await updates()).toHaveLength(1)
  for (const kept of await keptReports(service, client)) expect(kept).toMatchObject({ isFinished: true, reason: null })
  // Three years on it is renewed once more, and the token that it has by then is not the first one.
  await moveTo(client, '2030-03-01')
  await report(service, shop, { id: 'next', about: 'stored', reference: `${before}.1` })
  await workAt(service, client)
  expect(await tokens()).toEqual([`${before}.2`])
  expect(await updates()).toHaveLength(2)
})

test('of the card of another account nothing is kept, and a method that is gone meanwhile is a reason', async () => {
  const [one, other] = [await holder(), await holder()]
  const [theirs = ''] = await other.tokens()
  await moveTo(one.client, '2027-03-01')
  const [own = ''] = await one.tokens()
  await report(service, one, { id: 'theirs', about: 'stored', reference: theirs })
  await report(service, one, { id: 'own', about: 'stored', reference: own })
  await service.db.transaction(one.client.id, (tx) =>
    tx.rows(sql`delete from payment_methods where account_id = ${one.client.id}`),
  )
  await workAt(service, one.client)
  expect(await keptReports(service, one.client)).toMatchObject([
    { externalId: 'sandbox-4', reason: null },
    { externalId: 'own', reason: 'The gateway reports a card or account of which no payment method is kept.' },
  ])
  expect(await other.updates()).toEqual([])
})

test('a card that was removed at its gateway is rejected, with the reason, and once', async () => {
  const shop = await holder()
  const { client } = shop
  const [token = ''] = await shop.tokens()
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update sandbox_cards set removed_at = now() where account_id = ${client.id}`),
  )
  const before = (await shop.updates()).length
  for (const id of ['gone', 'again']) await report(service, shop, { id, about: 'stored', reference: token })
  await workAt(service, client)
  const states = await service.db
    .reader(client.id)
    .rows<{ state: string }>(sql`select state from payment_methods where account_id = ${client.id}`)
  expect(states).toEqual([{ state: 'rejected' }])
  const updates = (await client.get('/v1/events?type=payment_method.updated')).body as any[]
  expect(updates).toHaveLength(before + 1)
  expect(updates.map(({ Reason }) => Reason)).toContain('The gateway does not keep the card any more.')
  for (const kept of await keptReports(service, client)) expect(kept).toMatchObject({ isFinished: true, reason: null })
})

/** The mails about cards that were lost. */
const lostMails = async (client: TestClient) =>
  ((await client.get('/v1/outbox?page_size=200')).body as any[]).filter(({ Template }) => Template === 'card_lost')

/** Removes the cards of an account at its sandbox, and has that reported. */
async function removeThere(shop: Awaited<ReturnType<typeof holder>>) {
  const { client } = shop
  const tokens = await shop.tokens()
  await service.db.transaction(client.id, (tx) =>
    tx.rows(sql`update sandbox_cards set removed_at = now() where account_id = ${client.id}`),
  )
  for (const [n, reference] of [...tokens, ...tokens].entries())
    await report(service, shop, { id: `gone-${n}`, about: 'stored', reference })
  await workAt(service, client)
}

const REMINDED = { Reminders: [{ Kind: 'card_expiring', isActive: true }] }
const ADDRESS = { Name: 'Acme', isCompany: true, Email: 'a@example.com' }

test.each([
  ['en-US', 'was removed', 'Visa ending in 1232: January 1, 2027'],
  ['de', 'wurde entfernt', 'Visa mit den Endziffern 1232: 1. Januar 2027'],
])('whose primary card was removed at its gateway is told once, in %s', async (Locale, subject, line) => {
  const shop = await holder()
  const { client, customerID } = shop
  await client.put('/v1/collectionrules', REMINDED)
  await client.put(`/v1/customers/${customerID}`, { ...ADDRESS, Locale })
  await removeThere(shop)
  const mails = await lostMails(client)
  expect(mails).toMatchObject([{ To: 'a@example.com', customerID }])
  expect(mails[0].Subject).toContain(subject)
  expect(mails[0].Text).toContain(line)
})

test.each([
  ['reminders of cards are off', { Reminders: [{ Kind: 'payment_due', isActive: true }] }, {}, true],
  ['the customer has stopped them', REMINDED, { StoppedReminders: ['card_expiring'] }, true],
  ['the customer has no Email', REMINDED, { Email: null }, true],
  ['it is not the primary card', REMINDED, {}, false],
])('nobody is told of a removed card where %s', async (_, rules, customer, isPrimary) => {
  const shop = await holder()
  const { client, customerID } = shop
  await client.put('/v1/collectionrules', rules)
  await client.put(`/v1/customers/${customerID}`, { ...ADDRESS, ...customer })
  if (!isPrimary)
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update payment_methods set is_primary = false where account_id = ${client.id}`),
    )
  await removeThere(shop)
  expect(await shop.updates()).toHaveLength(1)
  expect(await lostMails(client)).toEqual([])
})
