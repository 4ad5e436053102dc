import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { reminderLink } from './page.ts'

const ORIGIN = 'https://pay.example'
const service = await startTestService({ publicUrl: ORIGIN })

async function customerOf(fields: object = {}) {
  const client = await service.newAccount()
  const added = await client.post('/v1/customers', {
    Name: 'Acme',
    isCompany: true,
    Email: 'a@example.com',
    PaymentTermDays: 14,
    ...fields,
  })
  const customerID = added.body.customerID as number
  const url = service.app.links.url(reminderLink(client.id, BigInt(customerID), 'payment_due'))
  const path = new URL(url ?? '').pathname
  const stopped = async () => (await client.get(`/v1/customers/${customerID}`)).body.StoppedReminders
  return { client, customerID, path, stopped }
}

const post = (path: string, body: string, headers: Record<string, string> = {}) =>
  service.anonymous.post(path, body, { 'content-type': 'application/x-www-form-urlencoded', ...headers })

describe('the page of a reminder', () => {
  test('shows the kind in the language of the customer, and changes nothing when it is opened', async () => {
    const { path, stopped, client } = await customerOf({ Locale: 'de' })
    const before = (await client.get('/v1/events?sort=-id&page_size=1')).body
    const { status, text } = await service.anonymous.get(path)
    expect(status).toBe(200)
    expect(text).toContain('dass eine Rechnung bald fällig ist')
    expect(await stopped()).toEqual([])
    expect((await client.get('/v1/events?sort=-id&page_size=1')).body).toEqual(before)
  })

  test('stops that kind alone, once, and sends it again when that is wanted', async () => {
    const { client, customerID, path, stopped } = await customerOf({ StoppedReminders: ['card_expiring'] })
    const press = (wish: string) => post(path, `wish=${wish}`, { origin: ORIGIN })
    const sent = await press('stop')
    expect([sent.status, sent.headers['location']]).toEqual([303, path])
    expect(await stopped()).toEqual(['card_expiring', 'payment_due'])
    const events = async () =>
      (await client.get('/v1/events?type=customer.updated')).body.filter(({ RecordID }: any) => RecordID === customerID)
    expect(await events()).toHaveLength(1)
    await press('stop')
    expect(await events()).toHaveLength(1)
    expect((await service.anonymous.get(path)).text).toContain('You will not get these mails any more')
    await press('start')
    expect(await stopped()).toEqual(['card_expiring'])
  })

  test('stops by one click of a mail server, which needs no origin and sends nothing else', async () => {
    const { path, stopped } = await customerOf()
    expect((await post(path, 'List-Unsubscribe=One-Click', { origin: 'https://evil.example' })).status).toBe(403)
    expect((await post(path, 'wish=stop')).status).toBe(403)
    expect(await stopped()).toEqual([])
    for (let click = 1; click <= 2; click += 1)
      expect((await post(path, 'List-Unsubscribe=One-Click')).status).toBe(200)
    expect(await stopped()).toEqual(['payment_due'])
  })

  test.each(['wish=maybe', 'wish=', 'wish=stop&wish=start', 'kind=end_near'])('refuses the form %s', async (body) => {
    const { path, stopped } = await customerOf()
    expect((await post(path, body, { origin: ORIGIN })).status).toBe(400)
    expect(await stopped()).toEqual([])
  })

  test('that is stopped keeps the reminder from going out, and no other mail', async () => {
    const { client, customerID, path } = await customerOf()
    await client.put('/v1/collectionrules', { Reminders: [{ Kind: 'payment_due', DaysBefore: 3, isActive: true }] })
    await post(path, 'List-Unsubscribe=One-Click')
    await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }] })
    // Due on 15 January; reminded of on the 12th.
    await client.put('/v1/clock', { Now: '2027-01-13T12:00:00Z' })
    const templates = async () => (await client.get('/v1/outbox')).body.map(({ Template }: any) => Template)
    expect(await templates()).toEqual(['invoice'])
    await post(path, 'wish=start', { origin: ORIGIN })
    await client.put('/v1/clock', { Now: '2027-01-14T12:00:00Z' })
    expect(await templates()).toEqual(['invoice', 'payment_due'])
  })

  test('is not there for a customer who is gone, or a kind that there is not', async () => {
    const { client, customerID, path } = await customerOf()
    const strange = service.app.links.url({ kind: 'u', account: client.id, record: BigInt(customerID), counter: 99 })
    expect((await service.anonymous.get(new URL(strange ?? '').pathname)).status).toBe(404)
    await client.delete(`/v1/customers/${customerID}`)
    expect((await service.anonymous.get(path)).status).toBe(404)
  })
})
