import { pause } from './mail.ts'
import { asOwner } from './measure/database.ts'
import type { Service } from './measure/service.ts'
import { call } from './neighbours.ts'
import { CATALOGUE, RECORDS } from './seed-run.ts'

/** Billing runs of a service's own worker, month after month. */

interface Run {
  billingRunID: number
  State: string
  StartedDate: string
  FinishedDate: string
  Invoices: number
  Failed: number
}

/** Subscriptions in the service's one account, whose second month is due. */
export async function fill(service: Service, count: number): Promise<void> {
  await asOwner(service.connection, async (client) => {
    await client.query(CATALOGUE)
    for (const statement of RECORDS.split(';')) await client.query(statement, [count])
    for (const table of ['customer', 'subscription'])
      await client.query(`select setval(pg_get_serial_sequence('${table}s', '${table}_id'), $1)`, [count])
    await client.query('vacuum (analyze)')
  })
}

/** Bills the month that is due at this turn; its seconds. */
export async function billMonth(service: Service, turn: number, count: number): Promise<number> {
  const day = new Date(Date.UTC(2027, 1 + turn, 1, 12)).toISOString()
  await asOwner(service.connection, (client) => client.query('update accounts set clock_at = $1', [day]))
  let run = await call<Run>(service, 'POST', '/v1/billingruns')
  for (; run.State !== 'done'; run = await call<Run>(service, 'GET', `/v1/billingruns/${run.billingRunID}`))
    await pause(100)
  if (run.Invoices !== count || run.Failed !== 0)
    throw new Error(`${run.Invoices} invoices and ${run.Failed} failures instead of ${count} invoices`)
  return (Date.parse(run.FinishedDate) - Date.parse(run.StartedDate)) / 1000
}
