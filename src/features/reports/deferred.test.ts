import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { moveTo, shop } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf } from '../money/money.testing.ts'
import { addComponent } from '../subscriptions/components.testing.ts'

/** Deferred revenue, figure by figure. */

const service = await startTestService()

const deferredOf = async (client: TestClient, query: string): Promise<any[]> => {
  const { status, body, text } = await client.get(`/v1/reports/deferred?${query}`)
  expect(status, text).toBe(200)
  return body
}

/** Rows as texts: month, or kind and package, and what is deferred. */
const shortOf = async (client: TestClient, query: string): Promise<string[]> =>
  (await deferredOf(client, query)).map(({ Month, Kind, Name, Deferred }) =>
    [Month ?? `${Kind} ${Name ?? '-'}`, Deferred].join(' '),
  )

/** Sum of all rows, which must be the same by month and by package. */
async function sumOf(client: TestClient, date: string): Promise<number> {
  const [months, packages] = await Promise.all(
    ['month', 'package'].map(async (by) =>
      (await deferredOf(client, `date=${date}&by=${by}`)).reduce((sum, { Deferred }) => sum + Deferred * 100, 0),
    ),
  )
  expect(Math.round(packages)).toBe(Math.round(months))
  return Math.round(months) / 100
}

const cancel = async (client: TestClient, id: number, kind: string) =>
  expect((await client.put(`/v1/subscriptions/${id}/cancel/${kind}`)).status).toBe(204)

