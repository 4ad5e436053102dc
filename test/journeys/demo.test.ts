import { describe, expect, test } from 'vitest'
import { STAIRSTEP_NAME } from '../../src/demo/catalogue.ts'
import { reconcileMonths } from '../../src/features/reports/reconciliation.testing.ts'
import { startTestService } from '../support/app.ts'
import { demo } from './demo.testing.ts'

/** The story of the demo, on days that were chosen for being awkward. */

const service = await startTestService()

/** The long story, which several tests look at; it is lived once. */
let long: ReturnType<typeof demo> | undefined
const longStory = () => (long ??= demo(service, '2027-11-21', { seed: 1, customers: 60 }))

describe('the story of the demo', () => {
  test.each([
    ['2027-11-21', 1],
    ['2028-02-29', 2],
    ['2027-03-31', 3],
    ['2027-01-02', 4],
    ['2027-10-31', 5],
  ])(
    'is lived through up to %s with seed %i, without a refusal or a record that cannot be billed',
    async (day, seed) => {
      const { outcome, client, moment } = await demo(service, day, { seed, customers: 14 })
      expect(outcome.failed).toEqual([])
      expect(await client.all('/v1/customers')).toHaveLength(14)
      expect(await client.get('/v1/clock')).toEqual({ Now: moment, Until: null, billingRunID: null })
      const invoices = await client.all('/v1/invoices')
      expect(invoices.length).toBeGreaterThan(40)
      expect(invoices.filter(({ InvoiceDate }) => InvoiceDate.slice(0, 10) > day)).toEqual([])
    },
  )

  test('shows cards that are charged and declined, retries, suspensions, customers who are back, and refunds', async () => {
    const { client } = await longStory()
    const payments = await client.all('/v1/payments')
    const tried = payments.filter(({ Method, Ref }) => Method === 'credit_card' && Ref?.startsWith('Invoices '))
    expect(tried.filter(({ Status }) => Status === 'Allocated').length).toBeGreaterThan(50)
    expect(tried.filter(({ Status }) => Status === 'Failed').length).toBeGreaterThan(10)
    const invoices = await client.all('/v1/invoices')
    expect(invoices.some(({ NumTries, Status }) => NumTries > 1 && Status === 'Paid')).toBe(true)
    const types = new Set((await client.all('/v1/events')).map(({ Type }) => Type))
    expect([...types]).toEqual(
      expect.arrayContaining(['payment_refund.succeeded', 'customer.suspended', 'customer.unsuspended']),
    )
  })

  test('shows debits by files of NACHA: batches, a return that is debited again, and an account that the bank corrected', async () => {
    const { client } = await longStory()
    const batches = await client.all('/v1/batches')
    expect(batches.filter(({ State }) => State === 'completed').length).toBeGreaterThan(10)
    expect(batches.filter(({ State, isDayPassed }) => State === 'failed' || isDayPassed)).toEqual([])
    const files = await client.all('/v1/resultfiles')
    const kinds = new Set<string>()
    for (const { resultFileID, Format } of files) {
      expect(Format).toBe('nacha')
      for (const { Kind, Code, State } of (await client.get(`/v1/resultfiles/${resultFileID}`)).Lines)
        kinds.add(`${Kind} ${Code} ${State}`)
    }
    // Returns that were applied are counted; a line is kept only of what they did not do.
    expect([...kinds]).toEqual(['change C01 applied'])
    const sum = (field: string) => files.reduce((total, file) => total + file[field], 0)
    expect([sum('Unmatched'), sum('Payments')]).toEqual([0, sum('Applied') / 2])
    const invoices = await client.all('/v1/invoices')
    expect(
      invoices.some(
        ({ CollectionMethod, NumTries, Status }) =>
          CollectionMethod === 'debit_order' && NumTries > 1 && Status === 'Paid',
      ),
    ).toBe(true)
  })

  test('shows papers in German, reverse charge, a stairstep, and credit notes that were made for an invoice and sent', async () => {
    const { client } = await longStory()
    const invoices = await client.all('/v1/invoices')
    const isReversed = ({ Taxes }: Record<string, any>) =>
      Taxes.some(({ Category }: { Category: string }) => Category === 'AE')
    const reversed = invoices.filter(isReversed)
    expect(reversed.some(({ Customer }) => Customer.Locale === 'de')).toBe(true)
    expect(reversed.every(({ Customer }) => Customer.isCompany && Customer.VatNoStatus === 'valid')).toBe(true)
    const lines = invoices.flatMap(({ Charges }) => Charges.map(({ Line }: { Line: string }) => Line))
    expect(lines).toContain(STAIRSTEP_NAME)
    const notes = await client.all('/v1/credits')
    expect(notes.some(({ isSent, Reason, invoiceID }) => isSent && Reason !== null && invoiceID !== null)).toBe(true)
  })

  test('has taxes of every month that come to the ledger; taxed and untaxed sales of October together are those of the customers', async () => {
    const { account, client, firstDay } = await demo(service, '2027-11-21', { seed: 1, customers: 20 })
    await reconcileMonths(account, `${firstDay.slice(0, 8)}01`, 13)
    const october = '/v1/reports/tax?from=2027-10-01&to=2027-10-31&currency=EUR'
    const rates = await client.get(october)
    const sales = await client.get(`${october}&by=customer`)
    const cents = (rows: readonly Record<string, number>[], field: string): number =>
      rows.reduce((sum, row) => sum + Math.round((row[field] as number) * 100), 0)
    const taxed = rates.filter(({ Category }: { Category: string | null }) => Category === 'S')
    expect(cents(taxed, 'NetBase')).toBeGreaterThan(0)
    expect(cents(rates, 'NetBase')).toBeGreaterThan(cents(taxed, 'NetBase'))
    expect(cents(rates, 'NetBase')).toBe(cents(sales, 'NetTurnover'))
  })

  test('is the same for the same seed and days, number by number, and another for another', async () => {
    const told = async (seed: number) => {
      const { client } = await demo(service, '2027-06-30', { seed, customers: 6 })
      const invoices = await client.all('/v1/invoices')
      return invoices.map(({ invoiceNum, InvoiceDate, Name, Total, CurrencyCode, Charges }) => ({
        told: [invoiceNum, InvoiceDate, Name, Total, CurrencyCode],
        charges: Charges.map(({ Line, Descrip, AmountEx }: Record<string, unknown>) => [Line, Descrip, AmountEx]),
      }))
    }
    const first = await told(7)
    expect(await told(7)).toEqual(first)
    expect(await told(8)).not.toEqual(first)
  })
})
