import pino from 'pino'
import { expect } from 'vitest'
import type { TestService } from '../../../test/support/app.ts'
import type { Adapters } from '../gateways/contract.ts'
import { batchesDuty } from './duty.ts'
import { type LinesOfService, NO_LINES_OF_SERVICE } from './hooks.ts'

/** Builds what is submitted, of all accounts, as a worker does. */
export async function buildAll(
  service: TestService,
  linesOfService: LinesOfService = NO_LINES_OF_SERVICE,
  adapters: Adapters = service.calling.adapters,
): Promise<void> {
  const deps = { db: service.db, log: pino({ level: process.env['TEST_LOG'] ?? 'silent' }), realClock: Date.now }
  await batchesDuty({ ...service.calling, adapters, linesOfService }).run(deps, () => {})
}

/** An account with its sandbox, on 1 January 2027 or in real time, and short ways to what a test of batches needs. */
export async function account(
  service: TestService,
  { TimeZone, isInRealTime = false }: { TimeZone?: string; isInRealTime?: boolean } = {},
) {
  const client = await service.newAccount(isInRealTime ? { clockAt: null } : {})
  const must = async (method: 'post' | 'put', path: string, body: object) => {
    const reply = await client[method](path, body)
    expect(reply.status, `${path} ${reply.text}`).toBeLessThan(300)
    return reply.body
  }
  if (TimeZone) await must('put', '/v1/account', { TimeZone })
  const [gateway] = (await client.get('/v1/gateways')).body
  const manual = (more: object = {}) => must('post', '/v1/gateways', { GatewayType: 'manual', ...more })
  const move = (Now: string) => must('put', '/v1/clock', { Now: Now.includes('T') ? Now : `${Now}T12:00:00Z` })
  const batch = async (more: object = {}) => {
    const body = { CurrencyCode: 'USD', GatewayToken: gateway.GatewayToken, ActionDate: '2027-01-05', ...more }
    const { BatchToken } = await must('post', '/v1/batches', body)
    return { BatchToken: BatchToken as string, body }
  }
  /** A customer with a bank account, or another account of one. */
  const customer = async (wish: { customerID?: number; number?: string } = {}) => {
    const customerID: number =
      wish.customerID ?? (await must('post', '/v1/customers', { Name: 'Acme', isCompany: true })).customerID
    const BankAccount = {
      Method: 'debit_order',
      AccountType: 'Savings',
      AccountHolder: 'Ada',
      Bank: 'Bank',
      AccountNumber: wish.number ?? '62001871490',
      BranchCode: '250655',
    }
    const method = await must('post', '/v1/paymentmethods/bankaccount', { customerID, isPrimary: false, BankAccount })
    const invoice = async (amount: number): Promise<number> =>
      (await must('post', '/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }] })).invoiceID
    return { customerID, paymentMethodID: method.paymentMethodID as number, invoice }
  }
  const line = async (BatchToken: string, body: object, status = 201) => {
    const reply = await client.post('/v1/batches/payments', { BatchToken, ...body })
    expect(reply.status, reply.text).toBe(status)
    return reply
  }
  /** Does what the worker's lane does. */
  const build = () => buildAll(service)
  const state = async (BatchToken: string): Promise<string> =>
    (await client.get(`/v1/batches/${BatchToken}`)).body.State
  return { client, must, gateway, manual, move, batch, customer, line, build, state }
}