describe('deferred', () => {
  test('1,290.00 for a year from 1 October: 334 of 365 days after 31 October, 1,180.44, by month and package; all fields', async () => {
    const { client, plan, add } = await shop(service, { price: 1290, term: 12 }, '2026-10-01T08:00:00.000Z')
    expect((await add()).status).toBe(201)
    await moveTo(client, '2026-11-05')
    const months = await deferredOf(client, 'date=2026-10-31')
    expect(months).toHaveLength(11)
    expect(months[0]).toEqual({ CurrencyCode: 'USD', Month: '2026-11', Deferred: 106.03 })
    expect(months.at(-1)).toEqual({ CurrencyCode: 'USD', Month: '2027-09', Deferred: 106.03 })
    expect(await sumOf(client, '2026-10-31')).toBe(1180.44)
    expect(await deferredOf(client, 'date=2026-10-31&by=package')).toEqual([
      {
        CurrencyCode: 'USD',
        Kind: 'subscription',
        packageID: plan.packageID,
        packageCode: expect.stringMatching(/^P/),
        Name: 'Plan',
        Deferred: 1180.44,
      },
    ])
    expect(await sumOf(client, '2026-09-30')).toBe(0)
    expect(await sumOf(client, '2027-09-29')).toBe(3.53)
    expect(await sumOf(client, '2027-09-30')).toBe(0)
    expect(await sumOf(client, '2999-12-31')).toBe(0)
  })

  test('310.00 for October, cancelled by the day on the 15th: 140.00 belongs to days that have passed; the day before counts no credit', async () => {
    const { client, add } = await shop(service, { price: 310 }, '2026-10-01T08:00:00.000Z')
    const { subscriptionID } = (await add()).body
    await moveTo(client, '2026-10-15')
    expect(await shortOf(client, 'date=2026-10-14')).toEqual(['2026-10 170'])
    await cancel(client, subscriptionID, 'prorata')
    expect(await sumOf(client, '2026-10-31')).toBe(0)
    expect(await sumOf(client, '2026-10-15')).toBe(0)
    // The note is of the 15th: what is dated later does not count.
    expect(await shortOf(client, 'date=2026-10-14')).toEqual(['2026-10 170'])
    expect(await shortOf(client, 'date=2026-10-10')).toEqual(['2026-10 210'])
  })

  test('a month invoiced ahead, cancelled with full credit: nothing is left of it', async () => {
    const { client, add } = await shop(service, { price: 310 }, '2026-10-01T08:00:00.000Z')
    const { subscriptionID } = (await add()).body
    await moveTo(client, '2026-10-11')
    await cancel(client, subscriptionID, 'fullcredit')
    expect(await sumOf(client, '2026-10-11')).toBe(0)
    expect(await shortOf(client, 'date=2026-10-10')).toEqual(['2026-10 210'])
  })

  test('credits without days lower each day: by line, and by amount shared over the lines', async () => {
    const { client, add } = await shop(service, { price: 310 }, '2026-10-01T08:00:00.000Z')
    const { componentID } = await addComponent(client, { brackets: [[15.5, null]] })
    const { subscriptionID } = (await add({ componentUsage: [{ componentID, NumUnits: 2 }] })).body
    const [{ invoiceID, Charges }] = (await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body
    await moveTo(client, '2026-10-12')
    const credit = (body: object) => client.post(`/v1/invoices/${invoiceID}/credit`, { Reason: 'late', ...body })
    expect((await credit({ Lines: [{ chargeID: Charges[0].chargeID, AmountEx: 31 }] })).status).toBe(201)
    // After the 21st 10 of 31 days: of 279.00 and 31.00.
    expect(await shortOf(client, 'date=2026-10-21&by=package')).toEqual(['subscription Plan 90', 'subscription - 10'])
    await moveTo(client, '2026-10-20')
    expect((await credit({ Amount: 62 })).status).toBe(201)
    // 55.80 and 6.20 of 62.00: 223.20 and 24.80 are left.
    expect(await shortOf(client, 'date=2026-10-21&by=package')).toEqual(['subscription Plan 72', 'subscription - 8'])
    expect(await shortOf(client, 'date=2026-10-15&by=package')).toEqual(['subscription Plan 144', 'subscription - 16'])
    expect(await shortOf(client, 'date=2026-10-11&by=package')).toEqual(['subscription Plan 200', 'subscription - 20'])
  })

  test('invoices by hand have no days, recurring ones have; a cancelled invoice counts until it is cancelled', async () => {
    const { client, customerID } = await shop(service, {}, '2026-10-01T08:00:00.000Z')
    await invoiceOf(client, customerID)
    const recurring = { customerID, Term: 1, TermType: 'months', StartDate: '2026-10-01' }
    const { body } = await client.post('/v1/recurring-invoices', {
      ...recurring,
      RecurInvoiceCharges: [{ UnitCostEx: 62 }],
    })
    const [{ invoiceID }] = (await client.get(`/v1/invoices?recurInvoiceID=${body.recurInvoiceID}`)).body
    await moveTo(client, '2026-10-20')
    expect(await shortOf(client, 'date=2026-10-15&by=package')).toEqual(['recurring - 32'])
    await client.delete(`/v1/invoices/${invoiceID}`)
    expect(await shortOf(client, 'date=2026-10-15')).toEqual(['2026-10 32'])
    expect(await deferredOf(client, 'date=2026-10-20')).toEqual([])
  })

  test('a note of a caller lowers the charge from the day on which it corrects the invoice, and no longer when that ends', async () => {
    const { client, customerID, add } = await shop(service, { price: 310 }, '2026-10-01T08:00:00.000Z')
    const { subscriptionID } = (await add()).body
    const [{ invoiceID }] = (await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body
    await moveTo(client, '2026-10-11')
    const note = creditOf(customerID, 31, { Date: '2026-10-05' })
    const { creditNoteID } = (await client.post('/v1/credits', note)).body
    expect(await shortOf(client, 'date=2026-10-21')).toEqual(['2026-10 100'])
    const Allocations = [{ invoiceID, amountApplied: 31 }]
    expect((await client.put(`/v1/credits/${creditNoteID}`, { ...note, Allocations })).status).toBe(204)
    expect(await shortOf(client, 'date=2026-10-21')).toEqual(['2026-10 90'])
    expect(await shortOf(client, 'date=2026-10-05')).toEqual(['2026-10 234'])
    expect(await shortOf(client, 'date=2026-10-04')).toEqual(['2026-10 270'])
  })

  test('one currency, and CSV of both forms in German writing', async () => {
    const { client, customerID, add } = await shop(service, { price: 31_000 }, '2026-10-01T08:00:00.000Z')
    await add()
    await client.post('/v1/currencies', { CurrencyCode: 'EUR' })
    const recurring = { customerID, CurrencyCode: 'EUR', Term: 1, TermType: 'months', StartDate: '2026-10-01' }
    await client.post('/v1/recurring-invoices', { ...recurring, RecurInvoiceCharges: [{ UnitCostEx: 3.1 }] })
    const csv = async (by: string) =>
      (await client.get(`/v1/reports/deferred?date=2026-10-21&by=${by}&format=csv&locale=de`)).text
    expect(await csv('month')).toBe('\ufeffCurrencyCode;Month;Deferred\r\nEUR;2026-10;1,00\r\nUSD;2026-10;10000,00\r\n')
    expect(await csv('package')).toMatch(
      /^\ufeffCurrencyCode;Kind;packageID;packageCode;Name;Deferred\r\nEUR;recurring;;;;1,00\r\nUSD;subscription;\d+;P\d+;Plan;10000,00\r\n$/,
    )
    expect(await shortOf(client, 'date=2026-10-21&currency=EUR')).toEqual(['2026-10 1'])
  })
})
