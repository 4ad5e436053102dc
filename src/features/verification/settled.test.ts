import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, shop } from '../../../test/support/shop.ts'
import { invoiceOf } from '../money/money.testing.ts'
import { reported, tamperWith } from './tamper.testing.ts'

/** Faults planted in what credit notes correct: made by lines, by an amount, by what a caller allocated, and by cancelling a subscription. */

const service = await startTestService()
let client: TestClient
const { tampered } = await tamperWith(service, () => client)

/** Invoice 1 of 149.00 + 34.27 with 12.30 by a line, 50.00 by an amount and 20.00 that a caller allocated; invoice 2 as large and whole; a subscription given back. */
beforeAll(async () => {
  const made = await shop(service, { price: 31 })
  client = made.client
  const { customerID } = made
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const [first, second] = [
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 149 }] }),
    await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 149 }] }),
  ]
  const { chargeID } = (await client.get(`/v1/invoices/${first}`)).body.Charges[0]
  const path = `/v1/invoices/${first}/credit`
  const Reason = 'Late delivery'
  const by = await client.post(path, { Reason, Lines: [{ chargeID, AmountEx: 10 }] })
  expect([by.status, by.body.Amount]).toEqual([201, 12.3])
  expect((await client.post(path, { Reason, Amount: 50 })).status).toBe(201)
  const note = { customerID, Amount: 20, CurrencyCode: 'USD', Date: '2027-01-01', CreditNumber: 'K-1' }
  const allocations = [{ invoiceID: first, amountApplied: 20 }]
  expect((await client.post('/v1/credits', { ...note, allocations })).status).toBe(201)
  expect((await client.post(`/v1/invoices/${second}/credit`, { Reason, Amount: 1 })).status).toBe(201)
  const { subscriptionID } = (await made.add()).body
  expect((await client.put(`/v1/subscriptions/${subscriptionID}/cancel/fullcredit`)).status).toBe(204)
  expect(await differencesOf(service, client)).toEqual([])
})

const OURS = 'account_id = :account'
/** Conditions that hold of one settlement each. */
const LINES = `${OURS} and basis = 'lines'`
const FIFTY = `${OURS} and basis = 'amount' and gross_minor = 5000`
const TWENTY = `${OURS} and basis = 'amount' and gross_minor = 2000`
const BACK = `${OURS} and basis = 'given_back'`
const taxOf = (which: string) => `${OURS} and settlement_id = (select settlement_id from settlements where ${which})`
const noteOf = (which: string) =>
  `${OURS} and negative_adjustment_id = (select negative_adjustment_id from settlements where ${which})`
const TAX_OF_ONE = /^settlements: settlement #.*: tax VAT at 0.23 says/

test.each<[string, string[], RegExp]>([
  ['the gross of one by an amount', [`update settlements set gross_minor = 4000 where ${FIFTY}`], TAX_OF_ONE],
  [
    'the gross of one, with the amount of its note',
    [
      `update negative_adjustments set amount_minor = 6000 where ${noteOf(FIFTY)}`,
      `update settlements set gross_minor = 6000 where ${FIFTY}`,
    ],
    TAX_OF_ONE,
  ],
  ['the tax of one by lines', [`update settlement_taxes set amount_minor = 231 where ${taxOf(LINES)}`], TAX_OF_ONE],
  ['the tax of one by an amount', [`update settlement_taxes set amount_minor = 934 where ${taxOf(FIFTY)}`], TAX_OF_ONE],
  [
    'the tax of one of the service',
    [`update settlement_taxes set amount_minor = 712 where ${taxOf(BACK)}`],
    TAX_OF_ONE,
  ],
  ['what was settled before it', [`update settlements set settled_before_minor = 2230 where ${FIFTY}`], TAX_OF_ONE],
  [
    'the tax that was settled before it',
    [`update settlement_taxes set settled_before_minor = 330 where ${taxOf(FIFTY)}`],
    TAX_OF_ONE,
  ],
  [
    'the name of its tax',
    [`update settlement_taxes set name = 'GST' where ${taxOf(LINES)}`],
    /^settlements: settlement #.*: tax VAT at 0.23 says 2.30 USD GST, should say 2.30 USD VAT/,
  ],
  [
    'one that is gone',
    [`delete from settlement_taxes where ${taxOf(LINES)}`, `delete from settlements where ${LINES}`],
    /^settlements: credit note #.*: what is settled of it says 0.00 USD, should say .*exactly, 12.30 USD/,
  ],
  [
    'one of an open note that is gone',
    [`delete from settlement_taxes where ${taxOf(TWENTY)}`, `delete from settlements where ${TWENTY}`],
    /^ledger entries: settlement #.*tax_taken_back of VAT at 0.23 says .*, should say nothing/,
  ],
  [
    'one that is there twice',
    [
      `insert into settlements (account_id, customer_id, negative_adjustment_id, invoice_id, basis, gross_minor, settled_before_minor, dated)
        select account_id, customer_id, negative_adjustment_id, invoice_id, basis, gross_minor, settled_before_minor, dated from settlements where ${FIFTY}`,
    ],
    /^settlements: credit note #.*: what is settled of it says 100.00 USD, should say .*50.00 USD/,
  ],
  [
    'another invoice',
    [
      `update settlements set invoice_id = (select max(invoice_id) from invoices where ${OURS} and total_minor = 18327) where ${FIFTY}`,
    ],
    /^invoices: invoice #.*: what is credited of it says 1.00 USD, should say 51.00 USD/,
  ],
  [
    'another invoice of one of the service',
    [
      `update settlements set invoice_id = (select max(invoice_id) from invoices where ${OURS} and total_minor = 18327) where ${BACK}`,
    ],
    /^settlements: settlement #.*: invoice says .*, should say that of its note/,
  ],
  [
    'an entry that is missing',
    [
      `delete from ledger_rows where ${OURS} and record_type = 'settlement' and record_id = (select settlement_id from settlements where ${FIFTY})`,
    ],
    /^ledger entries: settlement #.*tax_taken_back of VAT at 0.23 says nothing/,
  ],
  [
    'what is credited of its invoice',
    [`update invoices set credited_minor = credited_minor + 1 where ${OURS} and total_minor = 18327`],
    /^invoices: invoice #.*: what is credited of it says 82.31 USD, should say 82.30 USD/,
  ],
  [
    'one that passes for an old one',
    [`update settlements set is_old = true, settled_before_minor = null where ${FIFTY}`],
    /^ledger entries: settlement #.*tax_taken_back of VAT at 0.23 says 9.35 USD .*, should say nothing/,
  ],
  [
    'its day',
    [`update settlement_taxes set dated = '2027-01-02' where ${taxOf(LINES)}`],
    /^ledger entries: settlement #/,
  ],
  [
    'an end that never was',
    [`update settlements set ended_on = '2027-01-01' where ${TWENTY}`],
    /^(ledger entries|settlements): settlement #/,
  ],
])('%s', async (_, statements, what) => {
  expect(reported(await tampered(...statements))).toContainEqual(expect.stringMatching(what))
})
