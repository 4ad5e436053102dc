import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { account } from './batches.testing.ts'

/** Batches that nobody submitted in time, and that the service does not move. */

const service = await startTestService()

const eventsOf = async (client: TestClient) =>
  (await client.get('/v1/events?RecordType=batch')).body.map(
    ({ Type, Date, Record }: any) => `${Date.slice(0, 10)} ${Type} ${Record.isDayPassed}`,
  )

/** On 21 November an invoice of 115 that is due; a batch by hand for 2 December debits it. */
async function forgotten(lines: { Amount: number; applied: number }[] = [{ Amount: 115, applied: 115 }]) {
  const made = await account(service)
  await made.move('2027-11-21')
  const { BatchToken } = await made.batch({ ActionDate: '2027-12-02' })
  const { customerID, paymentMethodID } = await made.customer()
  const { invoiceID } = await made.must('post', '/v1/invoices', {
    customerID,
    InvoiceDate: '2027-11-21',
    DueDate: '2027-11-21',
    Charges: [{ UnitCostEx: 115 }],
  })
  for (const { Amount, applied } of lines) {
    const PaymentApplied = applied > 0 ? [{ invoiceID, amountApplied: applied }] : []
    await made.line(BatchToken, { customerID, paymentMethodID, Amount, PaymentApplied })
  }
  const read = async () => (await made.client.get(`/v1/batches/${BatchToken}`)).body
  const balance = async () => (await made.client.get(`/v1/customers/${customerID}/balances`)).body[0]
  const report = async (query: string) => (await made.client.get(`/v1/reports/ageing?${query}`)).body
  const statement = async (to: string) =>
    (await made.client.get(`/v1/customers/${customerID}/statement?from=2027-11-01&to=${to}`)).body
  return { ...made, BatchToken, customerID, invoiceID, read, balance, report, statement }
}

const NO_AGE = { Current: 0, Days1To30: 0, Days31To60: 0, Days61To90: 0, Days91To120: 0, DaysOver120: 0 }

describe('a batch by hand that nobody submits', () => {
  test('is awaited the day before its last moment, and has one event an ActionDate when that has passed', async () => {
    const { client, move, must, read, BatchToken, gateway } = await forgotten()
    expect(await read()).toMatchObject({ LastMoment: '2027-12-02T23:59:00.000Z', isDayPassed: false })
    await move('2027-12-02')
    expect((await eventsOf(client)).at(-1)).toBe('2027-12-01 batch.submission_awaited false')
    expect(await read()).toMatchObject({ State: 'open', isDayPassed: false })
    await move('2027-12-28')
    await move('2027-12-29')
    expect(await eventsOf(client)).toEqual([
      '2027-11-21 batch.created false',
      '2027-12-01 batch.submission_awaited false',
      '2027-12-02 batch.day_passed true',
    ])
    expect(await read()).toMatchObject({ State: 'open', isDayPassed: true })
    // Another day begins anew, and passes once more.
    const body = { BatchToken, CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate: '2027-12-31' }
    await must('put', '/v1/batches', body)
    expect(await read()).toMatchObject({ LastMoment: '2027-12-31T23:59:00.000Z', isDayPassed: false })
    await move('2028-01-10')
    const last = (await eventsOf(client)).slice(-2)
    expect(last).toEqual(['2027-12-30 batch.submission_awaited false', '2027-12-31 batch.day_passed true'])
    await must('put', '/v1/batches/cancel', { BatchToken })
    expect(await read()).toMatchObject({ LastMoment: null, isDayPassed: false })
  })

  test('has passed no day without lines, and no last moment once it is submitted', async () => {
    const { client, move, must, build, batch, read, BatchToken } = await forgotten()
    const empty = await batch({ ActionDate: '2027-12-02' })
    await move('2027-12-01')
    await must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-12-02' })
    await build()
    expect(await read()).toMatchObject({ State: 'submitted', LastMoment: null, isDayPassed: false })
    await move('2027-12-28')
    expect((await client.get(`/v1/batches/${empty.BatchToken}`)).body).toMatchObject({
      State: 'open',
      isDayPassed: false,
    })
    expect((await eventsOf(client)).some((one: string) => one.includes('day_passed'))).toBe(false)
  })

  test('is found by state, gateway, day and whether its day has passed', async () => {
    const { client, batch, manual, move, BatchToken, customerID, line, customer } = await forgotten()
    const other = await manual()
    const later = await batch({ GatewayToken: other.GatewayToken, ActionDate: '2027-12-30' })
    const { paymentMethodID } = await customer({ customerID })
    await line(later.BatchToken, { customerID, paymentMethodID, Amount: 1, PaymentApplied: [] })
    await move('2027-12-28')
    const found = async (query: string) =>
      (await client.get(`/v1/batches?${query}`)).body.map((one: any) => one.BatchToken)
    expect(await found('isDayPassed=true')).toEqual([BatchToken])
    expect(await found('isDayPassed=false')).toEqual([later.BatchToken])
    expect(await found('State=open')).toEqual([BatchToken, later.BatchToken])
    expect(await found('State=submitted')).toEqual([])
    expect(await found(`GatewayToken=${other.GatewayToken.toUpperCase()}`)).toEqual([later.BatchToken])
    expect(await found('ActionDateFrom=2027-12-03')).toEqual([later.BatchToken])
    expect(await found('ActionDateTo=2027-12-02')).toEqual([BatchToken])
    expect(await found('ActionDateFrom=2027-12-02&ActionDateTo=2027-12-30')).toEqual([BatchToken, later.BatchToken])
    expect(await found('State=open&isDayPassed=true&ActionDateFrom=2027-12-03')).toEqual([])
    const counted = await client.get('/v1/batches?isDayPassed=true&total=true')
    expect(counted.headers['total-count']).toBe('1')
    const refused = await client.get('/v1/batches?State=gone&GatewayToken=x&ActionDateFrom=y&isDayPassed=z')
    expect([refused.status, refused.body.Errors.map(({ Field }: any) => Field).sort()]).toEqual([
      400,
      ['ActionDateFrom', 'GatewayToken', 'State', 'isDayPassed'],
    ])
  })
})

