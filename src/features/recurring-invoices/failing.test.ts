import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addTax, checkBooks, codesOf, differencesOf, invoicesOf, shop } from '../../../test/support/shop.ts'

const service = await startTestService()

/** A shop whose recurring invoice of 900,000,000,000 cannot be billed on 1 February, because a tax of 20 % has come; another of 5 can. */
async function taxedShop() {
  const { client, customerID } = await shop(service, {})
  const add = async (UnitCostEx: number) =>
    (
      await client.post('/v1/recurring-invoices', {
        customerID,
        StartDate: '2027-01-01',
        RecurInvoiceCharges: [{ UnitCostEx }],
      })
    ).body.recurInvoiceID
  const id = await add(9e11)
  const other = await add(5)
  const tax = await addTax(client, 'VAT', { Perc: 0.2 })
  const path = `/v1/recurring-invoices/${id}`
  const totalsOf = async (wanted: number) =>
    (await invoicesOf(client)).filter(({ recurInvoiceID }) => recurInvoiceID === wanted).map(({ Total }) => Total)
  const moveTo = (day: string) => client.put('/v1/clock', { Now: `${day}T08:00:00.000Z` })
  const typesOf = async () =>
    (await client.get('/v1/events?page_size=200')).body
      .map(({ Type }: any) => Type)
      .filter((type: string) => /\.(billing_|skipped)/.test(type))
  return { client, customerID, id, other, path, totalsOf, moveTo, typesOf, tax }
}

test('what a tax makes too large stops one recurring invoice: everything else of it is 409 until it is billed at 0.00, once', async () => {
  const { client, customerID, id, other, path, totalsOf, moveTo, typesOf } = await taxedShop()
  const { Failed } = (await moveTo('2027-02-01')).body
  expect(Failed).toHaveLength(1)
  expect(Failed[0]).toMatchObject({ recurInvoiceID: id, subscriptionID: null })
  expect(await totalsOf(other)).toEqual([5, 6])
  for (const refused of [
    await client.delete(path),
    await client.put(path, { customerID, RecurInvoiceCharges: [{ UnitCostEx: 5 }] }),
  ]) {
    expect([refused.status, codesOf(refused)]).toEqual([409, ['billing_failed']])
    expect(refused.text).toContain('reaches 1,000,000,000,000')
    expect(refused.text).toContain(`${path}/skip`)
  }
  const [failing, ...more] = (await client.get('/v1/billingfailures')).body
  expect(more).toEqual([])
  expect(failing).toMatchObject({
    subscriptionID: null,
    recurInvoiceID: id,
    customerID,
    Since: '2027-02-01T08:00:00.000Z',
  })
  const skip = { Until: '2027-02-01', Reason: 'The tax came too early' }
  const skipped = await client.post(`${path}/skip`, skip)
  expect([skipped.status, skipped.headers['perennial-warning'], skipped.body]).toEqual([
    201,
    undefined,
    { Skipped: [{ Kind: 'period', From: '2027-02-01T00:00:00Z', To: '2027-02-28T00:00:00Z' }] },
  ])
  expect((await client.post(`${path}/skip`, skip)).body).toEqual({ Skipped: [] })
  expect((await client.get('/v1/billingfailures')).body).toEqual([])
  expect(await typesOf()).toEqual([
    'recurring_invoice.billing_failed',
    'recurring_invoice.billing_recovered',
    'recurring_invoice.skipped',
  ])
  expect(await totalsOf(id)).toEqual([9e11])
  expect((await client.delete(path)).status).toBe(204)
  await checkBooks(service, client)
  expect(await differencesOf(service, client)).toEqual([])
})

test('a skip of a part leaves a warning while the rest cannot be billed; its day is not in the future and its reason is needed', async () => {
  const { client, path, moveTo, totalsOf, id, tax } = await taxedShop()
  await moveTo('2027-03-01')
  const bad = await client.post(`${path}/skip`, { Until: '2027-03-02' })
  expect([bad.status, bad.body.Errors.map(({ Field }: any) => Field).toSorted()]).toEqual([400, ['Reason', 'Until']])
  const part = await client.post(`${path}/skip`, { Until: '2027-02-15', Reason: 'February is free' })
  expect([part.status, part.headers['perennial-warning'], part.body.Skipped]).toEqual([
    201,
    'billing_failed',
    [{ Kind: 'period', From: '2027-02-01T00:00:00Z', To: '2027-02-28T00:00:00Z' }],
  ])
  expect((await client.delete(`/v1/tax/${tax}`)).status).toBe(204)
  expect((await moveTo('2027-03-02')).body.Failed).toEqual([])
  expect(await totalsOf(id)).toEqual([9e11, 9e11])
  expect((await client.get('/v1/billingfailures')).body).toEqual([])
})

test('a return is not held up, and what is billed later leaves out the periods that began in the pause', async () => {
  const { client, customerID, id, other, moveTo, totalsOf, tax } = await taxedShop()
  await moveTo('2027-02-10')
  await client.put(`/v1/customers/${customerID}/suspend`)
  await moveTo('2027-04-15')
  expect((await client.put(`/v1/customers/${customerID}/unsuspend`)).status).toBe(204)
  expect(await totalsOf(id)).toEqual([9e11])
  expect(await totalsOf(other)).toEqual([5, 6])
  await client.delete(`/v1/tax/${tax}`)
  expect((await moveTo('2027-05-02')).body.Failed).toEqual([])
  // January, February, which began before the pause, and May.
  expect(await totalsOf(id)).toEqual([9e11, 9e11, 9e11])
  expect(await totalsOf(other)).toEqual([5, 6, 5])
  await checkBooks(service, client)
  expect(await differencesOf(service, client)).toEqual([])
})
