import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { invoiceOf } from '../money/money.testing.ts'
import { reported, tamperWith } from './tamper.testing.ts'

/** Faults planted in reliefs of bad debt, and in what was recovered of one after its books were closed. */

const service = await startTestService()
let client: TestClient
const { tampered } = await tamperWith(service, () => client)

beforeAll(async () => {
  client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ Perc: 0.23 }] })
  const customerID: number = (await client.post('/v1/customers', { Name: 'Acme', isCompany: true })).body.customerID
  const invoiceID = await invoiceOf(client, customerID, { Charges: [{ UnitCostEx: 26.29 }] })
  await client.put('/v1/clock', { Now: '2027-02-10' })
  const debt = (Amount: number) => ({
    customerID,
    Type: 'negative',
    AdjustmentType: 'bad_debt',
    Ref: 'lost',
    Date: '2027-01-10',
    Amount,
    LinkedAllocations: [{ objectID: invoiceID, AmtAllocated: Amount, isAdjustment: false }],
  })
  const sent = { ...debt(16.34), TaxReliefDate: '2027-01-12' }
  const { AdjustmentID } = (await client.post('/v1/adjustment/add', sent)).body
  await client.put('/v1/account', { LockDate: '2027-01-31' })
  expect((await client.put('/v1/adjustment/edit', { ...debt(6.34), AdjustmentID })).status).toBe(204)
  expect(await differencesOf(service, client)).toEqual([])
})

const STANDS = 'account_id = :account and ended_on is null'
const ENDED = 'account_id = :account and ended_on is not null'
const ofOnes = (which: string) =>
  `account_id = :account and settlement_id in (select settlement_id from settlements where ${which})`

test.each([
  [
    'the tax',
    `update settlement_taxes set amount_minor = 120 where ${ofOnes(STANDS)}`,
    /^settlements: settlement #.*: tax VAT at 0.23 says/,
  ],
  [
    'the tax of one that ended',
    `update settlement_taxes set amount_minor = 305 where ${ofOnes(ENDED)}`,
    /^settlements: settlement #.*: tax VAT at 0.23 says/,
  ],
  [
    'what was settled before',
    `update settlements set settled_before_minor = 2000 where ${STANDS}`,
    /^settlements: settlement #.*: tax VAT at 0.23 says/,
  ],
  [
    'more than is allocated',
    `update settlements set gross_minor = 635 where ${STANDS}`,
    /what is relieved of it for an invoice says 6.35.*, should say at most 6.34/,
  ],
  [
    'the basis',
    `update settlements set basis = 'amount' where ${STANDS}`,
    /^settlements: settlement #.*: basis says amount, should say that of a bad_debt/,
  ],
  [
    'its day',
    `update settlement_taxes set dated = '2027-02-09' where ${ofOnes(STANDS)}`,
    /^ledger entries: settlement #.*bad_debt_tax_relieved of VAT at 0.23 says .*2027-02-10, should say .*2027-02-09/,
  ],
  [
    'the day of its end',
    `update settlements set ended_on = '2027-02-09' where ${ENDED}`,
    /^settlements: settlement #.*: end says 0.00.*2027-02-09.*, should say 3.06/,
  ],
  [
    'an end that never was',
    `update settlements set ended_on = '2027-02-10' where ${STANDS}`,
    /^ledger entries: settlement #.*bad_debt_tax_relieved of VAT at 0.23 says .*, should say nothing/,
  ],
  [
    'an end that is forgotten',
    `update settlements set ended_on = null where ${ENDED}`,
    /^ledger entries: settlement #.*bad_debt_tax_relieved of VAT at 0.23 says nothing/,
  ],
  [
    'a relief that is gone',
    `delete from settlements where ${STANDS}`,
    /^ledger entries: settlement #.*bad_debt_tax_relieved .*should say nothing/,
  ],
  [
    'the amount recovered',
    `update bad_debt_recoveries set amount_minor = 900 where account_id = :account`,
    /^ledger entries: negative adjustment #.*bad_debt_recovered says 10.00.*, should say 9.00/,
  ],
  [
    'the day recovered',
    `update bad_debt_recoveries set dated = '2027-02-08' where account_id = :account`,
    /^ledger entries: negative adjustment #.*bad_debt_recovered says .*2027-02-10, should say .*2027-02-08/,
  ],
])('%s', async (_, statement, what) => {
  expect(reported(await tampered(statement))).toContainEqual(expect.stringMatching(what))
})
