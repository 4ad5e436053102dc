import { setTimeout as delay } from 'node:timers/promises'
import { asOwner, settle } from './measure/database.ts'
import { spread, tell, tellVerdicts, median } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { measureBoth, tellSamples } from './read.ts'
import { CUSTOMERS, PAID_INVOICES } from './seed-money.ts'

/**
 * Reading one invoice with its lines, taxes and money, among many: what it costs the database, beside a bare server that reads the same by one
 * statement.
 */

const DATABASE_GOAL_US = 400
const CALLERS = 8

/** Measures what PostgreSQL does while nobody asks: a part of what every answer seems to cost. */
async function tellIdle(service: Service, times: number, seconds: number): Promise<void> {
  const idle: number[] = []
  for (let turn = 0; turn < times; turn += 1) {
    const before = service.databaseCpu()
    await delay(seconds * 1000)
    idle.push(((service.databaseCpu() - before) * 1000) / seconds)
  }
  tell(`CPU of PostgreSQL while nobody asks, ms a second: ${spread(idle)}`)
}

export async function benchInvoice({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const invoices = isSmoke ? 200 : 10_000
  const seconds = isSmoke ? 0.2 : 3
  const service = await startService()
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (client) => {
      await client.query(CUSTOMERS, [invoices / 10])
      for (const statement of PAID_INVOICES) await client.query(statement, [invoices, invoices / 10])
      await client.query('vacuum (analyze)')
    })
    await settle(service.connection)
    await tellIdle(service, times, seconds)
    const title = 'reading one invoice'
    const path = () => `/v1/invoices/${1 + Math.floor(Math.random() * invoices)}`
    const { floors, subjects } = await measureBoth(
      service,
      { title, statement: 'read-invoice', path },
      { times, seconds, callers: CALLERS },
    )
    tellSamples(title, floors, subjects)
    const micros = median(subjects.map(({ database }) => database)) * 1e6
    const reached = `${micros.toFixed(0)} µs`
    const goal = `${title}: at most ${DATABASE_GOAL_US} µs of the database`
    tellVerdicts([{ goal, reached, isMet: micros <= DATABASE_GOAL_US }], { isSmoke })
  } finally {
    await service.stop()
  }
}
