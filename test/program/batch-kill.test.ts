import { expect, test } from 'vitest'
import { addBankDays } from '../../src/kernel/bank-days.ts'
import { differencesOfBook } from '../support/sandbox-book.ts'
import { type Row, serveForeignShop } from './foreign-shop.ts'
import { runProgram, serve, startProgram } from './program.ts'

/**
 * A batch is built once, whatever is killed while it is. A lock of the test holds worker and service at the place at which they are
 * killed.
 */

const LINES = 12

async function shop() {
  const served = await serveForeignShop()
  const { first, authorization } = served
  const send = async (method: string, path: string, body?: object, to = first) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(to.address + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await response.text()
    expect(response.status, `${method} ${path} ${text}`).toBeLessThan(300)
    return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text
  }
  return { ...served, send }
}

type Shop = Awaited<ReturnType<typeof shop>>

/** A batch of a gateway with a line of each of some customers, who owe 100 and 101 and so on. */
async function filled({ send }: Shop, gatewayType: 'sandbox' | 'manual') {
  const gateway =
    gatewayType === 'manual'
      ? await send('POST', '/v1/gateways', { GatewayType: 'manual', isActive: true })
      : (await send('GET', '/v1/gateways'))[0]
  const today = new Date().toISOString().slice(0, 10)
  const ActionDate = addBankDays('weekdays', today, 4)
  const { CurrencyCode } = (await send('GET', '/v1/currencies'))[0]
  const head = { CurrencyCode, GatewayToken: gateway.GatewayToken, ActionDate }
  const { BatchToken } = await send('POST', '/v1/batches', head)
  for (let n = 0; n < LINES; n += 1) {
    const wish = { Name: `Acme ${n}`, isCompany: true, PaymentTermDays: 0 }
    const { customerID } = await send('POST', '/v1/customers', wish)
    const BankAccount = {
      Method: 'debit_order',
      AccountType: 'Current',
      AccountHolder: `Acme ${n}`,
      Bank: 'First Bank',
      AccountNumber: `6200123${n + 1000}`,
      BranchCode: '250655',
    }
    const method = await send('POST', '/v1/paymentmethods/bankaccount', { customerID, isPrimary: true, BankAccount })
    await send('POST', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 + n }], CollectionMethod: 'eft' })
    const { paymentMethodID } = method
    const line = { BatchToken, customerID, Amount: 100 + n, paymentMethodID, isAutoApply: true }
    await send('POST', '/v1/batches/payments', line)
  }
  return { BatchToken: BatchToken as string, ActionDate, today, gateway }
}

const totalOf = (from: number) => Array.from({ length: LINES }, (_, n) => from + n).reduce((sum, one) => sum + one, 0)

const WAITING = `select count(*) from pg_locks where not granted`

test.each([
  ['before the gateway has the batch', 'sandbox'],
  ['after the gateway has the batch', 'sandbox'],
  ['after the file is made', 'manual'],
] as const)('kill -9 %s (%s), of two workers and the service: it is built once', async (place, gatewayType) => {
  const all = await shop()
  const { env, first, rows, until, untilFigure, send, connect, account } = all
  const { BatchToken, ActionDate, today } = await filled(all, gatewayType)
  await send('PUT', '/v1/batches/submit', { BatchToken, ActionDate })

  const holder = await connect()
  const isBefore = place === 'before the gateway has the batch'
  await holder.query(isBefore ? 'begin; lock table sandbox_charges' : 'begin; select 1 from customers for update')
  const workers = [startProgram(['work'], env), startProgram(['work'], env)]
  if (place === 'after the gateway has the batch') await until('select count(*) from sandbox_charges', LINES)
  await until('select count(*) from payment_batches where leased_until is not null', 1)
  await untilFigure(WAITING, (n) => n > 0)
  for (const { child } of [first, ...workers]) child.kill('SIGKILL')
  await Promise.all([first.ended, ...workers.map(({ ended }) => ended)])
  await holder.query('rollback')
  expect(await rows(`select state, sent_count from payment_batches`)).toEqual([{ state: 'build', sent_count: null }])
  // Leases of what was killed lapse after half a minute; the test does not wait for that.
  await rows(`update payment_batches set leased_until = null`)
  await rows(`update leases set leased_until = now() - interval '1 second'`)

  const second = await serve(env)
  await until(`select count(*) from payment_batches where state = 'submitted'`, 1)
  const batch = await send('GET', `/v1/batches/${BatchToken}`, undefined, second)
  expect(batch).toMatchObject({ State: 'submitted', NumberOfPayments: LINES, PaymentsTotal: `${totalOf(100)}.00` })
  expect(await rows(`select sent_count, sent_minor::int from payment_batches`)).toEqual([
    { sent_count: LINES, sent_minor: totalOf(100) * 100 },
  ])
  expect(await rows(`select distinct tries from invoices`)).toEqual([{ tries: 1 }])
  const submitted = (await send('GET', '/v1/events?type=batch.submitted', undefined, second)) as Row[]
  expect(submitted).toHaveLength(1)
  const charges = await rows(
    `select count(*)::int as n, coalesce(sum(amount_minor), 0)::int as minor from sandbox_charges`,
  )
  const isBooked = gatewayType === 'sandbox'
  expect(charges).toEqual([{ n: isBooked ? LINES : 0, minor: isBooked ? totalOf(100) * 100 : 0 }])
  if (!isBooked) {
    const file = (await send('GET', `/v1/batches/${BatchToken}/file`, undefined, second)) as string
    expect(file.trim().split('\r\n')).toHaveLength(1 + LINES)
  }
  if (isBooked) expect(await differencesOfBook(rows as never, account, today)).toEqual([])
  second.child.kill('SIGTERM')
  await second.ended
  const verified = await runProgram(['verify'], env)
  expect(verified.out).toContain('0 differences')
})
