import { asOwner, settle } from './measure/database.ts'
import { median, spread, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { call } from './neighbours.ts'

/** Crediting invoices by one of their lines, beside recording payments that are allocated to as many other invoices: CPU of service and database. */

const COUNT = 1_000
const LINES = 5
const OF_PAYMENT_MOST = 2

interface Line {
  invoiceID: number
  Charges: { chargeID: number }[]
}

interface Sample {
  /** CPU-milliseconds each. */
  payment: number
  credit: number
}

async function addInvoices(shop: Parameters<typeof call>[0], customerID: number, count: number): Promise<Line[]> {
  const Charges = Array.from({ length: LINES }, (_, n) => ({ Line: `Line ${n + 1}`, Qty: 1, UnitCostEx: 100 }))
  const invoices: Line[] = []
  for (let n = 0; n < count; n += 1) {
    const { invoiceID } = await call<Line>(shop, 'POST', '/v1/invoices', { customerID, Charges })
    invoices.push(await call<Line>(shop, 'GET', `/v1/invoices/${invoiceID}`))
  }
  return invoices
}

async function measured(service: Service, count: number, work: (place: number) => Promise<unknown>): Promise<number> {
  const before = service.nodeCpu() + service.databaseCpu()
  for (let place = 0; place < count; place += 1) await work(place)
  return ((service.nodeCpu() + service.databaseCpu() - before) * 1000) / count
}

async function sample(service: Service, count: number): Promise<Sample> {
  const shop = { port: service.port, authorization: service.authorization }
  const { customerID } = await call<{ customerID: number }>(shop, 'POST', '/v1/customers', {
    Name: 'Acme',
    isCompany: true,
  })
  const [paid, credited] = [await addInvoices(shop, customerID, count), await addInvoices(shop, customerID, count)]
  // As autovacuum does within a minute: without figures of the tables their plans are guesses.
  await asOwner(service.connection, (client) => client.query('analyze'))
  await settle(service.connection)
  const today = new Date().toISOString().slice(0, 10)
  const payment = await measured(service, count, (place) => {
    const Allocations = [{ invoiceID: paid[place]!.invoiceID, amountApplied: 10 }]
    const body = { customerID, Amount: 10, CurrencyCode: 'USD', Date: today, Method: 'eft', Allocations }
    return call(shop, 'POST', '/v1/payments', body)
  })
  const credit = await measured(service, count, (place) => {
    const { invoiceID, Charges } = credited[place]!
    const Lines = [{ chargeID: Charges[0]!.chargeID, AmountEx: 10 }]
    return call(shop, 'POST', `/v1/invoices/${invoiceID}/credit`, { Lines, Reason: 'Late delivery' })
  })
  return { payment, credit }
}

export async function benchCredit({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  const count = isSmoke ? 10 : COUNT
  try {
    await tellMachine(service.connection)
    const shop = { port: service.port, authorization: service.authorization }
    await call(shop, 'POST', '/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.2 }] })
    await sample(service, Math.min(count, 100))
    const samples: Sample[] = []
    for (let turn = 0; turn < times; turn += 1) samples.push(await sample(service, count))
    tellTable(
      [`${count} each, CPU-ms of service and database`, ''],
      [
        ['payment with an allocation', spread(samples.map(({ payment }) => payment))],
        ['credit by a line', spread(samples.map(({ credit }) => credit))],
      ],
    )
    const ratio = median(samples.map(({ payment, credit }) => credit / payment))
    tellVerdicts(
      [
        {
          goal: `a credit by a line within ${OF_PAYMENT_MOST} payments`,
          reached: `${ratio.toFixed(2)} payments`,
          isMet: ratio <= OF_PAYMENT_MOST,
        },
      ],
      { isSmoke },
    )
  } finally {
    await service.stop()
  }
}
