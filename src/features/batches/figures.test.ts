import { expect, test } from 'vitest'
import { secondKeyOf, startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { updateMethodState } from '../payment-methods/queries.ts'
import { account } from './batches.testing.ts'

/** Batches and reports of gateways in /metrics. */

let nowMs = Date.parse('2027-01-01T12:00:00.000Z')
let clockMs = 0
const service = await startTestService({ now: () => nowMs, clock: () => clockMs })

/** Reads the figures as Prometheus does; later than what was found before is kept. */
async function figures(): Promise<Record<string, number>> {
  clockMs += 10_000
  const { text } = await service.anonymous.get('/metrics')
  const lines = text.split('\n').filter((line) => /^perennial_(batch|gateway_reports)/.test(line))
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value] = line.replace('perennial_', '').split(' ')
      return [name.replace(/\{state="(\w+)"\}/, ' $1'), Number(value)]
    }),
  )
}

const NOTHING = {
  'batches building': 0,
  'batches awaiting_release': 0,
  'batches failed': 0,
  batch_build_oldest_seconds: 0,
  batches_day_passed: 0,
  gateway_reports_waiting: 0,
}

/** Submits a batch of one line through a manual gateway. */
async function submitted(isInRealTime: boolean, isFourEyes = false) {
  const shop = await account(service, { isInRealTime })
  const { GatewayToken } = await shop.manual({ isFourEyes })
  const { BatchToken } = await shop.batch({ GatewayToken })
  const { customerID, paymentMethodID } = await shop.customer()
  await shop.line(BatchToken, { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] })
  await shop.must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05' })
  return { ...shop, BatchToken, paymentMethodID: BigInt(paymentMethodID) }
}

test('batches that are being built, wait for a release or failed, and reports that wait, are counted where real time is followed', async () => {
  await submitted(false)
  expect(await figures()).toEqual(NOTHING)

  const waiting = await submitted(true, true)
  const bad = await submitted(true)
  nowMs += 60_000
  const known = { ...NOTHING, 'batches building': 1, 'batches awaiting_release': 1, batch_build_oldest_seconds: 60 }
  expect(await figures()).toEqual(known)

  await service.db.transaction(bad.client.id, (tx) => updateMethodState(tx, bad.paymentMethodID, 'rejected'))
  await bad.build()
  expect(await figures()).toEqual({ ...NOTHING, 'batches awaiting_release': 1, 'batches failed': 1 })

  const other = await secondKeyOf(service, waiting.client)
  await other.put('/v1/batches/release', { BatchToken: waiting.BatchToken })
  nowMs += 30_000
  // Its wait counts from the release.
  expect(await figures()).toMatchObject({ 'batches building': 1, batch_build_oldest_seconds: 30 })

  await service.db.transaction(bad.client.id, (tx) =>
    tx.rows(sql`
      insert into gateway_reports (account_id, gateway_id, external_id, about, reference, received_at)
      select account_id, min(gateway_id), 'r1', 'charge', '9', now() from gateways where account_id = ${bad.client.id} group by account_id`),
  )
  expect(await figures()).toMatchObject({ gateway_reports_waiting: 1 })
})
