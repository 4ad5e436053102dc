import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { call, runProgram, serve, testFolder } from './program.ts'

test('verify tells of a healthy deployment that nothing differs, and of a changed amount what should stand there', async () => {
  const DATA_DIR = testFolder()
  const env = { DATA_DIR }
  const service = await serve(env)
  const { body: customer } = await call(service, service, '/v1/customers', { Name: 'Ann', LastName: 'Lee' })
  const Charges = [{ Line: 'Work', UnitCostEx: 12.5, Qty: 2 }]
  const { body: invoice } = await call(service, service, '/v1/invoices', { customerID: customer.customerID, Charges })
  const { AccountID: other } = JSON.parse((await runProgram(['account', 'create', '--json'], env)).out)

  expect(await runProgram(['verify'], env)).toMatchObject({
    code: 0,
    out: `Account 1: 1 invoice, 0 differences.\nAccount ${other}: 0 invoices, 0 differences.\n`,
    err: '',
  })
  const database = new pg.Client(connectionTo(join(DATA_DIR, 'postgres')))
  await database.connect()
  await database.query('update perennial.invoices set total_minor = 2400')
  await database.end()

  expect(await runProgram(['verify', '--account', '1'], env)).toMatchObject({
    code: 1,
    out: [
      `Account 1, invoice ${invoice.invoiceID} of customer ${customer.customerID}: total says 24.00 USD, should say 25.00 USD.`,
      `Account 1, customer ${customer.customerID}: receivable says 25.00 USD, should say 24.00 USD.`,
      'Account 1: 1 invoice, 2 differences.\n',
    ].join('\n'),
  })
  const told = await runProgram(['verify', '--json'], env)
  expect(told.code).toBe(1)
  expect(JSON.parse(told.out)).toEqual([
    {
      AccountID: 1,
      Invoices: 1,
      Differences: 2,
      List: [
        {
          Check: 'invoices',
          customerID: customer.customerID,
          RecordType: 'invoice',
          RecordID: invoice.invoiceID,
          What: 'total',
          Says: '24.00 USD',
          Should: '25.00 USD',
        },
        expect.objectContaining({ Check: 'customer totals', What: 'receivable' }),
      ],
    },
    { AccountID: other, Invoices: 0, Differences: 0, List: [] },
  ])
  expect(await runProgram(['verify', '--account', String(other)], env)).toMatchObject({ code: 0 })
  expect(await runProgram(['verify', '--account', '999'], env)).toMatchObject({ code: 1, out: '' })
  expect(await runProgram(['verify', '--account', 'first'], env)).toMatchObject({ code: 2, out: '' })
})
