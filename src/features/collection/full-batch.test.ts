import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { onReturn } from '../../duties.ts'
import { addAccount, bankAccount, debitShop } from './debit-shop.testing.ts'
import { collectionDuty } from './duty.ts'

/** More lines of a day than one batch holds, made by two workers at once. */

const realClock = () => Date.parse('2027-02-01T08:00:00Z')
const service = await startTestService({ now: realClock })
const deps = { db: service.db, log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }), realClock }

const CUSTOMERS = 3
const EACH = 167

test('501 invoices of a day are 500 lines of one batch and one of the next, each of them once', async () => {
  const { client, invoice, batches, tokens } = await debitShop(service, { isManual: true, clockAt: null })
  for (let n = 1; n <= CUSTOMERS; n += 1) {
    const wish = { Name: `Acme ${n}`, isCompany: true, PaymentMethod: 'debit_order', PaymentTermDays: 0 }
    const { customerID } = (await client.post('/v1/customers', wish)).body
    await addAccount(client, customerID, bankAccount('debit_order', { AccountNumber: `6200123${n}` }))
    for (let m = 1; m <= EACH; m += 1) await invoice(m, { customerID })
  }
  await Promise.all([1, 2].map(() => collectionDuty({ ...service.calling, onReturn }).run(deps, () => {})))
  // Three times the sum of 1 to 167, which is 14,028.
  const found = await batches()
  expect(found.map((text) => text.replace(/ [\d.]+$/, '')).sort()).toEqual(['02-03 open 1', '02-03 open 500'])
  const payments: { paymentID: number; Amount: number }[] = []
  for (const token of await tokens()) payments.push(...(await client.get(`/v1/batches/${token}`)).body.Payments)
  expect(payments.reduce((sum, { Amount }) => sum + Amount, 0)).toBe(42_084)
  const listed: any[] = []
  for (let page = 1; page <= 6; page += 1)
    listed.push(...(await client.get(`/v1/payments?page_size=100&page=${page}`)).body)
  const paid = listed.flatMap(({ Allocations }) => Allocations.map(({ invoiceID }: any) => invoiceID))
  expect([listed.length, new Set(paid).size]).toEqual([501, 501])
  expect(await differencesOf(service, client)).toEqual([])
})
