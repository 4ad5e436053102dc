import { bundled, run } from './measure/children.ts'
import { type BenchServer, createDatabase, dropDatabase, settle, startServer } from './measure/database.ts'
import { median, ratioOf, spread, tell, tellTable, tellVerdicts } from './measure/figures.ts'
import { tellMachine } from './measure/machine.ts'
import { measureRun } from './measure/run.ts'
import { floorNamed, seedFloor } from './seed-floor.ts'
import { RENEWS_ON, seed } from './seed-run.ts'

/**
 * Works a billing run by one worker and by two, by turns. Beside it the floor of a run is worked by one program, and half of it by each of two that share
 * nothing but the machine and the server: how much two can do at once here.
 */

const GOAL = 1.5
const FLOOR = 'billing-run'

/** Seconds of one at work, and of two. */
type Turns = [one: number[], two: number[]]

/** Works the floor by so many programs, each in a database of its own. Returns the seconds of the slowest. */
async function workFloors(server: BenchServer, program: string, count: number, programs: number): Promise<number> {
  const share = count / programs
  const names = Array.from({ length: programs }, (_, place) => `floor_round_${place}`)
  const connections = []
  for (const name of names) connections.push(await createDatabase(server, name, floorNamed(FLOOR, share)))
  for (const connection of connections) await settle(connection)
  const said = connections.map(
    (connection) => run<{ seconds: number }>(program, { connection, count: share, lines: 1 }).said,
  )
  const seconds = (await Promise.all(said)).map((one) => one.seconds)
  for (const connection of connections) await settle(connection)
  for (const name of names) await dropDatabase(server, name)
  return Math.max(...seconds)
}

/** Works one turn of everything: one, then two. */
async function turn(server: BenchServer, programs: { run: string; floor: string }, count: number, found: Found) {
  for (const helpers of [0, 1] as const) {
    const wish = { template: `seeded_${count}`, count, until: RENEWS_ON, helpers }
    const said = await measureRun(server, programs.run, wish)
    found.run[helpers].push(said.seconds)
    const floor = await workFloors(server, programs.floor, count, helpers + 1)
    found.floor[helpers].push(floor)
    tell(
      `  ${helpers + 1} at work: ${said.seconds.toFixed(2)} s, CPU of the leader ${said.cpu.toFixed(2)}, of the database ${said.database.toFixed(2)} s; floor ${floor.toFixed(2)} s`,
    )
  }
}

interface Found {
  run: Turns
  floor: Turns
}

const ratio = ([one, two]: Turns): number => median(ratioOf(one, two))

export async function benchWorkers(options: { count: number; times: number; isSmoke: boolean }): Promise<void> {
  const { count, times, isSmoke } = options
  const server = await startServer()
  try {
    await tellMachine(server.connectionTo('postgres'))
    const programs = { run: await bundled('subject/billing-run.ts'), floor: await bundled('floor/billing-run.ts') }
    await seed(server, `seeded_${count}`, { count })
    for (const share of [count, count / 2]) await seedFloor(server, FLOOR, share)
    const found: Found = { run: [[], []], floor: [[], []] }
    for (let turns = 0; turns < times; turns += 1) await turn(server, programs, count, found)
    const rates = ([one, two]: Turns) => [one, two].map((all) => spread(all.map((seconds) => count / seconds)))
    tellTable(
      [`${count.toLocaleString('en')} invoices a second`, 'one', 'two', 'two of one'],
      [
        ['run', ...rates(found.run), `${ratio(found.run).toFixed(2)} ×`],
        ['floor', ...rates(found.floor), `${ratio(found.floor).toFixed(2)} ×`],
      ],
    )
    const reached = ratio(found.run)
    tellVerdicts(
      [
        {
          goal: `two workers at least ${GOAL} × the rate of one`,
          reached: `${reached.toFixed(2)} ×; two floors at once: ${ratio(found.floor).toFixed(2)} ×`,
          isMet: reached >= GOAL,
        },
      ],
      { isSmoke },
    )
  } finally {
    await server.stop()
  }
}
