import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { creditOf, ledgerOf, moneyShop } from '../money/money.testing.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { hashedTextOf } from './post.ts'
import type { EntryRow } from './queries.ts'

const service = await startTestService()

/** An account with VAT of 15 % and a customer; an invoice of 115.00. */
async function shop() {
  const client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.15, TaxNumber: 'T-1' }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoice = (more: object = {}) =>
    client.post('/v1/invoices', { customerID, Charges: [{ UnitCostEx: 100 }], ...more })
  const pay = (Amount: number, more: object = {}) =>
    client.post('/v1/payments', {
      customerID,
      Amount,
      CurrencyCode: 'USD',
      Date: '2027-01-01',
      Method: 'eft',
      allocations: [],
      ...more,
    })
  return { client, customerID, invoice, pay }
}

const tooLate = async (client: TestClient) => client.put('/v1/clock', { Now: '2027-02-10' })

describe('entries', () => {
  test('are listed oldest first, by customer and by day, and never change', async () => {
    const { client, customerID, invoice, pay } = await shop()
    const { body } = await invoice()
    await pay(50)
    await tooLate(client)
    await client.delete(`/v1/invoices/${body.invoiceID}`)
    const all = (await client.get(`/v1/ledger/entries?customerID=${customerID}`)).body
    expect(all).toHaveLength(5)
    expect(all[0]).toEqual({
      entryID: expect.any(Number),
      Date: '2027-01-01T00:00:00Z',
      PostedAt: '2027-01-01T00:00:00.000Z',
      Event: 'invoice_issued',
      RecordType: 'invoice',
      RecordID: body.invoiceID,
      Number: String(body.invoiceNum),
      Reference: `I${body.invoiceID}`,
      exportID: null,
      customerID,
      CurrencyCode: 'USD',
      Debit: 'receivable',
      Credit: 'revenue',
      TaxName: null,
      Amount: 100,
    })
    expect(
      (await client.get('/v1/ledger/entries?from=2027-02-01')).body.map((e: { Debit: string }) => e.Debit),
    ).toEqual(['revenue', 'tax'])
    expect((await client.get('/v1/ledger/entries?to=2027-01-31&page=2&page_size=2')).body).toEqual([all[2]])
    expect((await client.get('/v1/ledger/entries?from=2027-02-01&to=2027-01-01')).status).toBe(400)
    const change = service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update ledger_rows set amount_minor = 1 where account_id = ${client.id}`),
    )
    await expect(change).rejects.toThrow(/permission denied/)
    const removal = service.db.transaction(client.id, (tx) =>
      tx.rows(sql`delete from ledger_rows where account_id = ${client.id}`),
    )
    await expect(removal).rejects.toThrow(/permission denied/)
  })

  test('are hashed into a chain that anybody can walk again', async () => {
    const { client, invoice, pay } = await shop()
    await invoice()
    await pay(20)
    const reader = service.db.reader(client.id)
    const rows = await reader.rows<EntryRow & { link: number; postedAt: string }>(sql`
      select link, posted_at as "postedAt", event, is_reversal as "isReversal", record_type as "recordType", record_id as "recordId", debit, credit,
             tax_name as "taxName", tax_rate::text as "taxRate", tax_number as "taxNumber", amount_minor as "amountMinor", dated
        from ledger_rows where account_id = ${client.id} order by entry_id`)
    let head = Buffer.alloc(0)
    for (const link of [1, 2]) {
      const own = rows.filter((row) => row.link === link)
      const said = [own[0]!.postedAt, ...own.map(hashedTextOf)].join('\n')
      head = createHash('sha256').update(head).update(said).digest()
    }
    const totals = await reader.rows(sql`select links, head from customer_totals where account_id = ${client.id}`)
    expect(totals).toEqual([{ links: 2, head }])
  })
})

test('balances come to nothing altogether, and tell what every ledger account holds on a day', async () => {
  const { client, invoice, pay } = await shop()
  await invoice()
  await pay(50, { Date: '2027-01-05' })
  expect((await client.get('/v1/ledger/balances')).body).toEqual([
    { CurrencyCode: 'USD', Account: 'cash', TaxName: null, Debit: 50, Credit: 0, Balance: 50 },
    { CurrencyCode: 'USD', Account: 'receivable', TaxName: null, Debit: 115, Credit: 0, Balance: 115 },
    { CurrencyCode: 'USD', Account: 'revenue', TaxName: null, Debit: 0, Credit: 100, Balance: -100 },
    { CurrencyCode: 'USD', Account: 'tax', TaxName: 'VAT', Debit: 0, Credit: 15, Balance: -15 },
    { CurrencyCode: 'USD', Account: 'unapplied', TaxName: null, Debit: 0, Credit: 50, Balance: -50 },
  ])
  expect((await client.get('/v1/ledger/balances?date=2027-01-04')).body).toHaveLength(3)
})

describe('closed books', () => {
  test('refuse documents and corrections of their days, and nothing else', async () => {
    const { client, customerID, invoice, pay } = await shop()
    const open = (await invoice()).body
    const payment = (await pay(30)).body
    await tooLate(client)
    expect((await client.put('/v1/account', { LockDate: '2027-02-10' })).status).toBe(400)
    expect((await client.put('/v1/account', { LockDate: '2027-01-31' })).status).toBe(204)
    expect((await client.get('/v1/account')).body.LockDate).toBe('2027-01-31T00:00:00Z')
    expect((await invoice({ InvoiceDate: '2027-01-31' })).status).toBe(409)
    expect((await pay(10, { Date: '2027-01-31' })).status).toBe(409)
    const body = { customerID, Amount: 30, CurrencyCode: 'USD', Date: '2027-01-01', Method: 'eft', Allocations: [] }
    const path = `/v1/payments/${payment.paymentID}`
    expect((await client.put(path, { ...body, Amount: 31 })).status).toBe(409)
    expect((await client.delete(path)).status).toBe(409)
    const before = (await ledgerOf(service, client)).length
    const list = [{ invoiceID: open.invoiceID, amountApplied: 30 }]
    expect((await client.put(path, { ...body, Memo: 'found', Allocations: list })).status).toBe(204)
    expect((await client.put(path, { ...body, Allocations: [] })).status).toBe(204)
    expect((await ledgerOf(service, client)).slice(before)).toEqual([
      '2027-02-01 allocation_made unapplied→receivable 3000',
      '2027-02-01 allocation_made_reversed receivable→unapplied 3000',
    ])
    expect((await client.put(`${path}/fail`, { Date: '2027-01-20', Reason: 'bounced' })).status).toBe(204)
    expect((await ledgerOf(service, client)).at(-1)).toBe('2027-02-01 payment_returned unapplied→cash 3000')
    expect((await client.delete(`/v1/invoices/${open.invoiceID}`)).status).toBe(204)
    expect((await ledgerOf(service, client)).at(-1)).toBe('2027-02-10 invoice_cancelled tax→receivable VAT 1500')
  })

  test('move money of a note without its tax, and take its settlement away on the day after, so that a closed period stays as it was reported', async () => {
    const { client, customerID, invoices } = await moneyShop(service)
    const note = (more: object = {}) => creditOf(customerID, 0.04, { CreditNumber: 'K', ...more })
    const list = { Allocations: [{ invoiceID: invoices[0], amountApplied: 0.04 }] }
    const { body: first } = await client.post('/v1/credits', note(list))
    // 15 of 115 is tax: 0.01 of the first 0.04, and nothing more of 0.08.
    await client.post('/v1/credits', note({ ...list, CreditNumber: 'L' }))
    await tooLate(client)
    await client.put('/v1/account', { LockDate: '2027-01-31' })
    const report = async () => (await client.get('/v1/reports/tax?from=2027-01-01&to=2027-01-31')).body
    const reported = await report()
    const before = (await ledgerOf(service, client)).length
    expect((await client.put(`/v1/credits/${first.creditNoteID}`, note())).status).toBe(204)
    expect((await ledgerOf(service, client)).slice(before)).toEqual([
      '2027-02-01 allocation_made_reversed receivable→unapplied 4',
    ])
    expect(await report()).toEqual(reported)
    expect(await differencesOf(service, client)).toEqual([])
    await client.put('/v1/account', { LockDate: null })
    expect((await client.put(`/v1/credits/${first.creditNoteID}`, note(list))).status).toBe(204)
    expect(await differencesOf(service, client)).toEqual([])
  })
})
