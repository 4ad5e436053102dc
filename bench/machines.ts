import { setTimeout as delay } from 'node:timers/promises'
import { Machines, type MachinesWish } from '../test/program/machines.ts'
import { whyNotApart } from '../test/program/network.ts'
import { RandomFailovers } from '../test/program/random-failovers.ts'
import { benchFolder } from './measure/database.ts'
import { median, ratioOf, tell, tellVerdicts, type Verdict } from './measure/figures.ts'
import { tellHost } from './measure/machine.ts'
import { cpuOfProcess, cpuOfTree } from './measure/processes.ts'

/**
 * Three services and two workers behind a balancer, to which at random moments happens what happens to machines; then how many connections a balancer sees
 * cut when services are stopped, what a write costs over three processes beside one, and what the watch of an idle service costs.
 */

const IDLE_CPU_MAX_MS = 2
const OF_ONE_MAX = 1.2
const PAUSE_MAX_MS = 3_000

const random = (most: number): number => Math.floor(Math.random() * most)

/** Starts machines in a folder of their own, and stops them after the work. */
async function withMachines<T>(wish: Omit<MachinesWish, 'root'>, work: (machines: Machines) => Promise<T>): Promise<T> {
  const folder = benchFolder()
  const machines = new Machines({ ...wish, root: folder.path })
  try {
    await machines.start()
    return await work(machines)
  } finally {
    await machines.stop()
    folder.remove()
  }
}

/** Things that happen to machines; callers have a moment before the next. */
const EVENTS: Record<string, (machines: Machines) => Promise<void>> = {
  'serve killed': async (machines) => {
    const name = machines.serves[random(machines.serves.length)] ?? ''
    await machines.processes.end(name, 'SIGKILL')
    await machines.startProcess(name)
  },
  'work killed': async (machines) => {
    const name = machines.works[random(machines.works.length)] ?? ''
    await machines.processes.end(name, 'SIGKILL')
    await machines.startProcess(name)
  },
  'serve drained': async (machines) => {
    const name = machines.serves[random(machines.serves.length)] ?? ''
    const code = await machines.processes.end(name, 'SIGTERM')
    machines.tally.check(code === 0, `${name} ended with ${code}`)
    await machines.startProcess(name)
  },
  'failed over': async (machines) => {
    const former = machines.servers.freeze()
    await delay(random(PAUSE_MAX_MS))
    await machines.servers.failOver()
    await machines.untilAnswered(50)
    await former.thaw()
    await machines.untilAnswered(20)
    machines.tally.check((await former.usersSince()) === 0, 'a former primary is used')
    await machines.servers.rejoin(former)
  },
  maintenance: async (machines) => {
    await machines.command('maintenance', 'on')
    await delay(random(PAUSE_MAX_MS))
    await machines.command('maintenance', 'off')
  },
}

const DEFAULT = { serves: 3, works: 2, records: 8_000, firms: 3, pauseMs: 50 }

/** Checks what has to be true at the end of a round, at which callers rest. */
async function check(machines: Machines, cutBefore: ReadonlySet<string>): Promise<void> {
  await machines.checkAll()
  for (const name of machines.balancer.cuts.keys())
    machines.tally.check(cutBefore.has(name), `connections to ${name} were cut, which nobody killed`)
  if (machines.tally.wrong.length > 0) throw new Error(machines.tally.wrong.slice(0, 20).join('\n'))
}

/** Lets things happen for so many minutes. */
async function benchEvents(machines: Machines, minutes: number): Promise<string> {
  const counts = new Map<string, number>()
  const killed = new Set<string>()
  const run = await machines.beginRun()
  const until = performance.now() + minutes * 60_000
  for (let round = 0; round === 0 || performance.now() < until; round += 1) {
    let isOver = false
    const trading = machines.trade(`round ${round}`, () => isOver)
    for (let n = 0; n < EVENTS_A_ROUND; n += 1) {
      await delay(random(PAUSE_MAX_MS))
      const names = Object.keys(EVENTS)
      const name = names[(round * EVENTS_A_ROUND + n) % names.length] ?? ''
      counts.set(name, (counts.get(name) ?? 0) + 1)
      for (const one of name === 'serve killed' ? machines.serves : []) killed.add(one)
      await EVENTS[name]?.(machines)
      process.stderr.write(`${name}; ${machines.tally.answers} answers\n`)
    }
    isOver = true
    await trading
    await check(machines, killed)
  }
  await machines.untilRunIsDone(run)
  const billed = await machines.billed()
  const books = await machines.command('verify')
  if (books.code !== 0 || billed.invoices !== billed.customers)
    throw new Error(`${JSON.stringify(billed)} ${books.out}`)
  return [...counts].map(([name, count]) => `${name} ${count} ×`).join(', ')
}

const EVENTS_A_ROUND = 5

/** Stops services behind the balancer, one after the other, while callers work. Returns how many requests were cut. */
async function benchDrain(machines: Machines, stops: number): Promise<number> {
  let isOver = false
  const trading = machines.trade('stops', () => isOver)
  const before = [...machines.balancer.cuts.values()].reduce((sum, one) => sum + one, 0)
  for (let n = 0; n < stops; n += 1) {
    const name = machines.serves[n % machines.serves.length] ?? ''
    await machines.processes.end(name, 'SIGTERM')
    await machines.startProcess(name)
    await machines.until(() => machines.balancer.ready().includes(name))
  }
  isOver = true
  await trading
  return [...machines.balancer.cuts.values()].reduce((sum, one) => sum + one, 0) - before
}

