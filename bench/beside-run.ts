import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { asOwner, settle } from './measure/database.ts'
import { isNoisy, median, quantile, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { drive, httpGet, httpSend } from './measure/load.ts'
import { tellMachine } from './measure/machine.ts'
import { type Service, startService } from './measure/service.ts'
import { billMonth, fill } from './bill-months.ts'

/**
 * Callers of an account beside a billing run of the same account, which the service's worker does in a process of its own: how long 99 of 100 of
 * their requests take, by turns alone, beside a program that does nothing but count, and while the run lasts. They pause between requests, so that alone they
 * leave most of the machine idle. The program that counts takes one processor and nothing else: what callers lose to it, they lose to any work.
 */

const TIMES_ALONE = 1.5
const READERS = 8
const WRITERS = 4
const PAUSE_MS = 10

/** Milliseconds of each request. */
interface Latencies {
  reads: number[]
  writes: number[]
}

async function callFor(service: Service, seconds: number, count: number): Promise<Latencies> {
  const { port, authorization } = service
  const customer = JSON.stringify({ Name: 'Ada', LastName: 'Lovelace', CurrencyCode: 'USD', isCompany: false })
  const load = { port, seconds, pauseMs: PAUSE_MS }
  const [reads, writes] = await Promise.all([
    drive({
      ...load,
      callers: READERS,
      next: () => httpGet(`/v1/customers/${1 + Math.floor(Math.random() * count)}`, authorization),
      status: 200,
    }),
    drive({
      ...load,
      callers: WRITERS,
      next: () => httpSend('POST', '/v1/customers', authorization, customer),
      status: 201,
    }),
  ])
  return { reads: reads.latencies, writes: writes.latencies }
}

/** Calls beside a program of normal priority that counts: in a session of its own, because Linux shares processors between sessions. */
async function callBesideLoop(service: Service, seconds: number, count: number): Promise<Latencies> {
  const loop = spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore', detached: true })
  try {
    return await callFor(service, seconds, count)
  } finally {
    loop.kill('SIGKILL')
    await once(loop, 'exit')
  }
}

/** Calls until a run has ended; what was asked after its end is left out except for the last second. */
async function callBesideRun(service: Service, turn: number, count: number) {
  let isOver = false
  const run = billMonth(service, turn, count).finally(() => (isOver = true))
  const found: Latencies = { reads: [], writes: [] }
  while (!isOver) {
    const { reads, writes } = await callFor(service, 1, count)
    // Not spread: a long run has more than arguments can be.
    for (const one of reads) found.reads.push(one)
    for (const one of writes) found.writes.push(one)
  }
  return { found, seconds: await run }
}

const p99 = (of: (one: Latencies) => number[]) => (one: Latencies) => quantile(of(one), 0.99)
const KINDS = [
  ['reading one customer', ({ reads }: Latencies) => reads],
  ['adding a customer', ({ writes }: Latencies) => writes],
] as const

export async function benchBesideRun(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const { count, times, isSmoke } = options
  const service = await startService({ BOOTSTRAP_ACCOUNT_MODE: 'test' })
  try {
    await tellMachine(service.connection)
    if (!service.hasWorker()) throw new Error('the worker is no process of its own')
    await fill(service, count)
    await callFor(service, isSmoke ? 0.3 : 3, count)
    // Not measured: service and worker have worked for longer than a moment wherever a night's run meets callers.
    await callBesideRun(service, 0, count)
    const [alone, besideLoop, beside, seconds]: [Latencies[], Latencies[], Latencies[], number[]] = [[], [], [], []]
    for (let turn = 1; turn <= times; turn += 1) {
      // What the run before has left to clean would be cleaned while callers are measured alone.
      await asOwner(service.connection, (client) => client.query('vacuum (analyze)'))
      await settle(service.connection)
      alone.push(await callFor(service, isSmoke ? 0.5 : 10, count))
      besideLoop.push(await callBesideLoop(service, isSmoke ? 0.3 : 5, count))
      await settle(service.connection)
      const one = await callBesideRun(service, turn, count)
      beside.push(one.found)
      seconds.push(one.seconds)
      tell(`  round ${turn}: a run of ${one.seconds.toFixed(1)} s`)
    }
    tellTable(
      ['milliseconds', 'alone', 'beside a loop that counts', `beside a run of ${count.toLocaleString('en')}`],
      KINDS.flatMap(([title, of]) => {
        const row = (what: string, at: (one: Latencies) => number) => [
          `${title}, ${what}`,
          ...[alone, besideLoop, beside].map((kind) => spread(kind.map(at))),
        ]
        return [row('half within', (one) => median(of(one))), row('99 of 100 within', p99(of))]
      }),
    )
    tell(`runs: ${spread(seconds)} s`)
    for (const [title, of] of KINDS)
      if (isNoisy(alone.map(p99(of)))) tell(`noisy: ${title} alone moved more than twofold`)
    const verdicts = KINDS.map(([title, of]) => {
      const ratio = median(ratioOf(beside.map(p99(of)), alone.map(p99(of))))
      return {
        goal: `${title}: 99 of 100 beside the run within ${TIMES_ALONE} × of their time alone`,
        reached: `${ratio.toFixed(2)} ×`,
        isMet: ratio <= TIMES_ALONE,
      }
    })
    tellVerdicts(verdicts, { isSmoke })
  } finally {
    await service.stop()
  }
}
