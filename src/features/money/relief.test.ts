import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { invoiceOf, ledgerOf } from './money.testing.ts'

/** Reliefs of bad debt: the tax that comes back with what was written off, figure by figure. */

const service = await startTestService()

interface Debt {
  Amount: number
  /** Invoices with what of the bad debt is allocated to each. */
  to: [number, number][]
  Date: string
  TaxReliefDate?: string | null
}

/** A customer in a place with one tax, with an invoice of 1 October 2027 over 26.29 net; today is given. */
async function shop({ Perc = 0.23, nets = [26.29], today = '2027-10-20' } = {}) {
  const client = await service.newAccount()
  await client.put('/v1/clock', { Now: '2027-10-01' })
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoices: number[] = []
  for (const UnitCostEx of nets) invoices.push(await invoiceOf(client, customerID, { Charges: [{ UnitCostEx }] }))
  await client.put('/v1/clock', { Now: today })
  const bodyOf = ({ to, ...debt }: Debt) => ({
    customerID,
    Type: 'negative',
    AdjustmentType: 'bad_debt',
    Ref: 'lost',
    ...debt,
    LinkedAllocations: to.map(([objectID, AmtAllocated]) => ({ objectID, AmtAllocated, isAdjustment: false })),
  })
  const writeOff = async (debt: Debt): Promise<number> => {
    const reply = await client.post('/v1/adjustment/add', bodyOf(debt))
    expect(reply.status, reply.text).toBe(201)
    return reply.body.AdjustmentID
  }
  const edit = (AdjustmentID: number, debt: Debt) =>
    client.put('/v1/adjustment/edit', { ...bodyOf(debt), AdjustmentID })
  const changed = async (id: number, debt: Debt) => {
    const { status, text } = await edit(id, debt)
    expect(status, text).toBe(204)
  }
  const name = (id: number) => `type=negative&adjustmentID=${id}&customerID=${customerID}`
  const shown = async (id: number) => (await client.get(`/v1/adjustment/get?${name(id)}`)).body.adjustment
  const reliefDate = async (id: number): Promise<string | null> => (await shown(id)).TaxReliefDate?.slice(0, 10) ?? null
  const remove = (id: number) => client.delete(`/v1/adjustment/delete?${name(id)}`)
  return { client, customerID, invoices, bodyOf, writeOff, edit, changed, shown, reliefDate, remove }
}

type Shop = Awaited<ReturnType<typeof shop>>

/** Entries of bad debts and of their reliefs, in the order posted. */
const debtEntries = async ({ client }: Shop): Promise<string[]> =>
  (await ledgerOf(service, client)).filter((line) => line.includes('bad_debt'))

const isClean = async (client: TestClient) => expect(await differencesOf(service, client)).toEqual([])

/** An invoice of 32.34 with 6.05 of tax, of which 16.34 is written off on the 10th and relieved on the 12th. */
async function relieved() {
  const made = await shop()
  const [invoice] = made.invoices as [number]
  const debt: Debt = { Amount: 16.34, to: [[invoice, 16.34]], Date: '2027-10-10' }
  const id = await made.writeOff({ ...debt, TaxReliefDate: '2027-10-12' })
  return { ...made, invoice, debt, id }
}

const MADE = [
  '2027-10-10 bad_debt_written_off bad_debt→unapplied 1634',
  '2027-10-12 bad_debt_tax_relieved tax→bad_debt VAT 306',
]