describe('another cut-off, other days or another zone', () => {
  /** Two batches with a line for 2 December, each at a gateway by hand; it is noon of that day. */
  async function twoBatches() {
    const made = await account(service)
    await made.move('2027-11-21')
    const { customerID, paymentMethodID } = await made.customer()
    const batches: string[] = []
    const gateways = [await made.manual(), await made.manual()]
    for (const { GatewayToken } of gateways) {
      const { BatchToken } = await made.batch({ GatewayToken, ActionDate: '2027-12-02' })
      await made.line(BatchToken, { customerID, paymentMethodID, Amount: 115, PaymentApplied: [] })
      batches.push(BatchToken)
    }
    await made.move('2027-12-02')
    const found = async () =>
      (await made.client.get('/v1/batches?isDayPassed=true')).body.map((one: any) => one.BatchToken)
    const passed = async () => (await made.client.get(`/v1/customers/${customerID}/balances`)).body[0].PendingPassed
    const set = (Settings: object) => made.must('put', `/v1/gateways/${gateways[0].gatewayID}`, { Settings })
    return { ...made, batches, found, passed, set }
  }

  test('counts at once in lists and balances, for the batches of that gateway alone', async () => {
    const { batches, found, passed, set } = await twoBatches()
    expect([await found(), await passed()]).toEqual([[], 0])
    await set({ CutOff: '11:00' })
    expect([await found(), await passed()]).toEqual([[batches[0]], 115])
    await set({ CutOff: '13:00' })
    expect([await found(), await passed()]).toEqual([[], 0])
    await set({ SubmitDays: 1 })
    expect([await found(), await passed()]).toEqual([[batches[0]], 115])
    await set({ SubmitDays: null, CutOff: null })
    expect([await found(), await passed()]).toEqual([[], 0])
  })

  test('of the account counts at once for all of its batches, and of another account for none', async () => {
    const other = await twoBatches()
    const { client, batches, found, passed } = await twoBatches()
    expect((await client.put('/v1/account', { TimeZone: 'Pacific/Kiritimati' })).status).toBe(204)
    expect([await found(), await passed()]).toEqual([batches, 230])
    expect([await other.found(), await other.passed()]).toEqual([[], 0])
    expect((await client.put('/v1/account', { TimeZone: 'UTC' })).status).toBe(204)
    expect([await found(), await passed()]).toEqual([[], 0])
  })
})

