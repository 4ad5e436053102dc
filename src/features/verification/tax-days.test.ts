import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf } from '../../../test/support/shop.ts'
import { daySummer } from '../ledger/days.testing.ts'
import { invoiceOf } from '../money/money.testing.ts'
import { reported, tamperWith } from './tamper.testing.ts'

/** Sums of what invoices of a day were taxed on that are not what these come to are found. */

const service = await startTestService()
const sumAllDays = await daySummer(service)
let client: TestClient
const { tampered } = await tamperWith(service, () => client)
beforeAll(async () => {
  client = await service.newAccount()
  await client.post('/v1/tax', { Name: 'VAT', rules: [{ countryID: 276, Perc: 0.15 }] })
  const customers = [{ countryID: 276 }, {}].map((more) => ({ Name: 'Acme', isCompany: true, ...more }))
  for (const customer of customers)
    await invoiceOf(client, (await client.post('/v1/customers', customer)).body.customerID)
  await sumAllDays()
})

test('sums that follow from their invoices are clean', async () => {
  expect(await differencesOf(service, client)).toEqual([])
})

const TAXED = 'account_id = :account and name is not null'
const GERMAN = 'tax days: account #: tax of 2027-01-01, VAT at 0.15 in country 276,'

test.each([
  [
    'of another base',
    `update tax_days set base_minor = base_minor + 1 where ${TAXED}`,
    [`${GERMAN} says 15.00 USD on 100.01 USD, should say 15.00 USD on 100.00 USD`],
  ],
  [
    'of another tax',
    `update tax_days set output_minor = output_minor - 1 where ${TAXED}`,
    [`${GERMAN} says 14.99 USD on 100.00 USD, should say 15.00 USD on 100.00 USD`],
  ],
  [
    'of another category',
    `update tax_days set category = 'Z' where ${TAXED}`,
    [
      `${GERMAN} says 0.00 USD on 0.00 USD, should say 15.00 USD on 100.00 USD`,
      `${GERMAN} says 15.00 USD on 100.00 USD, should say 0.00 USD on 0.00 USD`,
    ],
  ],
  [
    'that are gone',
    `delete from tax_days where account_id = :account and name is null`,
    [
      'tax days: account #: tax of 2027-01-01, without tax, says 0.00 USD on 0.00 USD, should say 0.00 USD on 100.00 USD',
    ],
  ],
])('sums %s are named', async (_, change, expected) => {
  expect(reported(await tampered(change)).toSorted()).toEqual(expected.toSorted())
})