describe('a relief takes the tax of a bad debt back', () => {
  test('of 16.34 of 32.34 with 6.05 tax, 3.06, on the day given', async () => {
    const { client, id, shown, ...made } = await relieved()
    expect(await debtEntries({ client, shown, ...made })).toEqual(MADE)
    expect((await shown(id)).TaxReliefDate).toBe('2027-10-12T00:00:00Z')
    await isClean(client)
  })

  test('of three bad debts of 0.40 on 1.01 and 0.19: 0.06, 0.07, 0.06', async () => {
    const made = await shop({ Perc: 0.19, nets: [1.01] })
    const [invoice] = made.invoices as [number]
    for (let count = 0; count < 3; count += 1)
      await made.writeOff({ Amount: 0.4, to: [[invoice, 0.4]], Date: '2027-10-10', TaxReliefDate: '2027-10-10' })
    const entries = (await debtEntries(made)).filter((line) => line.includes('relieved'))
    expect(entries.map((line) => Number(line.split(' ').at(-1)))).toEqual([6, 7, 6])
    await isClean(made.client)
  })

  test('given later by PUT; sent back as it was read it stays, and left out it stays', async () => {
    const made = await shop()
    const [invoice] = made.invoices as [number]
    const debt: Debt = { Amount: 16.34, to: [[invoice, 16.34]], Date: '2027-10-10' }
    const id = await made.writeOff(debt)
    expect(await made.reliefDate(id)).toBe(null)
    await made.changed(id, { ...debt, TaxReliefDate: '2027-10-12' })
    expect(await debtEntries(made)).toEqual(MADE)
    await made.client.put('/v1/account', { LockDate: '2027-10-19' })
    const { TaxReliefDate, allocations } = await made.shown(id)
    expect(allocations).toHaveLength(1)
    await made.changed(id, { ...debt, TaxReliefDate })
    await made.changed(id, debt)
    expect(await debtEntries(made)).toEqual(MADE)
    expect(await made.reliefDate(id)).toBe('2027-10-12')
    await isClean(made.client)
  })

  test('of each invoice as far as it is allocated there when the day is given, and of nothing else', async () => {
    const made = await shop({ nets: [26.29, 100] })
    const [a, b] = made.invoices as [number, number]
    const debt: Debt = { Amount: 60, to: [[a, 16.34]], Date: '2027-10-10' }
    const id = await made.writeOff({ ...debt, TaxReliefDate: '2027-10-12' })
    await made.changed(id, {
      ...debt,
      to: [
        [a, 16.34],
        [b, 30],
      ],
    })
    expect(await debtEntries(made)).toContain(MADE[1])
    expect((await debtEntries(made)).filter((line) => line.includes('relieved'))).toHaveLength(1)
    await made.changed(id, {
      ...debt,
      to: [
        [a, 16.34],
        [b, 30],
      ],
      TaxReliefDate: '2027-10-15',
    })
    // 30 × 23 ÷ 123 = 5.61. The relief of the first day ends today.
    expect((await debtEntries(made)).slice(2)).toEqual([
      '2027-10-15 bad_debt_tax_relieved tax→bad_debt VAT 306',
      '2027-10-15 bad_debt_tax_relieved tax→bad_debt VAT 561',
      '2027-10-20 bad_debt_tax_relieved_reversed bad_debt→tax VAT 306',
    ])
    await isClean(made.client)
  })

  test('counts for credits: what bad debt is allocated to an invoice cannot be credited, and what notes took back is not relieved', async () => {
    const made = await shop({ nets: [149] })
    const [invoice] = made.invoices as [number]
    const { client, customerID } = made
    const credit = { customerID, CurrencyCode: 'USD', Date: '2027-10-05' }
    const note = async (CreditNumber: string, amountApplied: number) => {
      const Allocations = [{ invoiceID: invoice, amountApplied }]
      const { status, text } = await client.post('/v1/credits', { ...credit, CreditNumber, Amount: 150, Allocations })
      expect(status, text).toBe(201)
    }
    await note('K-1', 50)
    // 183.27 with 34.27: after 50.00 (9.35) a relief of 83.27 takes round(133.27 × 34.27 ÷ 183.27) − 9.35 = 15.57.
    await made.writeOff({ Amount: 83.27, to: [[invoice, 83.27]], Date: '2027-10-10', TaxReliefDate: '2027-10-10' })
    expect((await debtEntries(made)).at(-1)).toBe('2027-10-10 bad_debt_tax_relieved tax→bad_debt VAT 1557')
    await note('K-2', 50)
    const entries = (await ledgerOf(service, client)).filter((line) => line.includes('tax_taken_back'))
    // The rest takes the rest: 34.27 − 9.35 − 15.57 = 9.35.
    expect(entries.map((line) => Number(line.split(' ').at(-1)))).toEqual([935, 935])
    await isClean(client)
  })
})

