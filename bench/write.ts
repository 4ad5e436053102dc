import { fileURLToPath } from 'node:url'
import { settle } from './measure/database.ts'
import { isNoisy, median, ratioOf, spread, tell, tellTable, tellVerdicts, type Verdict } from './measure/figures.ts'
import { drive, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { hasPgbench, pgbench } from './measure/pgbench.ts'
import { type Service, startService } from './measure/service.ts'

/** Adding customers over HTTP, each on disk before it is answered, beside pgbench running the same statements with as many callers. */

/** Alone each waits for its own commit; from 8 on there are others to share one with. */
const writeOfFloor = (callers: number): number => (callers >= 8 ? 0.6 : 0.4)
const CALLERS = [1, 8, 32]
const SCRIPT = fileURLToPath(new URL('floor/write-customer.sql', import.meta.url))

interface Sample {
  rate: number
  node: number
  database: number
}

async function overHttp(service: Service, callers: number, seconds: number): Promise<Sample> {
  const body = JSON.stringify({
    Name: 'Ada',
    LastName: 'Lovelace',
    Email: 'ada@example.com',
    CurrencyCode: 'USD',
    isCompany: false,
  })
  const request = httpSend('POST', '/v1/customers', service.authorization, body)
  const [node, database] = [service.nodeCpu(), service.databaseCpu()]
  const told = await drive({ port: service.port, callers, seconds, next: () => request, status: 201 })
  return {
    rate: told.answers / told.seconds,
    node: (service.nodeCpu() - node) / told.answers,
    database: (service.databaseCpu() - database) / told.answers,
  }
}

async function measure(service: Service, callers: number, times: number, seconds: number): Promise<Verdict> {
  const floors: Sample[] = []
  const subjects: Sample[] = []
  for (let turn = 0; turn <= times; turn += 1) {
    await settle(service.connection)
    const floor = { ...(await pgbench(service, SCRIPT, callers, seconds)), node: 0 }
    await settle(service.connection)
    const subject = await overHttp(service, callers, seconds)
    if (turn === 0 && times > 1) continue
    floors.push(floor)
    subjects.push(subject)
  }
  return judge(callers, floors, subjects)
}

function judge(callers: number, floors: readonly Sample[], subjects: readonly Sample[]): Verdict {
  const rates = (samples: readonly Sample[]) => samples.map(({ rate }) => rate)
  const micros = (values: readonly number[]) => spread(values.map((value) => value * 1e6))
  tellTable(
    [`${callers} callers`, 'service', 'pgbench'],
    [
      ['customers a second', spread(rates(subjects)), spread(rates(floors))],
      [
        'CPU of PostgreSQL each, µs',
        micros(subjects.map(({ database }) => database)),
        micros(floors.map(({ database }) => database)),
      ],
      ['CPU of Node each, µs', micros(subjects.map(({ node }) => node)), '–'],
    ],
  )
  if (isNoisy(rates(floors))) tell('noisy: the floor itself moved more than twofold')
  const ratio = median(ratioOf(rates(subjects), rates(floors)))
  return {
    goal: `adding customers with ${callers} callers at ${writeOfFloor(callers) * 100} % of pgbench`,
    reached: `${(ratio * 100).toFixed(0)} %`,
    isMet: ratio >= writeOfFloor(callers),
  }
}

export async function benchWrite(options: { times: number; isSmoke: boolean }): Promise<void> {
  if (!(await hasPgbench(options))) return
  const service = await startService()
  try {
    await tellMachine(service.connection)
    const verdicts: Verdict[] = []
    for (const callers of options.isSmoke ? [2] : CALLERS)
      verdicts.push(await measure(service, callers, options.times, options.isSmoke ? 1 : 3))
    tellVerdicts(verdicts, options)
  } finally {
    await service.stop()
  }
}