/** CPU-seconds of a write by 24 callers over so many services. */
async function cpuOfWrite(machines: Machines, addresses: readonly string[], seconds: number): Promise<number> {
  const cpu = () =>
    machines.serves.reduce(
      (sum, name) => sum + cpuOfProcess(machines.processes.pid(name)),
      cpuOfTree(machines.servers.postmaster),
    )
  const until = performance.now() + seconds * 1_000
  const before = cpu()
  let writes = 0
  const caller = async (place: number) => {
    for (let n = place; performance.now() < until; n += 1) {
      const { status } = await machines.addCustomer(addresses[n % addresses.length] ?? '')
      if (status !== 201) throw new Error(`answered ${status}`)
      writes += 1
    }
  }
  await Promise.all(Array.from({ length: 24 }, (_, place) => caller(place)))
  return (cpu() - before) / writes
}

/** CPU-seconds a second of a service that nobody asks for anything, and that nobody has asked yet. */
async function cpuOfIdle(machines: Machines, seconds: number): Promise<number> {
  await machines.balancer.close()
  await machines.processes.end('serve0', 'SIGKILL')
  await machines.startProcess('serve0')
  await delay(seconds * 250)
  const pid = machines.processes.pid('serve0')
  const before = cpuOfProcess(pid)
  await delay(seconds * 1_000)
  return (cpuOfProcess(pid) - before) / seconds
}

/** Lets so many random failovers happen, each of which is checked. */
async function benchFailovers(count: number): Promise<void> {
  const folder = benchFolder()
  const seed = process.env['FAILOVER_SEED'] ?? String(random(1_000_000))
  const failovers = new RandomFailovers({ root: folder.path, seed })
  const kinds = new Map<string, number>()
  let [lost, unknown] = [0, 0]
  try {
    await failovers.start()
    for (let n = 0; n < count; n += 1) {
      const told = await failovers.failOver()
      kinds.set(told.kind, (kinds.get(told.kind) ?? 0) + 1)
      lost += told.lost
      unknown += told.unknown
      process.stderr.write(`${n + 1}: ${told.kind}; ${told.lost} lost\n`)
    }
    const counted = [...kinds].toSorted().map(([kind, times]) => `${kind} ${times} ×`)
    tell(`${count} failovers of the seed ${seed}: ${counted.join('; ')}`)
    tell(
      `${failovers.made} records acknowledged, no identifier or number names two; ${lost} lost by asynchronous ones, ${lost - unknown} of them listed, ${unknown} acknowledged by services that died with the primary`,
    )
  } finally {
    await failovers.stop()
    folder.remove()
  }
}

/** Measures the CPU of a write over all services beside one, and of a service that nobody asks for anything. */
async function benchCpu(machines: Machines, isSmoke: boolean): Promise<Verdict[]> {
  const addresses = machines.serves.map((name) => machines.balancer.addressOf(name))
  const [one, several]: [number[], number[]] = [[], []]
  // What a process has not compiled yet costs several times as much.
  await cpuOfWrite(machines, addresses, isSmoke ? 1 : 30)
  for (let turn = 0; turn < (isSmoke ? 1 : 5); turn += 1) {
    one.push(await cpuOfWrite(machines, addresses.slice(0, 1), isSmoke ? 1 : 5))
    several.push(await cpuOfWrite(machines, addresses, isSmoke ? 1 : 5))
  }
  const ratio = median(ratioOf(several, one))
  const idle = (await cpuOfIdle(machines, isSmoke ? 2 : 60)) * 1_000
  return [
    {
      goal: `a write of 24 callers over ${addresses.length} services takes at most ${OF_ONE_MAX} × the CPU of one over one`,
      reached: `${ratio.toFixed(2)} × (${(median(one) * 1e6).toFixed(0)} and ${(median(several) * 1e6).toFixed(0)} µs)`,
      isMet: ratio <= OF_ONE_MAX,
    },
    {
      goal: `an idle service takes at most ${IDLE_CPU_MAX_MS} ms of CPU a second`,
      reached: `${idle.toFixed(2)} ms`,
      isMet: idle <= IDLE_CPU_MAX_MS,
    },
  ]
}

const PARTS = ['failovers', 'stops', 'cpu']

/** `part`: one of PARTS, or for how many minutes things happen before stops and CPU. */
export async function benchMachines({
  part,
  times,
  isSmoke,
}: {
  part: string
  times: number
  isSmoke: boolean
}): Promise<void> {
  const minutes = Number(part)
  if (Number.isNaN(minutes) && !PARTS.includes(part)) throw new Error(`${part} is none of ${PARTS.join(', ')}`)
  tellHost()
  if (part === 'failovers') return benchFailovers(times)
  const missing = whyNotApart()
  tell(missing === undefined ? 'each machine is a network namespace' : `machines are addresses of this one: ${missing}`)
  const small = {
    ...DEFAULT,
    ...(isSmoke && { serves: 2, works: 1, records: 100, firms: 1 }),
    isApart: missing === undefined,
    env: { DRAIN_SECONDS: '2' },
  }
  if (minutes > 0)
    await withMachines(small, async (machines) => {
      const happened = await benchEvents(machines, minutes)
      tell(
        `${happened}; ${machines.tally.answers} right answers, none lost or doubled; waits ${JSON.stringify(Object.fromEntries(machines.tally.waits))}`,
      )
    })
  const verdicts: Verdict[] = []
  await withMachines({ ...small, works: 0, records: 1 }, async (machines) => {
    if (part !== 'cpu') {
      const cuts = await benchDrain(machines, times)
      verdicts.push({ goal: `0 connections cut in ${times} stops`, reached: String(cuts), isMet: cuts === 0 })
    }
    if (part !== 'stops') verdicts.push(...(await benchCpu(machines, isSmoke)))
  })
  tellVerdicts(verdicts, { isSmoke })
}
