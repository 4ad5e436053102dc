import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addPackage, moveTo, shop } from '../../../test/support/shop.ts'

/** Changes of subscriptions that answer what they have made. */

const service = await startTestService()
const SHOWN = { prefer: 'return=representation' }

/** A subscription of 31.00 for January 2027, looked at on the 11th: 21 days of it are left. */
async function begun() {
  const made = await shop(service)
  const { subscriptionID } = (await made.add()).body
  await moveTo(made.client, '2027-01-11')
  return { ...made, path: `/v1/subscriptions/${subscriptionID}` }
}

describe('a change with return=representation', () => {
  test('answers the credit note that it made, with its identifier and number, and the subscription', async () => {
    const { client, path } = await begun()
    const preview = await client.request('PUT', `${path}/cancel/prorata?preview=true`, {}, SHOWN)
    expect([preview.status, preview.headers['preference-applied']]).toEqual([200, undefined])
    expect((await client.get('/v1/credits')).body).toEqual([])
    const changed = await client.request('PUT', `${path}/cancel/prorata`, {}, SHOWN)
    expect([changed.status, changed.headers['preference-applied']]).toEqual([200, 'return=representation'])
    const [note] = (await client.get('/v1/credits')).body
    expect(changed.body).toEqual({
      Invoices: [],
      CreditNotes: [
        { ...preview.body.CreditNotes[0], creditNoteID: note.creditNoteID, CreditNumber: note.CreditNumber },
      ],
      Subscription: (await client.get(path)).body,
    })
    expect([note.Amount, changed.body.Subscription.isCancelled]).toEqual([21, true])
  })

  test('answers the invoice that it made as reading it does', async () => {
    const { client, path } = await begun()
    const { packageID } = await addPackage(client, { price: 62 })
    const changed = await client.request('PUT', `${path}/changepackage`, { packageID, When: 'now' }, SHOWN)
    expect(changed.status, changed.text).toBe(200)
    const [, invoice] = (await client.get('/v1/invoices')).body
    expect(changed.body.Invoices).toEqual([(await client.get(`/v1/invoices/${invoice.invoiceID}`)).body])
    expect(changed.body.Invoices[0]).toMatchObject({ isDraft: false, invoiceNum: invoice.invoiceNum })
    expect(changed.headers['etag']).toBe((await client.get(path)).headers['etag'])
  })

  test('is repeated under its key in the form that was kept, whatever the repetition prefers', async () => {
    const { client, path } = await begun()
    const plain = { 'idempotency-key': 'plain' }
    const shown = { 'idempotency-key': 'shown', ...SHOWN }
    const edit = (headers: Record<string, string>) => client.request('PUT', path, { poNumber: 'PO 7' }, headers)
    expect([(await edit(plain)).status, (await edit({ ...plain, ...SHOWN })).status]).toEqual([204, 204])
    const first = await edit(shown)
    const again = await edit({ 'idempotency-key': 'shown', prefer: 'return=minimal' })
    expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
    expect(again.headers).toMatchObject({ 'preference-applied': 'return=representation', etag: first.headers['etag'] })
    expect((await client.request('PUT', path, { poNumber: 'PO 8' }, { prefer: 'return=minimal' })).status).toBe(204)
  })

  test('goes with strictness in one header, and changes nothing where the request is refused', async () => {
    const { client, path } = await begun()
    const both = { prefer: 'return=representation, handling=strict' }
    const refused = await client.request('PUT', path, { poNumbre: 'PO 7' }, both)
    expect([refused.status, refused.headers['preference-applied']]).toEqual([400, undefined])
    expect(refused.body.Errors[0].Field).toBe('poNumbre')
    const edited = await client.request('PUT', path, { poNumber: 'PO 7' }, both)
    expect([edited.status, edited.body.poNumber]).toEqual([200, 'PO 7'])
  })
})
