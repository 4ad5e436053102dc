import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { verifyAccount } from '../../checks.ts'
import { account, buildAll } from './batches.testing.ts'

/** Random batches and results: the books agree after each step, and the lines of what was handed over are each in one of five places. */

const service = await startTestService()

const result = fc.record({
  place: fc.nat(5),
  isSuccess: fc.boolean(),
  reason: fc.constantFrom(null, 'AC04', 'not_sent', 'insufficient_funds', 'somebody called'),
})
const life = fc.record({
  amounts: fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 5 }),
  applied: fc.nat(100),
  dropped: fc.option(fc.nat(4), { nil: null }),
  isCancelled: fc.boolean(),
  results: fc.array(result, { maxLength: 8 }),
})

test('settled, returned, rejected, not sent and open lines come to those submitted, and the books agree after every result', async () => {
  const { client, batch, customer, line, manual } = await account(service)
  const { GatewayToken } = await manual({ CurrencyCodes: ['USD'] })
  const { customerID, paymentMethodID, invoice } = await customer()
  const second = await customer({ customerID, number: '62001871499' })
  const verified = async () => {
    const found: unknown[] = []
    await verifyAccount(service.db, client.id, (difference) => found.push(difference))
    return found
  }
  await fc.assert(
    fc.asyncProperty(life, async ({ amounts, applied, dropped, isCancelled, results }) => {
      const { BatchToken } = await batch({ GatewayToken })
      const ids: number[] = []
      for (const [n, Amount] of amounts.entries()) {
        const invoiceID = await invoice(applied + 1)
        const amount = Math.min(Amount, applied + 1)
        const PaymentApplied = [{ invoiceID, amount }]
        // An account that a result has rejected takes no line any more; another request verifies neither.
        await service.db.transaction(client.id, (tx) =>
          tx.rows(sql`update payment_methods set state = 'unverified' where account_id = ${client.id}`),
        )
        const method = n % 2 === 0 ? paymentMethodID : second.paymentMethodID
        const body = { customerID, paymentMethodID: method, Amount, PaymentApplied }
        ids.push((await line(BatchToken, body)).body.paymentID)
      }
      if (dropped !== null && ids.length > 1) {
        const [id] = ids.splice(dropped % ids.length, 1)
        expect((await client.delete(`/v1/batches/payments/${id}`)).status).toBe(204)
      }
      const step = isCancelled ? 'cancel' : 'submit'
      expect((await client.put(`/v1/batches/${step}`, { BatchToken, ActionDate: '2027-01-05' })).status).toBe(204)
      await buildAll(service)
      expect(await verified()).toEqual([])
      for (const { place, isSuccess, reason } of results) {
        const paymentID = ids[place % ids.length]
        const Results = [{ paymentID, Success: isSuccess, Reason: isSuccess ? null : reason }]
        const { status } = await client.put(`/v1/batches/${BatchToken}/results`, { Results })
        expect([204, 409]).toContain(status)
      }
      expect(await verified()).toEqual([])
      const rows = await service.db.reader(client.id).rows<{ place: string; n: number }>(sql`
        select case when l.result is null then 'open' when l.returned_on is not null then 'returned' when l.result = 'success' then 'settled'
                    when l.result_class = 'not_sent' then 'not_sent' else 'rejected' end as "place", count(*)::integer as "n"
          from batch_lines l join payment_batches b on b.account_id = ${client.id} and b.batch_id = l.batch_id
         where l.account_id = ${client.id} and b.token = ${BatchToken}::uuid group by 1`)
      const read = (await client.get(`/v1/batches/${BatchToken}`)).body
      expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(ids.length)
      expect(read.NumberOfPayments).toBe(ids.length)
      const isOpen = rows.some(({ place }) => place === 'open')
      expect(read.State).toBe(isCancelled ? 'cancelled' : isOpen ? 'submitted' : 'completed')
    }),
    { numRuns: 12 },
  )
})

test('a line that is added while its batch is submitted is in it, or refused', async () => {
  const { client, batch, customer, line, manual } = await account(service)
  const { GatewayToken } = await manual({ CurrencyCodes: ['USD'] })
  const { BatchToken } = await batch({ GatewayToken })
  const first = await customer()
  const body = { customerID: first.customerID, paymentMethodID: first.paymentMethodID, Amount: 1, PaymentApplied: [] }
  await line(BatchToken, body)
  const others = await Promise.all(Array.from({ length: 4 }, () => customer()))
  const adding = others.map(({ customerID, paymentMethodID }) =>
    client.post('/v1/batches/payments', { ...body, BatchToken, customerID, paymentMethodID }),
  )
  const submitting = client.put('/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05' })
  const statuses = (await Promise.all(adding)).map(({ status }) => status)
  expect((await submitting).status).toBe(204)
  await buildAll(service)
  const added = statuses.filter((status) => status === 201).length
  expect(statuses.every((status) => status === 201 || status === 409)).toBe(true)
  expect((await client.get(`/v1/batches/${BatchToken}`)).body).toMatchObject({
    State: 'submitted',
    NumberOfPayments: 1 + added,
  })
  expect((await client.get(`/v1/batches/${BatchToken}/file`)).text.trim().split('\r\n')).toHaveLength(2 + added)
})
