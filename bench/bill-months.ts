import { pause } from './mail.ts'
import { asOwner } from './measure/database.ts'
import type { Service } from './measure/service.ts'
import { call } from './neighbours.ts'
import { CATALOGUE, monthAfter, moveClock, RECORDS } from './seed-run.ts'

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
export const billMonth = (service: Service, turn: number, count: number): Promise<number> =>
  billDay(service, monthAfter(turn), count)

/** Moves the clock to noon of a day, and bills what is due on it, which is so many invoices; its seconds. */
export async function billDay(service: Service, day: string, count: number): Promise<number> {
  await moveClock(service.connection, day)
  let run = await call<Run>(service, 'POST', '/v1/billingruns')
  for (; run.State !== 'done'; run = await call<Run>(service, 'GET', `/v1/billingruns/${run.billingRunID}`))
    await pause(100)
  if (run.Invoices !== count || run.Failed !== 0)
    throw new Error(`${run.Invoices} invoices and ${run.Failed} failures instead of ${count} invoices`)
  return (Date.parse(run.FinishedDate) - Date.parse(run.StartedDate)) / 1000
}