describe('what a batch whose day has passed was to pay', () => {
  test('is open by its DueDate, with the line apart: invoice 115 due 21 November, 28 December', async () => {
    const { client, move, must, customerID, invoiceID, BatchToken, balance, report, statement } = await forgotten()
    await move('2027-12-01')
    // Until then the line counts as pending.
    expect(await balance()).toMatchObject({
      Balance: 0,
      Overdue: 0,
      Pending: 115,
      Unallocated: 0,
      PendingPassed: 0,
      Ageing: NO_AGE,
    })
    await move('2027-12-28')
    expect(await balance()).toEqual({
      CurrencyCode: 'USD',
      Balance: 0,
      Overdue: 115,
      Pending: 115,
      Unallocated: 0,
      Held: 0,
      PendingPassed: 115,
      Ageing: { ...NO_AGE, Days31To60: 115 },
    })
    const row = { customerID, Name: 'Acme', CurrencyCode: 'USD' }
    expect(await report('date=2027-12-28')).toEqual([
      { ...row, ...NO_AGE, Days31To60: 115, Total: 115, Unallocated: 0, PendingPassed: 115, Balance: 0 },
    ])
    const [invoice, line] = await report('date=2027-12-28&by=document')
    expect(invoice).toMatchObject({
      Type: 'invoice',
      DocumentID: invoiceID,
      Amount: 115,
      Total: 115,
      PendingPassed: 0,
      Balance: 115,
    })
    expect(line).toMatchObject({
      Type: 'payment',
      Amount: 115,
      Total: 0,
      Unallocated: 0,
      PendingPassed: 115,
      Balance: -115,
    })
    // The line is dated 2 December: before that day it counts on no date.
    expect(await report('date=2027-12-01')).toEqual([
      { ...row, ...NO_AGE, Days1To30: 115, Total: 115, Unallocated: 0, PendingPassed: 0, Balance: 115 },
    ])
    expect(await statement('2027-12-28')).toMatchObject({
      ClosingBalance: 0,
      Unallocated: 0,
      PendingPassed: 115,
      Ageing: { ...NO_AGE, Days31To60: 115 },
    })
    expect(await statement('2027-12-01')).toMatchObject({
      ClosingBalance: 115,
      PendingPassed: 0,
      Ageing: { ...NO_AGE, Days1To30: 115 },
    })
    const csv = await client.get('/v1/reports/ageing?date=2027-12-28&format=csv')
    expect(csv.text).toContain('Unallocated,PendingPassed,Balance')
    expect(
      (await client.get(`/v1/customers/${customerID}/statement?from=2027-11-01&to=2027-12-28&format=pdf`)).status,
    ).toBe(200)
    // The interface's own words stay.
    expect((await client.get(`/v1/invoices/${invoiceID}`)).body).toMatchObject({ Status: 'Pending', Balance: 0 })
    await must('put', '/v1/batches/cancel', { BatchToken })
    expect(await balance()).toMatchObject({ Balance: 115, Overdue: 115, Pending: 0, Unallocated: 0, PendingPassed: 0 })
  })

  test('counts whole, with what of the lines is allocated to nothing; other money stays beside it', async () => {
    const { client, customerID, invoiceID, move, balance, report, statement } = await forgotten([
      { Amount: 60, applied: 40 },
      { Amount: 10, applied: 0 },
    ])
    const paid = { customerID, CurrencyCode: 'USD', Date: '2027-11-21', Method: 'eft', Ref: 'eft', AutoApply: false }
    const allocations = [{ invoiceID, amountApplied: 25 }]
    expect((await client.post('/v1/payments', { ...paid, Amount: 30, allocations })).status).toBe(201)
    await move('2027-12-28')
    // 115 - 25 by eft is 90; of the eft 5 is free; both lines are 70. 90 - 5 - 70 = 15, as 115 - 30 - 70.
    expect(await balance()).toMatchObject({
      Balance: 15,
      Overdue: 90,
      Pending: 70,
      Unallocated: 5,
      PendingPassed: 70,
      Ageing: { Days31To60: 90 },
    })
    expect(await report('date=2027-12-28')).toMatchObject([
      { Days31To60: 90, Total: 90, Unallocated: 5, PendingPassed: 70, Balance: 15 },
    ])
    const items = await report('date=2027-12-28&by=document')
    const sum = (column: string) => items.reduce((all: number, one: any) => all + one[column], 0)
    expect([sum('Total'), sum('Unallocated'), sum('PendingPassed'), sum('Balance')]).toEqual([90, 5, 70, 15])
    expect(await statement('2027-12-28')).toMatchObject({
      ClosingBalance: 15,
      Unallocated: 5,
      PendingPassed: 70,
      Ageing: { Days31To60: 90 },
    })
  })
})
