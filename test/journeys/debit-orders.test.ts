import { expect, test } from 'vitest'
import { addAccount, bankAccount, debitShop } from '../../src/features/collection/debit-shop.testing.ts'
import { startTestService } from '../support/app.ts'
import { differencesOf } from '../support/shop.ts'

/** A month of debit orders in a moved clock: the sandbox submits its batches on its own, and its book says what came of them. */

const service = await startTestService()

test('a month of debit orders: settled, tried again without money to a suspension, and returned after ten days', async () => {
  const shop = await debitShop(service, { settings: { AutoSubmit: true }, clockAt: '2027-01-25T08:00:00.000Z' })
  const { client, customerID, read, move, attempts, batches, mails } = shop
  const customer = async (Name: string, AccountNumber: string) => {
    const added = await client.post('/v1/customers', {
      Name,
      LastName: 'L',
      Email: `${Name}@example.com`,
      PaymentMethod: 'debit_order',
    })
    await addAccount(client, added.body.customerID, bankAccount('debit_order', { AccountNumber }))
    return added.body.customerID as number
  }
  const invoice = async (of: number, amount: number) => {
    const body = { customerID: of, Charges: [{ UnitCostEx: amount }], DueDate: '2027-02-01' }
    return (await client.post('/v1/invoices', body)).body.invoiceID as number
  }
  const [poor, returning] = [await customer('Poor', '62009995'), await customer('Returning', '62009968')]
  const [paid, unpaid, lost] = [await invoice(customerID, 100), await invoice(poor, 60), await invoice(returning, 40)]

  // Wanted on Monday 1 February: two bank days before, on Thursday, all three enter one batch.
  await move('2027-01-27')
  expect(await batches()).toEqual([])
  await move('2027-01-28')
  expect(await batches()).toEqual(['02-01 open 3 200.00'])
  expect(await read(paid)).toMatchObject({ Status: 'Pending', NumTries: 0, NextTryDate: '2027-02-01T00:00:00Z' })

  // Submitted on its own on its last day, which is that of the debit; the answers come the day after.
  await move('2027-02-01')
  expect(await batches()).toEqual(['02-01 submitted 3 200.00'])
  expect(await read(paid)).toMatchObject({ Status: 'Pending', NumTries: 1, NextTryDate: null })
  await move('2027-02-02')
  expect(await batches()).toEqual(['02-01 completed 3 200.00'])
  expect(await read(paid)).toMatchObject({ Status: 'Paid', NumTries: 1 })
  expect(await read(lost)).toMatchObject({ Status: 'Paid' })
  expect(await read(unpaid)).toMatchObject({ Status: 'Past Due', NumTries: 1, NextTryDate: '2027-02-05T00:00:00Z' })

  // Each step is counted from the day its answer was known: wanted on 5, 10 and 18 February.
  await move('2027-02-28')
  expect((await attempts(unpaid)).map(({ Date, Class }) => `${Date.slice(5, 10)} ${Class}`)).toEqual([
    '02-01 insufficient_funds',
    '02-05 insufficient_funds',
    '02-10 insufficient_funds',
    '02-18 insufficient_funds',
  ])
  expect((await client.get(`/v1/customers/${poor}`)).body).toMatchObject({ comp_status: 'Suspended' })

  // Ten days after it was paid the bank took the money back: no further try, but the steps go on by day.
  expect(await attempts(lost)).toMatchObject([{ Outcome: 'returned', Class: 'refunded_late' }])
  expect(await read(lost)).toMatchObject({ Status: 'Past Due', NumTries: 1, NextTryDate: null })
  expect((await client.get(`/v1/customers/${returning}`)).body).toMatchObject({ comp_status: 'Suspended' })
  expect((await mails()).toSorted()).toEqual([
    '02-02 payment_unsuccessful',
    '02-06 warning',
    '02-11 final_warning',
    '02-12 payment_unsuccessful',
    '02-15 warning',
    '02-19 account_suspended',
    '02-19 final_warning',
    '02-26 account_suspended',
  ])
  expect(await batches()).toEqual([
    '02-01 completed 3 200.00',
    '02-05 completed 1 60.00',
    '02-10 completed 1 60.00',
    '02-18 completed 1 60.00',
  ])
  expect(await differencesOf(service, client)).toEqual([])
})