describe('a relief ends as an event of the day on which it is done', () => {
  const ENDED = '2027-10-20 bad_debt_tax_relieved_reversed bad_debt→tax VAT 306'

  test('where less is allocated to its invoice: what remains is relieved anew that day', async () => {
    const { id, debt, invoice, ...made } = await relieved()
    await made.changed(id, { ...debt, Amount: 6.34, to: [[invoice, 6.34]] })
    expect((await debtEntries(made)).slice(2)).toEqual([
      '2027-10-10 bad_debt_written_off_reversed unapplied→bad_debt 1634',
      '2027-10-10 bad_debt_written_off bad_debt→unapplied 634',
      '2027-10-20 bad_debt_tax_relieved tax→bad_debt VAT 119',
      ENDED,
    ])
    expect(await made.reliefDate(id)).toBe('2027-10-20')
    await isClean(made.client)
  })

  test('where its money moves to another invoice: nothing remains', async () => {
    const made = await shop({ nets: [26.29, 26.29] })
    const [a, b] = made.invoices as [number, number]
    const debt: Debt = { Amount: 16.34, to: [[a, 16.34]], Date: '2027-10-10' }
    const id = await made.writeOff({ ...debt, TaxReliefDate: '2027-10-12' })
    await made.changed(id, { ...debt, to: [[b, 16.34]] })
    expect((await debtEntries(made)).slice(2)).toEqual([ENDED])
    expect(await made.reliefDate(id)).toBe(null)
    await isClean(made.client)
  })

  test('by null', async () => {
    const { id, debt, ...made } = await relieved()
    await made.changed(id, { ...debt, TaxReliefDate: null })
    expect((await debtEntries(made)).slice(2)).toEqual([ENDED])
    expect(await made.reliefDate(id)).toBe(null)
    await made.changed(id, { ...debt, TaxReliefDate: '2027-10-12' })
    expect((await debtEntries(made)).slice(3)).toEqual([MADE[1]])
    await isClean(made.client)
  })

  test('by DELETE, while the bad debt itself is taken back as of its own day', async () => {
    const { id, debt: _, ...made } = await relieved()
    expect((await made.remove(id)).status).toBe(204)
    expect((await debtEntries(made)).slice(2)).toEqual([
      '2027-10-10 bad_debt_written_off_reversed unapplied→bad_debt 1634',
      ENDED,
    ])
    await isClean(made.client)
  })

  test('by another day, on which it is made anew', async () => {
    const { id, debt, ...made } = await relieved()
    await made.changed(id, { ...debt, TaxReliefDate: '2027-10-15' })
    expect((await debtEntries(made)).slice(2)).toEqual(['2027-10-15 bad_debt_tax_relieved tax→bad_debt VAT 306', ENDED])
    await isClean(made.client)
  })
})

test('October locked, 10.00 comes in on 5 December: 3.06 ended, 1.19 made, December has 1.87 more tax, October stays', async () => {
  const { id, debt, invoice, client, customerID, ...made } = await relieved()
  await client.put('/v1/clock', { Now: '2027-12-05' })
  await client.put('/v1/account', { LockDate: '2027-10-31' })
  const before = (await ledgerOf(service, client)).length
  const statement = async () =>
    (await client.get(`/v1/customers/${customerID}/statement?from=2027-10-01&to=2027-10-31`)).body
  const october = await statement()
  await made.changed(id, { ...debt, Amount: 6.34, to: [[invoice, 6.34]] })
  const paid = { customerID, Amount: 10, CurrencyCode: 'USD', Date: '2027-12-05', Method: 'eft' }
  const Allocations = [{ invoiceID: invoice, amountApplied: 10 }]
  expect((await client.post('/v1/payments', { ...paid, Allocations })).status).toBe(201)
  const posted = (await ledgerOf(service, client)).slice(before)
  expect(posted.filter((line) => line.includes('bad_debt'))).toEqual([
    '2027-12-05 bad_debt_recovered unapplied→bad_debt 1000',
    '2027-12-05 bad_debt_tax_relieved tax→bad_debt VAT 119',
    '2027-12-05 bad_debt_tax_relieved_reversed bad_debt→tax VAT 306',
  ])
  expect(posted.filter((line) => line.startsWith('2027-12-05'))).toEqual(posted)
  expect((await statement()).ClosingBalance).toBe(october.ClosingBalance)
  const december = (await client.get(`/v1/customers/${customerID}/statement?from=2027-12-01&to=2027-12-31`)).body
  expect(december.Movements.map(({ Type, Debit, Credit }: any) => [Type, Debit, Credit])).toEqual([
    ['payment', null, 10],
    ['bad_debt_recovered', 10, null],
  ])
  await isClean(client)
  // Another 6.34 of the same: nothing is left to relieve.
  await made.changed(id, { ...debt, Amount: 1, to: [] })
  expect((await ledgerOf(service, client)).slice(before + posted.length)).toEqual([
    '2027-12-05 allocation_made_reversed receivable→unapplied 634',
    '2027-12-05 bad_debt_recovered unapplied→bad_debt 534',
    '2027-12-05 bad_debt_tax_relieved_reversed bad_debt→tax VAT 119',
  ])
  await isClean(client)
  const raised = await made.edit(id, { ...debt, Amount: 2, to: [] })
  expect([raised.status, raised.body.Errors[0].Code]).toEqual([409, 'books_locked'])
  const moved = await made.edit(id, { ...debt, Amount: 0.5, Date: '2027-12-01', to: [] })
  expect([moved.status, moved.body.Errors[0].Code]).toEqual([409, 'books_locked'])
  expect((await made.remove(id)).status).toBe(409)
})

