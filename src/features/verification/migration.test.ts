import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, startTestService, type TestClient } from '../../../test/support/app.ts'
import { copyRows, databaseBefore, type NamedToday, withClient } from '../../../test/support/older-database.ts'
import { decimalText } from '../../kernel/decimal.ts'
import type { Connection, Database } from '../../platform/database/database.ts'
import { addPackage, moveTo, shop } from '../../../test/support/shop.ts'
import { differenceText } from './difference.ts'
import { netOf } from './entries.ts'
import { listEntriesOfRecords } from './entries-queries.ts'
import { verifyAccount } from './verify.ts'

/**
 * A database from before there was a ledger: what was issued, cancelled, credited and allocated is posted by the migration as the service
 * would have posted it. The rows are those of a service that lived them, put into the schema of that time.
 */

const service = await startTestService()
let client: TestClient
let older: Connection
let migrated: Database

beforeAll(async () => {
  client = await livedAccount()
  older = await createOlderDatabase()
  migrated = openTestDatabase(older)
})
afterAll(async () => {
  await migrated.close()
})

/** Two currencies, two taxes and one of 0 %, a customer who pays none, cancelled invoices, a draft, credits with taxes, open and spent. */
async function livedAccount(): Promise<TestClient> {
  const { client: of, customerID, add } = await shop(service, { price: 31 })
  await of.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.075, TaxNumber: 'T-1' }] })
  await of.post('/v1/tax', { Name: 'Zero', rules: [{ Perc: 0 }] })
  const { packageID } = await addPackage(of, { price: 3100, currency: 'JPY' })
  const customer = async (more: object): Promise<number> =>
    (await of.post('/v1/customers', { Name: 'Acme', isCompany: true, ...more })).body.customerID
  const japanese = await customer({ CurrencyCode: 'JPY' })
  const exempt = await customer({ isWaiveTaxes: true })
  const { body: cancelledLater } = await add()
  const { body: yen } = await of.post('/v1/subscriptions', { customerID: japanese, packageID })
  const invoice = async (whose: number, more: object = {}): Promise<number> =>
    (await of.post('/v1/invoices', { customerID: whose, Charges: [{ UnitCostEx: 100 }], ...more })).body.invoiceID
  await invoice(exempt)
  await invoice(exempt, { isDraft: true })
  await invoice(customerID, { Charges: [{ UnitCostEx: 0 }] })
  const future = await invoice(customerID, { InvoiceDate: '2027-02-20' })
  await moveTo(of, '2027-01-16')
  for (const id of [cancelledLater.subscriptionID, yen.subscriptionID])
    expect((await of.put(`/v1/subscriptions/${id}/cancel/prorata`)).status).toBe(204)
  expect((await of.delete(`/v1/invoices/${future}`)).status).toBe(204)
  const cancelled = await invoice(japanese)
  await moveTo(of, '2027-02-03')
  expect((await of.delete(`/v1/invoices/${cancelled}`)).status).toBe(204)
  await add()
  return of
}

/** A database at the version before the ledger, filled with the rows of the service's, and then migrated. */
const createOlderDatabase = (): Promise<Connection> =>
  databaseBefore('0010_money.sql', (to) => withClient(service.connection, (from) => copyRows(from, to, TODAY)))

/** Names before the migration, with the names under which the same is found today. */
const TODAY: NamedToday = {
  credit_notes: {
    table: 'negative_adjustments',
    columns: {
      credit_note_id: 'negative_adjustment_id',
      note_date: 'dated',
      total_minor: 'amount_minor',
      number: 'ref',
      net_minor: `(select sum(l.net_minor) from credit_note_lines l
        where l.account_id = negative_adjustments.account_id and l.credit_note_id = negative_adjustment_id)`,
    },
  },
  allocations: { table: 'allocations', columns: { applied_minor: 'amount_minor' } },
  outbox: { table: 'outbox', columns: { last_error: 'last_reply' } },
  verifications: { table: 'verifications', columns: { leased_until: 'null' } },
  list_watermarks: { table: 'list_watermarks', columns: { candidate_xid: 'null' } },
}

/** Lists the entries posted for each record, net of those that were reversed. */
async function postedIn(db: Database): Promise<string[]> {
  const start = { customerId: -1n, recordType: '', recordId: -1n }
  const entries = await listEntriesOfRecords(db.reader(client.id), client.id, start, 10_000)
  return netOf(entries)
    .map((e) =>
      [
        e.customerId,
        e.recordType,
        e.recordId,
        e.event,
        e.dated,
        e.debit,
        e.credit,
        e.taxName,
        e.taxRate && decimalText(e.taxRate),
        e.taxNumber,
        e.amountMinor,
        e.currency,
      ].join(' '),
    )
    .sort()
}

test('the migration posts what the service would have posted, and turns recorded credits into credit notes', async () => {
  const posted = await postedIn(migrated)
  expect(posted).toEqual(await postedIn(service.db))
  for (const event of ['invoice_issued', 'invoice_cancelled', 'credit_note_made', 'allocation_made'])
    for (const currency of ['USD', 'JPY'])
      if (event !== 'invoice_cancelled' || currency === 'JPY')
        expect(posted.filter((line) => line.includes(event) && line.endsWith(currency))).not.toEqual([])
  // Cancelled before its day came: no entry is dated before its document.
  expect(posted).toContainEqual(expect.stringMatching(/invoice_cancelled 2027-02-20 tax receivable VAT 0.075 T-1 /))
  expect(posted).toContainEqual(expect.stringMatching(/credit_note_made 2027-01-16 tax unapplied VAT 0.075 T-1 /))
})

test('the migrated database is clean, its chains too', async () => {
  const found: string[] = []
  const verified = await verifyAccount(migrated, client.id, (difference) => found.push(differenceText(difference)))
  expect(found).toEqual([])
  expect(verified.isChained).toBe(true)
  expect(verified.invoices).toBeGreaterThan(5)
})
