import { describe, expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { verifyAccount } from '../../checks.ts'
import { account } from './batches.testing.ts'

/** Batches of the sandbox, end to end: submitted, booked, and what its reports bring as the clock moves. */

const service = await startTestService()

/** A batch of the sandbox with a line of 100 for each account, each for an invoice. */
async function debited(...numbers: string[]) {
  const shop = await account(service)
  const { BatchToken } = await shop.batch()
  const lines: { paymentID: number; invoiceID: number; customerID: number; paymentMethodID: number }[] = []
  for (const number of numbers) {
    const { customerID, paymentMethodID, invoice } = await shop.customer({ number })
    const invoiceID = await invoice(100)
    const PaymentApplied = [{ invoiceID, amount: 100 }]
    const { body } = await shop.line(BatchToken, { customerID, paymentMethodID, Amount: 100, PaymentApplied })
    lines.push({ paymentID: body.paymentID, invoiceID, customerID, paymentMethodID })
  }
  const submit = () => shop.must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05' })
  const statuses = async () =>
    Promise.all(lines.map(async ({ paymentID }) => (await shop.client.get(`/v1/payments/${paymentID}`)).body.Status))
  const attempts = async () =>
    Promise.all(
      lines.map(async ({ invoiceID }) => (await shop.client.get(`/v1/invoices/${invoiceID}/attempts`)).body[0]),
    )
  const differences = async () => {
    const found: unknown[] = []
    await verifyAccount(service.db, shop.client.id, (difference) => found.push(difference))
    return found
  }
  return { ...shop, BatchToken, lines, submit, statuses, attempts, differences }
}

describe('debits of the sandbox', () => {
  test('have their results on the day after the day of the debit, by the last four places of their accounts', async () => {
    const numbers = ['62001871490', '6200009995', '6200009912', '6200009930']
    const { client, BatchToken, submit, build, move, state, statuses, attempts, differences, lines } = await debited(
      ...numbers,
    )
    await submit()
    await build()
    expect(await state(BatchToken)).toBe('submitted')
    expect((await client.get(`/v1/batches/${BatchToken}/file`)).status).toBe(409)
    await move('2027-01-05T23:00:00Z')
    expect(await statuses()).toEqual(['Pending', 'Pending', 'Pending', 'Pending'])
    await move('2027-01-06')
    expect(await statuses()).toEqual(['Allocated', 'Failed', 'Failed', 'Failed'])
    expect(await state(BatchToken)).toBe('completed')
    expect((await attempts()).map(({ Outcome, Class }) => [Outcome, Class])).toEqual([
      ['succeeded', null],
      ['declined', 'insufficient_funds'],
      ['declined', 'account_closed'],
      ['declined', 'no_mandate'],
    ])
    const valid = await Promise.all(
      lines.map(async (one) => (await client.get(`/v1/paymentmethods/${one.paymentMethodID}`)).body.isValid),
    )
    expect(valid).toEqual([true, false, false, false])
    expect(await differences()).toEqual([])
  })

  test('of 9968 are paid, and returned ten days later', async () => {
    const { client, submit, build, move, statuses, attempts, lines, differences } = await debited('6200009968')
    await submit()
    await build()
    await move('2027-01-15')
    expect(await statuses()).toEqual(['Allocated'])
    await move('2027-01-16')
    expect(await statuses()).toEqual(['Failed'])
    expect(await attempts()).toMatchObject([{ Outcome: 'returned', Class: 'refunded_late' }])
    expect((await client.get(`/v1/invoices/${lines[0]!.invoiceID}`)).body).toMatchObject({ Balance: 100, NumTries: 1 })
    expect(await differences()).toEqual([])
  })

  test('are refunded through it, what is unallocated', async () => {
    const { client, submit, build, move, lines, must } = await debited('62001871490')
    await submit()
    await build()
    await move('2027-01-06')
    const path = `/v1/payments/${lines[0]!.paymentID}`
    await must('put', path, { ...(await client.get(path)).body, Allocations: [] })
    const refunded = await client.post(`${path}/refund`, { Amount: 40 })
    expect([refunded.status, refunded.text]).toEqual([201, expect.stringContaining('AdjustmentID')])
  })

  test('that a person has settled first end as the gateway reports them: failed means lost again, paid after a failure is new money', async () => {
    const { client, BatchToken, submit, build, move, statuses, lines, differences } = await debited(
      '6200009995',
      '62001871490',
    )
    await submit()
    await build()
    const Results = [
      { paymentID: lines[0]!.paymentID, Success: true },
      { paymentID: lines[1]!.paymentID, Success: false },
    ]
    expect((await client.put(`/v1/batches/${BatchToken}/results`, { Results })).status).toBe(204)
    await move('2027-01-06')
    expect(await statuses()).toEqual(['Failed', 'Failed'])
    const payments = (await client.get('/v1/payments')).body
    expect(payments.map(({ Ref }: any) => Ref)).toEqual([null, null, `Late success: payment ${lines[1]!.paymentID}`])
    expect(payments[2]).toMatchObject({ Status: 'Allocated', Amount: 100 })
    expect(await differences()).toEqual([])
  })

  test('are handed over again while nobody answers, as after a process that was killed behind the call, and booked once', async () => {
    const { client, BatchToken, submit, build, state, gateway, must, move, differences } = await debited('62001871490')
    await submit()
    await must('put', `/v1/gateways/${gateway.gatewayID}`, { Settings: { Fault: 'not_answered' } })
    await build()
    expect(await state(BatchToken)).toBe('build')
    await must('put', `/v1/gateways/${gateway.gatewayID}`, { Settings: { Fault: null } })
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update payment_batches set next_try_at = null where account_id = ${client.id}`),
    )
    await build()
    expect(await state(BatchToken)).toBe('submitted')
    const book = await service.db.reader(client.id).rows(sql`
      select reference from sandbox_charges where account_id = ${client.id}`)
    expect(book).toHaveLength(1)
    await move('2027-01-06')
    expect(await state(BatchToken)).toBe('completed')
    expect(await differences()).toEqual([])
  })
})
