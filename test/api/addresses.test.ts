import { expect, test } from 'vitest'
import { MANDATE } from '../../src/features/emandates/emandates.testing.ts'
import { startTestService, type TestClient } from '../support/app.ts'

/** Addresses that are answered where PUBLIC_URL is not set: those of the request for a test account, none for a live one. */

const behind = await startTestService({ trustProxy: true })
const open = await startTestService()
const FORWARDED = { host: 'pay.example.org', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'pay.example.org' }

/** Asks for everything that answers an address; returns status and address (or the code of the refusal) of each. */
async function addressesOf(client: TestClient) {
  const { customerID } = (await client.post('/v1/customers', { Name: 'Ada', LastName: 'Lovelace' })).body

  const invoice = (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 10 }] })).body
  const answers = [
    await client.post('/v1/emandate', MANDATE, FORWARDED),
    await client.post('/widget/emandate', MANDATE, FORWARDED),
    await client.get(`/v1/invoices/${invoice.invoiceID}/link`, undefined, FORWARDED),
  ]
  return answers.map(({ status, body, text }) => [
    status,
    body?.Url === undefined ? (body?.Errors?.[0]?.Code ?? text) : new URL(body.Url).origin,
  ])
}

test('behind a trusted proxy they are those by which it was asked', async () => {
  expect(await addressesOf(await behind.newAccount())).toEqual([
    [201, 'https://pay.example.org'],
    [201, 'https://pay.example.org'],
    [200, 'https://pay.example.org'],
  ])
})

test('without one, what claims to come from a proxy is not believed', async () => {
  expect((await addressesOf(await open.newAccount())).map(([, origin]) => origin)).toEqual(
    Array(3).fill('http://pay.example.org'),
  )
})

test('a live account gets none, and nothing is made for it', async () => {
  const client = await behind.newAccount({ mode: 'live', clockAt: null })
  for (const answer of await addressesOf(client)) expect(answer).toEqual([409, 'public_url_missing'])
  expect((await client.get('/v1/events?type=emandate.created')).body).toEqual([])
})
