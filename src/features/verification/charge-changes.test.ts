import { beforeAll, expect, test } from 'vitest'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { differencesOf, moveTo } from '../../../test/support/shop.ts'
import { chargedPayment } from '../refunds/charged.testing.ts'
import { reported, tamperWith } from './tamper.testing.ts'

/** Faults planted in what was refunded at a gateway's console, and in what a gateway has named. */

const service = await startTestService()
let client: TestClient
const { tampered } = await tamperWith(service, () => client)

beforeAll(async () => {
  const shop = await chargedPayment(service, '4000000000003162')
  client = shop.client
  await moveTo(client, '2027-01-11')
  expect(await shop.refunds()).toMatchObject([{ Amount: 100, isFromGateway: true }])
  await chargedPayment(service, '4000000000003162', { client, now: '2027-01-11T12:00:00.000Z' })
  await moveTo(client, '2027-01-25')
  expect(await differencesOf(service, client)).toEqual([])
})

const OURS = 'account_id = :account'
const FIRST = `${OURS} and refund_id = (select min(refund_id) from payment_refunds where ${OURS})`
const CHANGE = `${OURS} and charge_id = (select min(charge_id) from charge_changes where ${OURS})`

test.each<[string, string[], RegExp]>([
  [
    'another amount of the adjustment',
    [`update payment_refunds set amount_minor = 9000 where ${FIRST}`],
    /^refunds of gateways: payment # of customer #: the adjustment of refund \d+ says 100.00 USD, should say 90.00 USD$/m,
  ],
  [
    'another day of it',
    [`update payment_refunds set dated = '2027-01-12' where ${FIRST}`],
    /^refunds of gateways: .*: the day of refund \d+ says 2027-01-11, should say 2027-01-12$/m,
  ],
  [
    'no adjustment',
    [`update payment_refunds set adjustment_id = null where ${FIRST}`],
    /^refunds of gateways: .*: the adjustment of refund \d+ says none, should say refund$/m,
  ],
  [
    'a refund that is not there',
    [`update payment_refunds set gateway_reference = 'another' where ${FIRST}`],
    /^changes of charges: charge # of customer #: its change \S+ says 100.00 USD, should say 0.00 USD, which its refund is$/m,
  ],
  [
    'a change of no payment',
    [`update charge_changes set charge_id = 999999, payment_id = null where ${CHANGE}`],
    /^changes of charges: charge #: its change \S+ says a change, should say none, for the charge is no payment$/m,
  ],
  [
    'a change that names a payment of another charge',
    [`update charge_changes set payment_id = (select max(payment_id) from payments where ${OURS}) where ${CHANGE}`],
    /^changes of charges: charge # of customer #: its change \S+ says payment #, should say a payment of the charge$/m,
  ],
  [
    'a name of two refunds',
    [
      'drop index perennial.payment_refunds_by_name',
      `update payment_refunds set gateway_reference = 're_1' where ${OURS}`,
    ],
    /^names of gateways: payment #: the name of refund \d+ says re_1, 2 times, should say once$/m,
  ],
])('%s is found', async (_, statements, expected) => {
  expect(reported(await tampered(...statements)).join('\n')).toMatch(expected)
})
