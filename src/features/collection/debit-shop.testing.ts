import { expect } from 'vitest'
import type { TestClient, TestService } from '../../../test/support/app.ts'

/** A shop whose only customer pays from a bank account, through the sandbox. */

const ACCOUNTS = {
  debit_order: { AccountNumber: '62001234', BranchCode: '250655' },
  ach: { AccountNumber: '000123456789', RoutingNumber: '021000021' },
  sepa: { IBAN: 'DE89370400440532013000', BIC: 'COBADEFFXXX' },
}

export type DebitKind = keyof typeof ACCOUNTS

export const bankAccount = (Method: DebitKind, changes: object = {}) => ({
  Method,
  AccountType: 'Current',
  AccountHolder: 'Ada Lovelace',
  Bank: 'First Bank',
  ...ACCOUNTS[Method],
  ...changes,
})

export async function addAccount(client: TestClient, customerID: number, account: object): Promise<number> {
  const reply = await client.post('/v1/paymentmethods/bankaccount', {
    customerID,
    isPrimary: true,
    BankAccount: account,
  })
  expect(reply.status, reply.text).toBe(200)
  return reply.body.paymentMethodID
}

export interface DebitWish {
  kind?: DebitKind
  /** Changes of the bank account, as a last four that the sandbox knows. */
  account?: object
  settings?: object
  /** The gateway is one without anybody behind it, whose results a person reports. */
  isManual?: boolean
  customer?: object
  clockAt?: string | null
}

async function gatewayOf(client: TestClient, isManual: boolean, Settings: object) {
  if (!isManual) {
    const [sandbox] = (await client.get('/v1/gateways')).body
    const put = await client.put(`/v1/gateways/${sandbox.gatewayID}`, { Settings })
    expect(put.status, put.text).toBe(204)
    return sandbox
  }
  const added = await client.post('/v1/gateways', {
    GatewayName: 'By hand',
    GatewayType: 'manual',
    isPrimary: true,
    isActive: true,
    Settings,
  })
  expect(added.status, added.text).toBe(201)
  return added.body
}

/** A customer with a bank account, whose invoices fall due when they are issued unless they say otherwise. */
export async function debitShop(service: TestService, wish: DebitWish = {}) {
  const {
    kind = 'debit_order',
    account = {},
    settings = {},
    isManual = false,
    customer = {},
    clockAt = '2027-02-01T08:00:00.000Z',
  } = wish
  const client = await service.newAccount({ clockAt })
  const { gatewayID, GatewayToken } = await gatewayOf(client, isManual, settings)
  const added = await client.post('/v1/customers', {
    Name: 'Ada',
    LastName: 'Lovelace',
    Email: 'a@example.com',
    PaymentMethod: 'debit_order',
    PaymentTermDays: 0,
    ...customer,
  })
  const customerID = added.body.customerID as number
  const paymentMethodID = await addAccount(client, customerID, bankAccount(kind, account))
  const invoice = async (amount: number, body: object = {}) => {
    const reply = await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: amount }], ...body })
    expect(reply.status, reply.text).toBe(201)
    return reply.body.invoiceID as number
  }
  const read = async (id: number) => (await client.get(`/v1/invoices/${id}`)).body
  const edit = async (id: number, changes: object) =>
    client.put(`/v1/invoices/${id}`, { ...(await read(id)), ...changes })
  const move = async (day: string, time = '12:00') => {
    const reply = await client.put('/v1/clock', { Now: `${day}T${time}:00Z` })
    expect(reply.status, reply.text).toBe(200)
    return reply.body
  }
  const mails = async () =>
    ((await client.get('/v1/outbox?page_size=100')).body as any[])
      .filter(({ Template }) => !['invoice', 'welcome', 'payment_receipt'].includes(Template))
      .map(({ Template, CreatedDate }) => `${CreatedDate.slice(5, 10)} ${Template}`)
  const attempts = async (id: number) => (await client.get(`/v1/invoices/${id}/attempts`)).body as any[]
  const batches = async () =>
    ((await client.get('/v1/batches')).body as any[]).map(
      ({ ActionDate, State, NumberOfPayments, PaymentsTotal }) =>
        `${ActionDate.slice(5, 10)} ${State} ${NumberOfPayments} ${PaymentsTotal}`,
    )
  const tokens = async () =>
    ((await client.get('/v1/batches')).body as any[]).map(({ BatchToken }) => BatchToken as string)
  const events = async (type: string) =>
    ((await client.get('/v1/events?page_size=500')).body as any[]).filter(({ Type }) => Type === type)
  const submit = async (BatchToken: string) => {
    const batch = (await client.get(`/v1/batches/${BatchToken}`)).body
    const reply = await client.put('/v1/batches/submit', { BatchToken, ActionDate: batch.ActionDate })
    expect(reply.status, reply.text).toBe(204)
    return batch.Payments.map(({ paymentID }: any) => paymentID as number) as number[]
  }
  const result = (BatchToken: string, ...Results: object[]) =>
    client.put(`/v1/batches/${BatchToken}/results`, { Results })
  const api = { submit, result, invoice, read, edit, move, mails, attempts, batches, tokens, events }
  return { client, customerID, paymentMethodID, gatewayID, GatewayToken, ...api }
}
