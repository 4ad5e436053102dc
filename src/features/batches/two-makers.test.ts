import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listAllGateways } from '../gateways/queries.ts'
import { acting, untilAwaited } from '../money/money.testing.ts'
import { account } from './batches.testing.ts'
import { openBatchFor } from './of-service.ts'

/** Two workers that fill batches of the service at once. */

const service = await startTestService()

test('customers with debits of the same two days, in another order, wait for each other: nobody begins again', async () => {
  const { client } = await account(service)
  let runs = 0
  const filling = (work: (open: (day: string) => Promise<bigint>, tx: Transaction) => Promise<bigint[]>) =>
    acting(service, client, async (tx, context) => {
      runs += 1
      const [gateway] = await listAllGateways(tx, tx.account)
      const open = async (actionDate: string) =>
        (await openBatchFor(tx, context, gateway!, { currency: 'USD', actionDate })).id
      return work(open, tx)
    })
  const [made] = await filling(async (open) => [await open('2027-01-05')])
  let second: Promise<bigint[]> | undefined
  const first = await filling(async (open, tx) => {
    const tuesday = await open('2027-01-05')
    second = filling(async (openToo) => [await openToo('2027-01-06'), await openToo('2027-01-05')])
    await untilAwaited(tx)
    return [await open('2027-01-06'), tuesday]
  })
  expect(await second).toEqual(first)
  expect(first[1]).toBe(made)
  expect(runs).toBe(3)
})
