import pg from 'pg'
import { expect, vi } from 'vitest'
import type { TestService } from '../support/app.ts'
import { moneyShop, paymentOf } from '../../src/features/money/money.testing.ts'

/** Counts of the statements that single requests take, on whatever engine. */

/** Names of statements that were executed on a connection, in their order; of those that have none the text. */
type Executed = string[]

/** Notes all that is executed while work goes on, by connection. */
async function executedBy(work: () => Promise<unknown>): Promise<Executed[]> {
  const connections = new Map<unknown, Executed>()
  const note = (connection: unknown, name: string) =>
    connections.set(connection, [...(connections.get(connection) ?? []), name])
  const { prototype } = pg.Connection as unknown as {
    prototype: { bind(config: { statement: string }): void; query(text: string): void }
  }
  const { bind, query } = prototype
  const spies = [
    vi.spyOn(prototype, 'bind').mockImplementation(function (this: unknown, config) {
      note(this, config.statement)
      bind.call(this as never, config)
    }),
    vi.spyOn(prototype, 'query').mockImplementation(function (this: unknown, text) {
      note(this, text)
      query.call(this as never, text)
    }),
  ]
  try {
    await work()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return [...connections.values()]
}

/** Counts the statements of a payment with an allocation under an Idempotency-Key, with begin, scope and commit, and those of a read of a customer behind its scope. */
export async function countsOf(service: TestService): Promise<{ payment: number; read: number }> {
  const { client, customerID, invoices } = await moneyShop(service)
  const body = { ...paymentOf(customerID, 10), Allocations: [{ invoiceID: invoices[0], amountApplied: 10 }] }
  const paid = await executedBy(async () => {
    const { status } = await client.post('/v1/payments', body, { 'idempotency-key': 'counted' })
    expect(status).toBe(201)
  })
  const read = await executedBy(async () => {
    expect((await client.get(`/v1/customers/${customerID}`)).status).toBe(200)
  })
  // Credentials may be looked up meanwhile, on a connection of their own.
  const payment = paid.flatMap((names) => {
    const scope = names.findIndex((name) => name.startsWith('perennial_transaction_and_lock'))
    const inside = names.slice(scope - 1)
    return scope < 0 ? [] : [inside.indexOf('commit') + 1]
  })
  const ofReads = read.map((names) => names.slice(names.indexOf('perennial_scope') + 1))
  const counts = ofReads.map((names) => names.filter((name) => name !== 'perennial_commit').length)
  return { payment: Math.max(...payment), read: Math.min(...counts) }
}
