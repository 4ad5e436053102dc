import { describe, expect, test } from 'vitest'
import { readOnlyClientOf, startTestService } from '../../../test/support/app.ts'
import { asPreview, day, moveTo, readSubscription, rowOf, shop } from '../../../test/support/shop.ts'

const service = await startTestService()

describe('previews', () => {
  test('of one not yet made is its first invoice, has no identifiers and stores nothing', async () => {
    const { client, plan, customerID, add } = await shop(service, { setupFee: 5, price: 30.995 })
    await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
    const body = { customerID, packageID: plan.packageID, StartDate: '2026-12-15', firstProrataSyncDate: '2027-01-01' }
    const preview = await client.post('/v1/subscriptions/preview', body)
    expect(preview.status).toBe(200)
    expect(preview.body).toMatchObject({
      invoiceID: null,
      invoiceNum: null,
      isDraft: true,
      Source: 'Auto',
      subscriptionID: null,
    })
    expect((await client.get('/v1/subscriptions')).body).toEqual([])
    expect((await client.get('/v1/invoices')).body).toEqual([])
    const { subscriptionID } = (await add(body)).body
    const [first] = (await client.get('/v1/invoices')).body
    expect(preview.body).toEqual(asPreview(first, preview.body))
    expect(subscriptionID).toBeGreaterThan(0)
    expect((await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body).toHaveLength(2)
  })

  test('of a subscription shows the next invoice with its own date', async () => {
    const { client, add } = await shop(service)
    const { subscriptionID } = (await add({ numDaysBeforeToInv: 3 })).body
    const preview = await client.get(`/v1/subscriptions/${subscriptionID}/preview`)
    expect(rowOf(preview.body)).toBe('2027-01-29: 2027-02-01 to 2027-02-28 31 = 31')
    expect(day(preview.body.DueDate)).toBe('2027-02-01')
    await moveTo(client, '2027-01-29')
    const [, second] = (await client.get('/v1/invoices')).body
    expect(preview.body).toEqual(asPreview(second, preview.body))
  })

  test('shows nothing when nothing will follow: at the end, after a cancellation, while the customer is not billed', async () => {
    const { client, customerID, add } = await shop(service)
    const empty = { Charges: [], Taxes: [], Total: 0, InvoiceDate: null, DueDate: null }
    const shown = async (id: number) => (await client.get(`/v1/subscriptions/${id}/preview`)).body
    const ending = (await add({ EndDate: '2027-01-20' })).body.subscriptionID
    expect(await shown(ending)).toMatchObject(empty)
    const running = (await add()).body.subscriptionID
    expect(await shown(running)).toMatchObject({ Total: 31 })
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect(await shown(running)).toMatchObject(empty)
    await client.put(`/v1/customers/${customerID}/unsuspend`)
    await client.put(`/v1/subscriptions/${running}/cancel/renewal`)
    expect(await shown(running)).toMatchObject(empty)
  })

  test('refuse what adding refuses, and are open to keys that may only read', async () => {
    const { client, plan, customerID, add } = await shop(service)
    const reader = await readOnlyClientOf(service, client)
    const body = { customerID, packageID: plan.packageID }
    expect((await reader.post('/v1/subscriptions/preview', body)).status).toBe(200)
    expect((await reader.post('/v1/subscriptions', body)).status).toBe(403)
    expect((await client.post('/v1/subscriptions/preview', {})).status).toBe(400)
    const { subscriptionID } = (await add()).body
    expect((await reader.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal`)).status).toBe(403)
    const preview = await reader.put(`/v1/subscriptions/${subscriptionID}/cancel/renewal?preview=true`)
    expect([preview.status, preview.body]).toEqual([200, { Invoices: [], CreditNotes: [] }])
    expect(await readSubscription(client, subscriptionID)).toMatchObject({ isFutureChange: false })
    await client.put(`/v1/customers/${customerID}/suspend`)
    expect((await client.post('/v1/subscriptions/preview', body)).status).toBe(409)
  })

  test('of another start shows the invoices that it would make, to a read key too, and makes none', async () => {
    const { client, add } = await shop(service)
    const { subscriptionID } = (await add({ StartDate: '2027-06-01' })).body
    const reader = await readOnlyClientOf(service, client)
    const path = `/v1/subscriptions/${subscriptionID}/changestartdate`
    const body = { StartDate: '2027-01-01' }
    const before = await readSubscription(client, subscriptionID)
    for (const by of [client, reader]) {
      const preview = await by.put(`${path}?preview=true`, body)
      expect([preview.status, preview.body.Invoices.map(rowOf), preview.body.CreditNotes]).toEqual([
        200,
        ['2027-01-01: 2027-01-01 to 2027-01-31 31 = 31'],
        [],
      ])
    }
    expect((await client.get('/v1/invoices')).body).toEqual([])
    expect(await readSubscription(client, subscriptionID)).toEqual(before)
    const refused = await client.put(`${path}?previw=true`, body)
    expect([refused.status, refused.body.Errors[0].Code]).toEqual([400, 'preview_misnamed'])
    expect((await client.put(path, body)).status).toBe(204)
    expect((await client.get('/v1/invoices')).body.map(rowOf)).toEqual(['2027-01-01: 2027-01-01 to 2027-01-31 31 = 31'])
  })
})
