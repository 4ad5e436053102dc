import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { addTax, differencesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { creditOf, invoiceOf } from '../money/money.testing.ts'
import { addComponent } from '../subscriptions/components.testing.ts'

/** Revenue of a period, figure by figure. */

const service = await startTestService()

const revenueOf = async (client: TestClient, query: string): Promise<any[]> => {
  const { status, body, text } = await client.get(`/v1/reports/revenue?${query}`)
  expect(status, text).toBe(200)
  return body
}

/** Rows as texts: kind, what the row is of, turnover, taken back, net. */
const shortOf = (rows: readonly any[]): string[] =>
  rows.map(({ Kind, Name, countryID, Month, Turnover, TurnoverTakenBack, NetTurnover }) =>
    [Kind, Name ?? countryID ?? Month ?? '-', Turnover, TurnoverTakenBack, NetTurnover].join(' '),
  )

const JANUARY = 'from=2027-01-01&to=2027-01-31'
const FEBRUARY = 'from=2027-02-01&to=2027-02-28'

const credit = async (client: TestClient, invoiceID: number, body: object) =>
  expect((await client.post(`/v1/invoices/${invoiceID}/credit`, { Reason: 'wrong', ...body })).status).toBe(201)

const linesOf = async (client: TestClient, invoiceID: number): Promise<number[]> =>
  (await client.get(`/v1/invoices/${invoiceID}`)).body.Charges.map(({ chargeID }: any) => chargeID)

describe('revenue', () => {
  test('has packages with their set-up fees, recurring invoices and invoices by hand, each by its kind; all fields', async () => {
    const { client, plan, customerID, add } = await shop(service, { name: 'Plan', setupFee: 9 })
    await addTax(client, 'VAT', { Perc: 0.23 })
    expect((await add()).status).toBe(201)
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 40 }, { UnitCostEx: -5 }] })
    const recurring = { customerID, Term: 1, TermType: 'months', StartDate: '2027-01-01' }
    expect(
      (await client.post('/v1/recurring-invoices', { ...recurring, RecurInvoiceCharges: [{ UnitCostEx: 12 }] })).text,
    ).toContain('recurInvoiceID')
    const rows = await revenueOf(client, JANUARY)
    expect(rows[0]).toEqual({
      CurrencyCode: 'USD',
      Kind: 'subscription',
      packageID: plan.packageID,
      packageCode: expect.stringMatching(/^P/),
      Name: 'Plan',
      Turnover: 40,
      TurnoverTakenBack: 0,
      NetTurnover: 40,
    })
    expect(shortOf(rows)).toEqual(['subscription Plan 40 0 40', 'recurring - 12 0 12', 'by_hand - 35 0 35'])
    expect(rows).toEqual(await revenueOf(client, `${JANUARY}&by=package`))
    expect(shortOf(await revenueOf(client, `${JANUARY}&by=component`))).toEqual([
      'subscription - 40 0 40',
      'recurring - 12 0 12',
      'by_hand - 35 0 35',
    ])
  })

  test('of a subscription that is cancelled by the day loses what was given back, on the day of the note', async () => {
    const { client, add } = await shop(service)
    const { subscriptionID } = (await add()).body
    await moveTo(client, '2027-01-15')
    expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/prorata`)).status).toBe(204)
    expect(shortOf(await revenueOf(client, JANUARY))).toEqual(['subscription Plan 31 17 14'])
    expect(shortOf(await revenueOf(client, 'from=2027-01-01&to=2027-01-14'))).toEqual(['subscription Plan 31 0 31'])
  })

  test('a credit by line is taken off its line, one by amount is shared over what notes by line have left of each', async () => {
    const { client, add } = await shop(service, { name: 'Plan', price: 100 })
    const { componentID } = await addComponent(client, { brackets: [[25, null]] })
    const { subscriptionID } = (await add({ componentUsage: [{ componentID, NumUnits: 2 }] })).body
    const [{ invoiceID }] = (await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body
    const ofPlanAndSeats = async () => [
      ...shortOf(await revenueOf(client, `${JANUARY}&by=package`)),
      ...shortOf(await revenueOf(client, `${JANUARY}&by=component`)),
    ]
    const rows = (plan: string, seats: string) => [
      `subscription Plan ${plan}`,
      `subscription - ${seats}`,
      `subscription Seats ${seats}`,
      `subscription - ${plan}`,
    ]
    // 100 and 50: of 30.00 two thirds and one.
    await credit(client, invoiceID, { Amount: 30 })
    expect(await ofPlanAndSeats()).toEqual(rows('100 20 80', '50 10 40'))
    const [plan] = await linesOf(client, invoiceID)
    await credit(client, invoiceID, { Lines: [{ chargeID: plan, AmountEx: 70 }] })
    expect(await ofPlanAndSeats()).toEqual(rows('100 90 10', '50 10 40'))
    // The note of 70.00 left 30 and 50 of the lines: of 16.00 three eighths and five.
    await credit(client, invoiceID, { Amount: 16 })
    expect(await ofPlanAndSeats()).toEqual(rows('100 96 4', '50 20 30'))
    expect(await differencesOf(service, client)).toEqual([])
  })

  test('an invoice that is credited by a line and then whole leaves nothing', async () => {
    const { client, add } = await shop(service, { price: 100, setupFee: 9.99 })
    await addTax(client, 'VAT', { Perc: 0.23 })
    const { componentID } = await addComponent(client, { brackets: [[25, null]] })
    const { subscriptionID } = (await add({ componentUsage: [{ componentID, NumUnits: 2 }] })).body
    const [{ invoiceID }] = (await client.get(`/v1/invoices?subscriptionID=${subscriptionID}`)).body
    const [line] = await linesOf(client, invoiceID)
    await credit(client, invoiceID, { Lines: [{ chargeID: line, AmountEx: 3.33 }] })
    await credit(client, invoiceID, { isWhole: true })
    expect(shortOf(await revenueOf(client, JANUARY))).toEqual([
      'subscription Plan 109.99 109.99 0',
      'subscription - 50 50 0',
    ])
  })

  test('what is cancelled in February is revenue of January and taken off in February; by month both have a row', async () => {
    const { client, customerID } = await shop(service)
    const invoiceID = await invoiceOf(client, customerID)
    await moveTo(client, '2027-02-03')
    await client.delete(`/v1/invoices/${invoiceID}`)
    expect(shortOf(await revenueOf(client, 'from=2027-01-01&to=2027-02-28&by=month'))).toEqual([
      'by_hand 2027-01 100 0 100',
      'by_hand 2027-02 -100 0 -100',
    ])
    expect(await revenueOf(client, 'from=2027-01-01&to=2027-02-28')).toEqual([])
  })

  test('a note of 60.00 of 30 January, settled on 6 February for 100.00 + 23 %, is unsettled until then', async () => {
    const { client, customerID } = await shop(service)
    await addTax(client, 'VAT', { Perc: 0.23 })
    await moveTo(client, '2027-02-03')
    const invoiceID = await invoiceOf(client, customerID)
    const note = creditOf(customerID, 60, { Date: '2027-01-30' })
    const { creditNoteID } = (await client.post('/v1/credits', note)).body
    await moveTo(client, '2027-02-06')
    const Allocations = [{ invoiceID, amountApplied: 60 }]
    expect((await client.put(`/v1/credits/${creditNoteID}`, { ...note, Allocations })).status).toBe(204)
    expect(shortOf(await revenueOf(client, JANUARY))).toEqual(['unsettled - 0 60 -60'])
    expect(shortOf(await revenueOf(client, FEBRUARY))).toEqual(['by_hand - 100 48.78 51.22', 'unsettled - 0 -60 60'])
  })

  test('CSV of each form in German writing', async () => {
    const { client, customerID } = await shop(service)
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 1234.5 }] })
    const csv = async (by: string) =>
      (await client.get(`/v1/reports/revenue?${JANUARY}&by=${by}&format=csv&locale=de`)).text
    expect(await csv('month')).toBe(
      '\ufeffCurrencyCode;Kind;Month;Turnover;TurnoverTakenBack;NetTurnover\r\nUSD;by_hand;2027-01;1234,50;0,00;1234,50\r\n',
    )
    expect(await csv('package')).toContain('\r\nUSD;by_hand;;;;1234,50;0,00;1234,50\r\n')
    expect(await csv('component')).toContain('CurrencyCode;Kind;componentID;ComponentCode;Name;Turnover')
    expect(await csv('country')).toContain('CurrencyCode;Kind;countryID;Turnover')
  })
})