describe('bad input names the field', () => {
  test.each([
    ['the future', { TaxReliefDate: '2027-10-21' }, 400, 'relief_in_future'],
    ['a day before Date', { TaxReliefDate: '2027-10-09' }, 400, 'relief_before_date'],
    ['no day', { TaxReliefDate: 'soon' }, 400, 'invalid_date'],
    ['a credit note', { TaxReliefDate: '2027-10-12', AdjustmentType: 'credit_note' }, 400, 'relief_of_bad_debt'],
    ['a locked day', { TaxReliefDate: '2027-10-12', Date: '2027-10-12', lock: '2027-10-12' }, 409, 'books_locked'],
  ])('%s', async (_, { lock, ...more }: any, status, code) => {
    const made = await shop()
    const debt: Debt = { Amount: 16.34, to: [[made.invoices[0] as number, 16.34]], Date: '2027-10-10' }
    if (lock) await made.client.put('/v1/account', { LockDate: lock })
    const before = await ledgerOf(service, made.client)
    const reply = await made.client.post('/v1/adjustment/add', { ...made.bodyOf(debt), ...more })
    expect([reply.status, reply.body.Errors.map(({ Code }: any) => Code)]).toEqual([status, [code]])
    expect(await ledgerOf(service, made.client)).toEqual(before)
  })

  test('a locked day of a bad debt that is locked too', async () => {
    const made = await shop()
    const debt: Debt = { Amount: 16.34, to: [[made.invoices[0] as number, 16.34]], Date: '2027-10-10' }
    const id = await made.writeOff(debt)
    await made.client.put('/v1/account', { LockDate: '2027-10-15' })
    const locked = await made.edit(id, { ...debt, TaxReliefDate: '2027-10-12' })
    expect([locked.status, locked.body.Errors[0].Code, locked.body.Errors[0].Field]).toEqual([
      409,
      'books_locked',
      'TaxReliefDate',
    ])
    await made.changed(id, { ...debt, TaxReliefDate: '2027-10-16' })
    const again = await made.edit(id, { ...debt, TaxReliefDate: '2027-10-15' })
    expect([again.status, again.body.Errors[0].Code]).toEqual([409, 'books_locked'])
    expect(await made.reliefDate(id)).toBe('2027-10-16')
  })

  test('a day before its invoice, and a bad debt that moves behind its relief', async () => {
    const made = await shop({ nets: [] })
    const invoice = await invoiceOf(made.client, made.customerID, { InvoiceDate: '2027-10-15' })
    const debt: Debt = { Amount: 10, to: [[invoice, 10]], Date: '2027-10-10' }
    const early = await made.client.post('/v1/adjustment/add', made.bodyOf({ ...debt, TaxReliefDate: '2027-10-12' }))
    expect([early.status, early.body.Errors[0].Code]).toEqual([409, 'relief_before_invoice'])
    const id = await made.writeOff({ ...debt, TaxReliefDate: '2027-10-16' })
    const moved = await made.edit(id, { ...debt, Date: '2027-10-18' })
    expect([moved.status, moved.body.Errors[0].Code]).toEqual([409, 'relief_before_debt'])
  })
})
