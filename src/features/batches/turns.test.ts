import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { sql } from '../../platform/database/sql.ts'
import { account } from './batches.testing.ts'
import { listBatchesAtWork } from './queries.ts'

/** Batches of several accounts that wait to be built. */

const service = await startTestService()

test('the first batch of each account comes first, however many one of them has waiting', async () => {
  const [much, little] = [await account(service), await account(service)]
  for (const [{ client, batch }, count] of [
    [much, 150],
    [little, 1],
  ] as const) {
    await batch()
    await service.db.transaction(client.id, (tx) =>
      tx.rows(sql`
        insert into payment_batches (account_id, gateway_id, gateway_token, currency, action_date, state, created_at, submitted_at)
        select ${client.id}, b.gateway_id, b.gateway_token, b.currency, b.action_date, 'build', b.created_at, b.created_at
          from payment_batches b, generate_series(1, ${count}::int) where b.account_id = ${client.id}`),
    )
  }
  const listed = await listBatchesAtWork(service.db.unscoped)
  expect(listed).toHaveLength(100)
  expect(new Set(listed.slice(0, 2).map((one) => one.account))).toEqual(new Set([much.client.id, little.client.id]))
})
