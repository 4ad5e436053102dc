import type { TestClient, TestService } from '../../../test/support/app.ts'
import { momentOf, type RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { getAccount } from '../accounts/queries.ts'
import { addPayment } from './payments.ts'

/** The ledger of an account in the order posted, one line an entry: day, event, debit → credit, tax, minor amount. */
export async function ledgerOf(service: TestService, client: TestClient): Promise<string[]> {
  const rows = await service.db.reader(client.id).rows<{ line: string }>(sql`
      select concat_ws(' ', dated, event || case when is_reversal then '_reversed' else '' end, debit || '→' || credit, tax_name, amount_minor) as "line"
        from ledger_rows where account_id = ${client.id} order by entry_id`)
  return rows.map(({ line }) => line)
}

/** A customer with open invoices of 115.00 each (100 and 15 %), the first of 1 January. */
export async function moneyShop(service: TestService, count = 1) {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoices: number[] = []
  for (let n = 0; n < count; n += 1) invoices.push(await invoiceOf(client, customerID))
  return { client, customerID, invoices }
}

/** An invoice of 100.00 and its tax, unless more is said. */
export const invoiceOf = async (client: TestClient, customerID: number, more: object = {}): Promise<number> =>
  (await client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }], ...more })).body.invoiceID

export const paymentOf = (customerID: number, Amount: number, more: object = {}) => ({
  customerID,
  Amount,
  CurrencyCode: 'USD',
  Date: '2027-01-01',
  Method: 'eft',
  ...more,
})

let numbers = 0

/** The body of a credit note with a number of its own and nothing allocated, unless more is said. */
export const creditOf = (customerID: number, Amount: number, more: object = {}) => ({
  customerID,
  Amount,
  CurrencyCode: 'USD',
  Date: '2027-01-01',
  CreditNumber: `K${(numbers += 1)}`,
  Allocations: [],
  ...more,
})

/** Runs work of the service itself on an account, as a gateway's outcome causes it. */
export const acting = <T>(
  service: TestService,
  client: TestClient,
  work: (tx: Transaction, context: RequestContext) => Promise<T>,
): Promise<T> =>
  service.db.transaction(client.id, async (tx) => {
    const account = await getAccount(tx, tx.account)
    return work(tx, { account, moment: momentOf(account, Date.now), actor: 'gateway' } as RequestContext)
  })

const LOOKS_MAX = 10_000

/** Waits until another transaction waits for a row that this one has locked. */
export async function untilAwaited(tx: Transaction): Promise<void> {
  const isAwaited = async () =>
    (await tx.rows(sql`select 1 from pg_locks where not granted and transactionid = pg_current_xact_id()::xid`))
      .length > 0
  for (let look = 0; look < LOOKS_MAX; look += 1) if (await isAwaited()) return
  throw new Error('nobody waits')
}

/** An invoice of 115.00 and a payment of as much begun for it on 1 January. */
export async function begunPayment(service: TestService) {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoiceID = await invoiceOf(client, customerID)
  const target = { kind: 'invoice' as const, id: BigInt(invoiceID) }
  const payment = await acting(service, client, (tx, context) =>
    addPayment(
      tx,
      context,
      {
        customerId: BigInt(customerID),
        paidAt: '2027-01-01T08:00:00.000Z',
        dated: '2027-01-01',
        currency: 'USD',
        amountMinor: 11500n,
        method: 'credit_card',
        origin: 'gateway',
        ref: null,
        memo: null,
      },
      { list: [{ id: null, target, amountMinor: 11500n }] },
    ),
  )
  const invoice = async () => (await client.get(`/v1/invoices/${invoiceID}`)).body
  const shown = async () => (await client.get(`/v1/payments/${payment.id}`)).body
  const balances = async () => (await client.get(`/v1/customers/${customerID}/balances`)).body[0]
  return { client, customerID, invoiceID, id: payment.id, invoice, shown, balances }
}
