import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { daySummer } from '../ledger/days.testing.ts'
import { moneyShop } from '../money/money.testing.ts'
import { reported, tamperWith } from './tamper.testing.ts'

/** Sums of the ledger by day that are not what was posted are found. */

const service = await startTestService()
const sumAllDays = await daySummer(service)
let client: TestClient
const { tampered } = await tamperWith(service, () => client)
beforeAll(async () => {
  ;({ client } = await moneyShop(service))
  await sumAllDays()
})

test('sums that follow from the entries are clean', async () => {
  expect(await differencesOf(service, client)).toEqual([])
})

test.each([
  [
    'of another amount',
    `update ledger_days set amount_minor = amount_minor + 1 where account_id = :account and tax_name is null`,
    ['ledger days: account #: sum of 2027-01-01, receivable → revenue, says 100.01 USD, should say 100.00 USD'],
  ],
  [
    'of another day',
    `update ledger_days set dated = dated + 1 where account_id = :account and tax_name is not null`,
    [
      'ledger days: account #: sum of 2027-01-01, receivable → tax VAT, says 0.00 USD, should say 15.00 USD',
      'ledger days: account #: sum of 2027-01-02, receivable → tax VAT, says 15.00 USD, should say 0.00 USD',
    ],
  ],
  [
    'that are gone',
    `delete from ledger_days where account_id = :account and tax_name is null`,
    ['ledger days: account #: sum of 2027-01-01, receivable → revenue, says 0.00 USD, should say 100.00 USD'],
  ],
])('sums %s are named', async (_, change, expected) => {
  expect(reported(await tampered(change))).toEqual(expected)
})
