import { expect, test } from 'vitest'
import { ORDER_OF_DAY } from '../../duties.ts'
import { startTestService } from '../../../test/support/app.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { moveClock } from '../billing-run/clock.ts'
import { invoicesOf, moveTo, shop } from '../../../test/support/shop.ts'
import { sql } from '../../platform/database/sql.ts'
import { addComponent, modify, TIERS } from './components.testing.ts'

const service = await startTestService()

/** Collects the statements that transactions send meanwhile. */
async function countStatements(work: () => Promise<unknown>): Promise<number> {
  const { transaction } = service.db
  let said = 0
  service.db.transaction = ((account: bigint, inner: (tx: Transaction) => Promise<unknown>, ...more: []) =>
    transaction.call(
      service.db,
      account,
      (tx: Transaction) => {
        const rows = tx.rows.bind(tx)
        tx.rows = ((...given: Parameters<typeof rows>) => {
          said += 1
          return rows(...given)
        }) as typeof tx.rows
        return inner(tx)
      },
      ...more,
    )) as typeof transaction
  await work()
  service.db.transaction = transaction
  return said
}

async function statementsFor(subscriptions: number): Promise<{ said: number; invoices: number }> {
  const { client, add } = await shop(service, { price: 31 })
  const seats = await addComponent(client)
  const messages = await addComponent(client, { type: 'metered', scheme: 'tiered', brackets: TIERS })
  const componentUsage = [
    { componentID: seats.componentID, NumUnits: 3 },
    { componentID: messages.componentID, NumUnits: 12 },
  ]
  for (let n = 0; n < subscriptions; n += 1) await add({ componentUsage })
  // The operation would move the clock on connections of its own, whose statements are not seen here.
  const wish = { account: client.id, to: '2027-02-01T00:00:00.000Z', actor: 'test' }
  const said = await countStatements(() =>
    moveClock({ db: service.db, realClock: Date.now, order: ORDER_OF_DAY }, wish),
  )
  return { said, invoices: (await invoicesOf(client)).length }
}

test('the run says as many statements for thirty subscriptions with components as for three', async () => {
  const [few, many] = [await statementsFor(3), await statementsFor(30)]
  expect([few.invoices, many.invoices]).toEqual([6, 60])
  expect(few.said).toBeGreaterThan(10)
  expect(many.said).toBe(few.said)
})

test('a run that moves a component writes no document; what its days and number do not say is one', async () => {
  const { client, add } = await shop(service, { price: 31 })
  const { componentID } = await addComponent(client)
  const { subscriptionID } = (await add({ componentUsage: [{ componentID, NumUnits: 3 }] })).body
  const stored = () =>
    service.db.transaction(client.id, (tx) =>
      tx.rows<{ invoiced: string | null; nextFrom: string }>(sql`
        select invoiced::text as "invoiced", next_from as "nextFrom" from subscription_components where account_id = ${client.id}`),
    )
  const steps: unknown[] = []
  for (const day of ['2027-02-01', '2027-03-01']) {
    await moveTo(client, day)
    steps.push(...(await stored()))
  }
  await modify(client, subscriptionID, [{ componentID, NumUnits: 2 }])
  const risen = '[{"from":"2027-03-01","wholeFrom":"2027-03-01","wholeUntil":"2027-04-01","highest":"3","nextPart":1}]'
  steps.push(...(await stored()))
  await moveTo(client, '2027-04-01')
  steps.push(...(await stored()))
  expect(steps).toEqual([
    { invoiced: null, nextFrom: '2027-03-01' },
    { invoiced: null, nextFrom: '2027-04-01' },
    { invoiced: risen, nextFrom: '2027-04-01' },
    { invoiced: null, nextFrom: '2027-05-01' },
  ])
})
