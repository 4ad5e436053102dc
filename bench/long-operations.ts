import { bundled, run } from './measure/children.ts'
import { asOwner, settle } from './measure/database.ts'
import { median, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { startService } from './measure/service.ts'
import { call, newCaller, newCustomer, prepareFiles } from './neighbours.ts'
import { YEAR } from './reports.ts'
import { CUSTOMERS } from './seed-money.ts'
import type { HostileSettings } from './subject/hostile.ts'

/** A live account's export alone, and while two other accounts send the worst files of a bank, one after the other: the three share one thread. */

const TIMES_ALONE = 3
const CUSTOMER_COUNT = 10_000
const ENTRIES_OF_INVOICE = 4

/** `count` is how many entries are exported. */
export async function benchLongOperations(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const service = await startService()
  const file = await bundled('subject/hostile.ts')
  const exporting = { port: service.port, authorization: service.authorization }
  const body = { Format: 'csv', From: '2026-01-01', To: '2027-12-31', CurrencyCode: 'USD' }
  /** Seconds of an export, from its request to its answer. */
  const once = async (): Promise<number> => {
    const begun = performance.now()
    const { exportID } = await call<{ exportID: number }>(exporting, 'POST', '/v1/exports', body)
    const seconds = (performance.now() - begun) / 1000
    await call(exporting, 'DELETE', `/v1/exports/${exportID}`)
    return seconds
  }
  const several = async (): Promise<number[]> => {
    const taken: number[] = []
    for (let time = 0; time < options.times; time += 1) taken.push(await once())
    return taken
  }
  try {
    await tellMachine(service.connection)
    await asOwner(service.connection, async (owner) => {
      await owner.query(CUSTOMERS, [CUSTOMER_COUNT])
      for (const statement of YEAR) await owner.query(statement, [options.count / ENTRIES_OF_INVOICE])
      await owner.query('vacuum (analyze)')
    })
    await settle(service.connection)
    await prepareFiles(exporting)
    const hostile: HostileSettings[] = []
    for (let count = 0; count < 2; count += 1) {
      const caller = await newCaller(service, 'live')
      const about = { statementOf: 1, longInvoice: 1, shops: [], callers: 1, firstDay: 1 + count }
      const contactOf = await newCustomer(caller)
      hostile.push({
        attacks: ['worstFiles'],
        hostile: caller,
        gatewayOf: await prepareFiles(caller),
        contactOf,
        ...about,
      })
    }
    await once()
    const alone = await several()
    const sending = hostile.map((settings) => run<object>(file, settings))
    await Promise.all(sending.map(({ said }) => said))
    await new Promise((resolve) => setTimeout(resolve, options.isSmoke ? 100 : 3_000))
    const beside = await several()
    for (const { process: child } of sending) child.send('stop')
    await Promise.all(sending.map(({ ended }) => ended))
    tellTable(
      [`an export of ${options.count.toLocaleString('en')} entries, s`, ''],
      [
        ['alone', spread(alone)],
        ['beside the files of two accounts', spread(beside)],
      ],
    )
    tell('the files: 30,000 entries each that match nothing, sent one after the other by two live accounts')
    const ratio = median(beside) / median(alone)
    const goal = `an export beside two accounts' worst files within ${TIMES_ALONE} × of alone`
    tellVerdicts([{ goal, reached: `${ratio.toFixed(2)} ×`, isMet: ratio <= TIMES_ALONE }], options)
  } finally {
    await service.stop()
  }
}
