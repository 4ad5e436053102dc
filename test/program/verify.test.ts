import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { call, runProgram, serve, startedFolder } from './program.ts'

test('verify tells of a healthy deployment that nothing differs, and of a changed amount what should stand there', async () => {
  const DATA_DIR = startedFolder()
  const env = { DATA_DIR }
  const service = await serve(env, ['--no-worker'])
  const { body: customer } = await call(service, service, '/v1/customers', { Name: 'Ann', LastName: 'Lee' })
  const Charges = [{ Line: 'Work', UnitCostEx: 12.5, Qty: 2 }]
  const { body: invoice } = await call(service, service, '/v1/invoices', { customerID: customer.customerID, Charges })
  const day = invoice.InvoiceDate.slice(0, 10)
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
      `Account 1, invoice ${invoice.invoiceID} of customer ${customer.customerID}: entry invoice_issued says 25.00 USD receivable → revenue on ${day}, should say 24.00 USD receivable → revenue on ${day}.`,
      'Account 1: 1 invoice, 3 differences.\n',
    ].join('\n'),
  })
  const told = await runProgram(['verify', '--json'], env)
  expect(told.code).toBe(1)
  expect(JSON.parse(told.out)).toEqual([
    {
      AccountID: 1,
      Invoices: 1,
      Differences: 3,
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
        expect.objectContaining({ Check: 'ledger entries', What: 'entry invoice_issued' }),
      ],
      More: [],
    },
    { AccountID: other, Invoices: 0, Differences: 0, List: [], More: [] },
  ])
  expect(await runProgram(['verify', '--account', String(other)], env)).toMatchObject({ code: 0 })
  expect(await runProgram(['verify', '--account', '999'], env)).toMatchObject({ code: 1, out: '' })
  expect(await runProgram(['verify', '--account', 'first'], env)).toMatchObject({ code: 2, out: '' })
})

test('verify names three thousand differences of one kind and counts the rest', async () => {
  const DATA_DIR = startedFolder()
  const env = { DATA_DIR }
  await serve(env, ['--no-worker'])
  const database = new pg.Client(connectionTo(join(DATA_DIR, 'postgres')))
  await database.connect()
  await database.query(
    `insert into perennial.customer_totals (account_id, customer_id, currency, receivable_minor)
     select 1, n, 'USD', 100 from generate_series(1, 3007) n`,
  )
  await database.end()
  const { code, out } = await runProgram(['verify'], env)
  expect(code).toBe(1)
  expect(out.match(/: receivable says/g)).toHaveLength(3000)
  expect(out).toContain('Account 1, customer totals, receivable: and 7 more of this kind.\n')
  expect(out).toMatch(/Account 1: 0 invoices, [1-9]\d* differences\.\n$/)
  const [told] = JSON.parse((await runProgram(['verify', '--json'], env)).out)
  expect(told.More).toContainEqual({ Check: 'customer totals', What: 'receivable', Count: 7 })
})

test('a database that was made read-only is named so in one sentence', async () => {
  const DATA_DIR = startedFolder()
  const env = { DATA_DIR }
  await serve(env, ['--no-worker'])
  const database = new pg.Client(connectionTo(join(DATA_DIR, 'postgres')))
  await database.connect()
  await database.query('alter database perennial set default_transaction_read_only = on')
  await database.end()
  for (const command of [['verify'], ['key', 'create', '--name', 'x', '--account', '1']]) {
    const { code, err } = await runProgram(command, env)
    expect([code, err]).toEqual([1, expect.stringMatching(/^The database in \S+ is read-only: [^\n]+\n$/)])
  }
})
