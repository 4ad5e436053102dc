import { describe, expect, test } from 'vitest'
import { demoClient, type Send } from '../../src/demo/client.ts'
import { liveStory } from '../../src/demo/story.ts'
import { addMonths, type IsoDate } from '../../src/kernel/calendar.ts'
import { midnightOf } from '../../src/kernel/zone.ts'
import { startTestService } from '../support/app.ts'

/** The story of the demo, on days that were chosen for being awkward. */

const service = await startTestService()

async function demo(lastDay: IsoDate, wish: { seed: number; customers: number }) {
  const firstDay = addMonths(lastDay, -12)
  const account = await service.newAccount({ currency: 'EUR', clockAt: midnightOf(firstDay, 'Europe/Dublin') })
  const send: Send = (method, path, body) => account.request(method, path, body)
  const client = demoClient(send)
  const moment = `${lastDay}T15:00:00.000Z`
  const outcome = await liveStory(
    client,
    { ...wish, firstDay, lastDay, now: moment },
    { lived: () => {}, lastDayComes: () => {} },
  )
  return { outcome, client, firstDay, moment }
}

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
      const { outcome, client, moment } = await demo(day, { seed, customers: 14 })
      expect(outcome.failed).toEqual([])
      expect(await client.all('/v1/customers')).toHaveLength(14)
      expect(await client.get('/v1/clock')).toEqual({ Now: moment })
      const invoices = await client.all('/v1/invoices')
      expect(invoices.length).toBeGreaterThan(40)
      expect(invoices.filter(({ InvoiceDate }) => InvoiceDate.slice(0, 10) > day)).toEqual([])
    },
  )

  test('shows cards that are charged and declined, retries, suspensions, customers who are back, and refunds', async () => {
    const { client } = await demo('2027-11-21', { seed: 1, customers: 60 })
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

  test('is the same for the same seed and days, number by number, and another for another', async () => {
    const told = async (seed: number) => {
      const { client } = await demo('2027-06-30', { seed, customers: 6 })
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
