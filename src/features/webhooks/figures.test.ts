import { expect, test } from 'vitest'
import { sql } from '../../platform/database/sql.ts'
import { newCustomer, startReceiver, timed, withStatus } from './webhooks.testing.ts'

/** Webhooks in /metrics. */

let clockMs = 0
const { service, work, pass, hooked } = await timed({ clock: () => clockMs })

/** Reads the figures of webhooks as Prometheus does; later than what was found before is kept. */
async function figures(): Promise<Record<string, number>> {
  clockMs += 10_000
  const { text } = await service.anonymous.get('/metrics')
  const lines = text.split('\n').filter((line) => line.startsWith('perennial_webhook'))
  return Object.fromEntries(
    lines.map((line) => {
      const [name = '', value] = line.split(' ')
      return [
        name.replace(/perennial_(?:(webhook_)|webhooks)/, '$1').replace(/\{state="(\w+)"\}/, ' $1'),
        Number(value),
      ]
    }),
  )
}

const NOTHING = {
  'webhook_deliveries waiting': 0,
  'webhook_deliveries failed': 0,
  webhook_oldest_wait_seconds: 0,
  ' active': 0,
  ' failing': 0,
  ' disabled': 0,
  ' off': 0,
}

test('deliveries that wait and that were given up, the oldest wait, and endpoints by state are shown of all accounts together', async () => {
  expect(await figures()).toEqual(NOTHING)

  const [good, bad, gone] = [await startReceiver(), await startReceiver(), await startReceiver()]
  const taken = await hooked(good.url, { Types: ['customer.*'] })
  const refused = await hooked(bad.url, { Types: ['customer.*'] })
  const left = await hooked(gone.url, { Types: ['customer.*'] })
  bad.answers(withStatus(500))
  gone.answers(withStatus(410))
  for (const { client } of [taken, refused, left]) await newCustomer(client)
  // The database's clock writes when a delivery was made; here real time is the test's.
  for (const { client } of [taken, refused, left])
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`update webhook_deliveries set created_at = '2027-01-01T12:00:00Z' where account_id = ${client.id}`),
    )
  pass(60)
  expect(await figures()).toEqual({
    ...NOTHING,
    'webhook_deliveries waiting': 3,
    webhook_oldest_wait_seconds: 60,
    ' active': 3,
  })

  await work()
  expect(await figures()).toEqual({
    ...NOTHING,
    'webhook_deliveries waiting': 1,
    'webhook_deliveries failed': 1,
    ' active': 1,
    ' failing': 1,
    ' disabled': 1,
  })

  // Its second try is due 5 s after the first; nobody makes it.
  pass(65)
  expect(await figures()).toMatchObject({ webhook_oldest_wait_seconds: 60 })
  await refused.client.put(`/v1/webhooks/${refused.webhookID}`, { isActive: false })
  expect(await figures()).toEqual({
    ...NOTHING,
    'webhook_deliveries failed': 2,
    ' active': 1,
    ' disabled': 1,
    ' off': 1,
  })
})
