import { describe, expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'

/** Filters of lists: each finds what it says, several hold together, and what cannot be read is refused. */

const service = await startTestService()
const client = await service.newAccount()

const added = async (path: string, body: object) => {
  const reply = await client.post(path, body)
  expect([reply.status, path, reply.body?.Errors]).toEqual([201, path, undefined])
  return reply.body
}
const found = async (path: string, id: string): Promise<unknown[]> => {
  const reply = await client.get(path)
  expect([reply.status, path, reply.body.Errors]).toEqual([200, path, undefined])
  expect(reply.headers['perennial-ignored'], path).toBeUndefined()
  const rows = Array.isArray(reply.body) ? reply.body : reply.body.adjustments
  return rows.map((row: Record<string, unknown>) => row[id])
}
const refusal = async (path: string) => {
  const { status, body } = await client.get(path)
  return [status, ...(body.Errors ?? []).map(({ Field }: { Field: string }) => Field)]
}

await added('/v1/currencies', { CurrencyCode: 'EUR' })
const paris = await added('/v1/customers', {
  Name: 'Paris SAS',
  isCompany: true,
  VatNo: 'FR40303265045',
  countryID: 250,
  CurrencyCode: 'EUR',
})
const boston = await added('/v1/customers', { Name: 'Boston', isCompany: true, countryID: 840 })
const group = await added('/v1/packagegroups', { GroupName: 'Plans' })
const { packageGroupID } = group
const rates = (CurrencyCode: string) => ({
  CurrencyCode,
  SetupFee: 0,
  TrialFee: 0,
  TrialPeriod: 0,
  TrialPeriodType: 'days',
  PackageRateTerms: [{ ChargePrice: 10, ChargeTerm: 1, ChargeTermType: 'months' }],
})
const plan = async (packageCode: string) =>
  added('/v1/packages', {
    packageGroupID,
    packageCode,
    Name: packageCode,
    Descrip: packageCode,
    isActive: true,
    PackageVersion: {
      VersionName: 'v1',
      isActive: true,
      isDefault: true,
      packageVersionRates: [rates('USD'), rates('EUR')],
    },
  })
const gold = await plan('Gold-1')
const silver = await plan('Silver')
const component = async (ComponentCode: string, Type: string) =>
  added('/v1/components', {
    packageGroupID,
    ComponentCode,
    Name: ComponentCode,
    isActive: true,
    UnitName: 'unit',
    Term: 1,
    TermType: 'months',
    Type,
    Scheme: 'unit',
    ComponentVersion: {
      VersionName: 'v1',
      isActive: true,
      isDefault: true,
      ComponentVersionCurrencies: ['USD', 'EUR'].map((CurrencyCode) => ({
        CurrencyCode,
        ComponentBracketPrices: [{ Price: 1, QtyFrom: 1, QtyTill: null }],
      })),
    },
  })
const seats = await component('Seats', 'quantity')
const calls = await component('Calls', 'metered')
const month = { Term: 1, TermType: 'months' }
const first = await added('/v1/subscriptions', {
  customerID: paris.customerID,
  packageCode: 'gold-1',
  Reference: 'S-1',
  componentUsage: [{ ComponentCode: 'SEATS', NumUnits: 2 }, { ComponentCode: 'Calls' }],
  ...month,
})
const second = await added('/v1/subscriptions', {
  customerID: boston.customerID,
  packageID: silver.packageID,
  packageCode: 'Silver',
  ...month,
})

describe('filters', () => {
  test('of customers: VAT number, country and currency', async () => {
    const customers = (query: string) => found(`/v1/customers?${query}`, 'customerID')
    expect(await customers('VatNo=FR40303265045')).toEqual([paris.customerID])
    expect(await customers('countryID=840')).toEqual([boston.customerID])
    expect(await customers('CurrencyCode=EUR')).toEqual([paris.customerID])
    expect(await customers('CurrencyCode=EUR&countryID=840')).toEqual([])
    expect(await customers('CurrencyCode=EUR&countryID=250&VatNo=FR40303265045&comp_status=Active')).toEqual([
      paris.customerID,
    ])
    expect(await refusal('/v1/customers?countryID=x&CurrencyCode=EURO')).toEqual([400, 'countryID', 'CurrencyCode'])
  })

  test('of subscriptions: codes and Reference; unknown codes and contradictions are 400', async () => {
    const subscriptions = (query: string) => found(`/v1/subscriptions?${query}`, 'subscriptionID')
    expect(await subscriptions('packageCode=GOLD-1')).toEqual([first.subscriptionID])
    expect(await subscriptions('ComponentCode=calls')).toEqual([first.subscriptionID])
    expect(await subscriptions('Reference=S-1')).toEqual([first.subscriptionID])
    expect(await subscriptions('Reference=S-1&packageCode=Silver')).toEqual([])
    expect(await subscriptions(`packageID=${silver.packageID}&packageCode=silver`)).toEqual([second.subscriptionID])
    expect(await refusal('/v1/subscriptions?packageCode=none')).toEqual([400, 'packageCode'])
    expect(await refusal('/v1/subscriptions?ComponentCode=none')).toEqual([400, 'ComponentCode'])
    expect(await refusal(`/v1/subscriptions?packageID=${gold.packageID}&packageCode=Silver`)).toEqual([
      400,
      'packageCode',
    ])
    expect(await found('/v1/packages?packageCode=gold-1', 'packageID')).toEqual([gold.packageID])
    expect(await found('/v1/packages?packageCode=none', 'packageID')).toEqual([])
    expect(await found('/v1/components?ComponentCode=SEATS', 'componentID')).toEqual([seats.componentID])
    expect(await found('/v1/countries?Code=de', 'countryID')).toEqual([276])
  })

  test('of invoices: currency, Reference, poNumber and what is written off', async () => {
    const invoice = async (poNumber: string, Reference?: string) =>
      added('/v1/invoices', {
        customerID: boston.customerID,
        poNumber,
        ...(Reference ? { Reference } : {}),
        Charges: [{ Line: 'work', UnitCostEx: 20 }],
      })
    const [one, two] = [await invoice('PO 7', 'R-7'), await invoice('PO 8')]
    const invoices = (query: string) => found(`/v1/invoices?${query}`, 'invoiceID')
    expect(await invoices('poNumber=PO%207')).toEqual([one.invoiceID])
    expect(await invoices('Reference=R-7')).toEqual([one.invoiceID])
    expect(await invoices(`Reference=I${two.invoiceID}`)).toEqual([two.invoiceID])
    expect(await invoices(`Reference=I${one.invoiceID}`)).toEqual([])
    expect(await invoices('CurrencyCode=EUR&poNumber=PO%207')).toEqual([])
    expect((await invoices('CurrencyCode=EUR')).length).toBe(1)
    const debt = {
      customerID: boston.customerID,
      Type: 'negative',
      AdjustmentType: 'bad_debt',
      Amount: 20,
      Ref: 'lost',
      Date: '2027-01-01',
      CurrencyCode: 'USD',
    }
    await added('/v1/adjustment/add', {
      ...debt,
      LinkedAllocations: [{ objectID: two.invoiceID, isAdjustment: false, AmtAllocated: 20 }],
    })
    expect(await invoices('isWrittenOff=true')).toEqual([two.invoiceID])
    expect(await invoices('isWrittenOff=false&poNumber=PO%208')).toEqual([])
    expect(await invoices('isWrittenOff=false')).not.toContain(two.invoiceID)
    expect(await refusal('/v1/invoices?isWrittenOff=maybe')).toEqual([400, 'isWrittenOff'])
    const kinds = (query: string) => found(`/v1/adjustment/list?type=all&${query}`, 'AdjustmentType')
    expect(await kinds('AdjustmentType=bad_debt')).toEqual(['bad_debt'])
    expect(await kinds('Ref=lost&AdjustmentType=refund')).toEqual([])
    expect(await kinds('Ref=lost')).toEqual(['bad_debt'])

    const payment = await added('/v1/payments', {
      customerID: boston.customerID,
      Amount: 5,
      Method: 'eft',
      Ref: 'wire 9',
      CurrencyCode: 'USD',
      Date: '2027-01-01',
      Allocations: [{ invoiceID: one.invoiceID, amountApplied: 5 }],
    })
    const payments = (query: string) => found(`/v1/payments?${query}`, 'paymentID')
    expect(await payments(`invoiceID=${one.invoiceID}`)).toEqual([payment.paymentID])
    expect(await payments(`invoiceID=${two.invoiceID}`)).toEqual([])
    expect(await payments('Ref=wire%209&Method=EFT&CurrencyCode=USD')).toEqual([payment.paymentID])
    expect(await payments('Method=cash')).toEqual([])
    expect(await refusal('/v1/payments?Method=barter')).toEqual([400, 'Method'])

    const note = await added(`/v1/invoices/${one.invoiceID}/credit`, {
      Amount: 3,
      Reason: 'late',
      CreditNumber: 'Cn-Late',
    })
    const notes = (query: string) => found(`/v1/credits?${query}`, 'creditNoteID')
    expect(await notes(`invoiceID=${one.invoiceID}`)).toEqual([note.creditNoteID])
    expect(await notes('CreditNumber=cn-late&CurrencyCode=USD')).toEqual([note.creditNoteID])
    expect(await notes(`invoiceID=${two.invoiceID}`)).toEqual([])

    const entries = (query: string) => found(`/v1/ledger/entries?${query}`, 'Event')
    expect(new Set(await entries('Account=bad_debt'))).toEqual(new Set(['bad_debt_written_off']))
    expect(new Set(await entries('Event=bad_debt_written_off'))).toEqual(new Set(['bad_debt_written_off']))
    expect(await entries(`RecordType=payment&RecordID=${payment.paymentID}`)).toContain('payment_recorded')
    expect(await entries('RecordType=payment&RecordID=99999999')).toEqual([])
    expect(new Set(await entries(`Number=${one.invoiceNum}`))).toEqual(new Set(['invoice_issued']))
    expect(await entries('Number=Cn-Late')).toContain('credit_note_made')
    expect(await entries('Number=nobody')).toEqual([])
    expect(await refusal('/v1/ledger/entries?RecordID=5')).toEqual([400, 'RecordType'])
    expect(await refusal('/v1/ledger/entries?RecordType=invoice')).toEqual([400, 'RecordID'])
    expect(await refusal('/v1/ledger/entries?Account=moon')).toEqual([400, 'Account'])

    const events = (query: string) => found(`/v1/events?${query}`, 'Type')
    expect(await events(`RecordID=${one.invoiceID}&type=invoice.issued`)).toEqual(['invoice.issued'])
    expect(await events(`RecordID=${payment.paymentID}&type=payment.created`)).toEqual(['payment.created'])
    expect(await events('RecordID=99999999')).toEqual([])
  })

  test('of recurring invoices and mails', async () => {
    const recurring = await added('/v1/recurring-invoices', {
      customerID: boston.customerID,
      Reference: 'Rent',
      StartDate: '2030-01-01',
      ...month,
      RecurInvoiceCharges: [{ Line: 'Rent', Qty: 1, UnitCostEx: 10 }],
    })
    const listed = (query: string) => found(`/v1/recurring-invoices?${query}`, 'recurInvoiceID')
    expect(await listed('Reference=Rent&comp_Status=future')).toEqual([recurring.recurInvoiceID])
    for (const status of ['Active', 'Cancelled', 'Expired']) expect(await listed(`comp_Status=${status}`)).toEqual([])
    await client.delete(`/v1/recurring-invoices/${recurring.recurInvoiceID}`)
    expect(await listed('comp_Status=Cancelled')).toEqual([recurring.recurInvoiceID])
    expect(await listed(`Reference=RI${recurring.recurInvoiceID}`)).toEqual([])
    expect(await found('/v1/outbox?Status=Queued&customerID=99999999', 'outboxID')).toEqual([])
    expect(await refusal('/v1/outbox?Status=Lost')).toEqual([400, 'Status'])
  })
})

describe('codes and references', () => {
  test('a Reference of a subscription is unique, kept by an edit that leaves it out, and cleared by null', async () => {
    const path = `/v1/subscriptions/${second.subscriptionID}`
    expect([first.Reference, second.Reference]).toEqual(['S-1', null])
    const taken = await client.post('/v1/subscriptions', {
      customerID: boston.customerID,
      packageCode: 'Silver',
      Reference: 'S-1',
      ...month,
    })
    expect([taken.status, taken.body.Errors[0].Field]).toEqual([409, 'Reference'])
    expect((await client.put(path, { Reference: 'S-1' })).status).toBe(409)
    expect((await client.put(path, { Reference: 'S-2' })).status).toBe(204)
    expect((await client.put(path, { poNumber: 'P' })).status).toBe(204)
    expect((await client.get(path)).body.Reference).toBe('S-2')
    expect((await client.put(path, { Reference: null })).status).toBe(204)
    expect((await client.get(path)).body.Reference).toBeNull()
  })

  test('codes are taken where identifiers are; both that disagree, and unknown ones, are 400 by name', async () => {
    const fields = async (reply: Promise<{ status: number; body: any }>) => {
      const { status, body } = await reply
      return [status, ...(body?.Errors ?? []).map(({ Field }: { Field: string }) => Field)]
    }
    const add = (body: object) =>
      fields(client.post('/v1/subscriptions/preview', { customerID: boston.customerID, ...month, ...body }))
    expect(await add({ packageCode: 'SILVER' })).toEqual([200])
    expect(await add({ packageCode: 'none' })).toEqual([400, 'packageCode'])
    expect(await add({ packageCode: 'Gold-1', packageID: silver.packageID })).toEqual([400, 'packageCode'])
    expect(await add({ packageCode: 'Silver', componentUsage: [{ ComponentCode: 'none' }, { NumUnits: 1 }] })).toEqual([
      400,
      'componentUsage[0].ComponentCode',
      'componentUsage[1].componentID',
    ])
    const path = `/v1/subscriptions/${first.subscriptionID}`
    const usage = (body: object) => fields(client.put(`${path}/components/recordusage`, body))
    expect(await usage({ ComponentCode: 'calls', NumUnits: 3 })).toEqual([204])
    expect(await usage({ componentUsage: [{ ComponentCode: 'Calls', NumUnits: 4 }] })).toEqual([204])
    expect(await usage({ ComponentCode: 'Calls', componentID: seats.componentID, NumUnits: 3 })).toEqual([
      400,
      'ComponentCode',
    ])
    expect(await usage({ componentUsage: [{ NumUnits: 4 }] })).toEqual([400, 'componentUsage[0].componentID'])
    const bulk = (entry: object) =>
      fields(
        client.post('/v1/usage', {
          Usage: [{ subscriptionID: first.subscriptionID, NumUnits: 1, UsageKey: JSON.stringify(entry), ...entry }],
        }),
      )
    expect(await bulk({ ComponentCode: 'CALLS' })).toEqual([201])
    expect(await bulk({ ComponentCode: 'none' })).toEqual([400, 'Usage[0].ComponentCode'])
    expect(await bulk({})).toEqual([400, 'Usage[0].componentID'])
    const reported = await client.get(`${path}/usage?ComponentCode=calls`)
    expect(reported.body.map(({ componentID }: { componentID: number }) => componentID)).toEqual(
      Array(3).fill(calls.componentID),
    )
    expect(await fields(client.put(`${path}/changepackage`, { packageCode: 'none', When: 'now' }))).toEqual([
      400,
      'packageCode',
    ])
  })
})
