import { asOwner, settle } from './measure/database.ts'
import { spread, tellTable, tellVerdicts, median } from './measure/figures.ts'
import { drive, httpGet } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { CUSTOMERS, PAID_INVOICES } from './seed-money.ts'

/** Reading one invoice with its lines, taxes and money, among many: what it costs the database, most of which was planning. */

const DATABASE_GOAL_US = 400
const CALLERS = 8

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
    const next = () => httpGet(`/v1/invoices/${1 + Math.floor(Math.random() * invoices)}`, service.authorization)
    const turns: Record<'node' | 'database', number>[] = []
    // The first warms up.
    for (let turn = 0; turn <= times; turn += 1) {
      const [node, database] = [service.nodeCpu(), service.databaseCpu()]
      const { answers } = await drive({ port: service.port, seconds, next, callers: CALLERS, status: 200 })
      const micros = (cpuSeconds: number) => (cpuSeconds * 1e6) / answers
      if (turn > 0)
        turns.push({ node: micros(service.nodeCpu() - node), database: micros(service.databaseCpu() - database) })
    }
    const database = turns.map((turn) => turn.database)
    tellTable(
      ['reading one invoice', 'service'],
      [
        ['CPU of Node an answer, µs', spread(turns.map(({ node }) => node))],
        ['CPU of PostgreSQL an answer, µs', spread(database)],
      ],
    )
    const reached = `${median(database).toFixed(0)} µs`
    const isMet = median(database) <= DATABASE_GOAL_US
    const goal = `reading one invoice: at most ${DATABASE_GOAL_US} µs of the database`
    tellVerdicts([{ goal, reached, isMet }], { isSmoke })
  } finally {
    await service.stop()
  }
}
