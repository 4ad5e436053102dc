import { asOwner, settle } from './measure/database.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { compare } from './read.ts'
import { CUSTOMERS, PAID_INVOICES } from './seed-money.ts'

/** A page of 100 invoices with charges, taxes and applied money, beside a bare server that answers the same bytes after one statement. */

const LIST_OF_FLOOR = 0.72
const PAGE_SIZE = 100

export async function benchInvoiceList({ times, isSmoke }: { times: number; isSmoke: boolean }): Promise<void> {
  const invoices = isSmoke ? 200 : 10_000
  const service = await startService()
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (client) => {
      await client.query(CUSTOMERS, [invoices / 10])
      for (const statement of PAID_INVOICES) await client.query(statement, [invoices, invoices / 10])
      await client.query('vacuum (analyze)')
    })
    await settle(service.connection)
    const list = {
      title: `a list of ${PAGE_SIZE} invoices with lines, taxes and money`,
      statement: 'list-invoices',
      limit: PAGE_SIZE + 1,
      ofFloor: LIST_OF_FLOOR,
      path: () => `/v1/invoices?page_size=${PAGE_SIZE}`,
    }
    await compare(service, [list], { times, isSmoke, seconds: isSmoke ? 0.2 : 3 })
  } finally {
    await service.stop()
  }
}
