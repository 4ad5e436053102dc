import { bundled } from './measure/children.ts'
import { startServer } from './measure/database.ts'
import { median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { measureRun } from './measure/run.ts'
import { RENEWS_ON, seed } from './seed-run.ts'

/** Works a billing run by one worker and by two, by turns. */

const GOAL = 1.5

export async function benchWorkers(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const { count, times, isSmoke } = options
  const server = await startServer()
  try {
    await tellMachine(server.connectionTo('postgres'))
    const program = await bundled('subject/billing-run.ts')
    const template = `seeded_${count}`
    await seed(server, template, { count })
    const seconds: [alone: number[], both: number[]] = [[], []]
    for (let turn = 0; turn < times; turn += 1)
      for (const helpers of [0, 1] as const) {
        const said = await measureRun(server, program, { template, count, until: RENEWS_ON, helpers })
        seconds[helpers].push(said.seconds)
        tell(
          `  ${helpers + 1} at work: ${said.seconds.toFixed(2)} s, CPU of the leader ${said.cpu.toFixed(2)}, of the database ${said.database.toFixed(2)} s`,
        )
      }
    const rates = seconds.map((all) => spread(all.map((one) => count / one)))
    tellTable(
      [`${count.toLocaleString('en')} invoices`, 'one worker', 'two workers'],
      [['invoices a second', rates[0] as string, rates[1] as string]],
    )
    const ratio = median(ratioOf(seconds[0], seconds[1]))
    tellVerdicts(
      [
        {
          goal: `two workers at least ${GOAL} × the rate of one`,
          reached: `${ratio.toFixed(2)} ×`,
          isMet: ratio >= GOAL,
        },
      ],
      { isSmoke },
    )
  } finally {
    await server.stop()
  }
}
