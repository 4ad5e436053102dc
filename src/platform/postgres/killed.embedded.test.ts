import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDataFolder } from './data-folder.ts'
import { joinEmbeddedPostgres } from './join.ts'
import {
  copyStarted,
  type KillableService,
  lastAcknowledged,
  makeTestFolder,
  startKillableService,
} from './killable-service.testing.ts'
import { takeLock } from './lock.ts'
import { findProcess, findServersIn } from './processes.ts'

const isLinux = process.platform === 'linux'

let folder: ReturnType<typeof makeTestFolder>
let dataDir: string
const services: KillableService[] = []

beforeEach(() => {
  folder = makeTestFolder()
  dataDir = join(folder.path, 'data')
})
afterEach(async () => {
  for (const service of services) service.child.kill('SIGKILL')
  await Promise.all(services.splice(0).map((service) => service.ended))
  const lock = await takeLock(openDataFolder(dataDir), () => undefined)
  lock.release()
  folder.remove()
})

function startService(through?: readonly string[]): KillableService {
  const service = startKillableService(dataDir, { through })
  services.push(service)
  return service
}

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/**
 * The reader that the guard started beside the server, and the guard. In this order: a service that sees its guard end lets go of the pipe,
 * and a reader that still runs then stops the server.
 */
function guardsOf(server: number): number[] {
  const guard = parentOf(server)
  const children = readFileSync(`/proc/${guard}/task/${guard}/children`, 'utf8').trim().split(' ').map(Number)
  return [...children.filter((pid) => pid !== server), guard]
}

function kill(...pids: number[]): void {
  for (const pid of pids) process.kill(pid, 'SIGKILL')
}

async function numbersIn(service: KillableService): Promise<{ count: number; highest: number }> {
  await service.said1((line) => line === 'ready')
  const client = new pg.Client(await joinEmbeddedPostgres({ dataDir }))
  client.on('error', () => undefined)
  await client.connect()
  const { rows } = await client.query('select count(*)::int as count, max(n) as highest from numbers')
  await client.end()
  return rows[0]
}

describe.runIf(isLinux)('no acknowledged write is lost and the next start just works', () => {
  const victims: Record<string, (service: number, server: number) => number[]> = {
    'the service': (service) => [service],
    'the service and the guard': (service, server) => [service, ...guardsOf(server)],
    'the service, the guard and the database': (service, server) => [service, ...guardsOf(server), server],
    'the database': (_service, server) => [server],
  }

  test.each(Object.keys(victims))('killing %s under writes, twice over', async (name) => {
    copyStarted(dataDir)
    let acknowledged = 0
    for (const writes of [1, 157]) {
      const service = startService()
      await service.said1((line) => line === `ack ${acknowledged + writes}`)
      const [server = 0] = findServersIn(join(dataDir, 'postgres'))
      kill(...(victims[name]?.(service.child.pid ?? 0, server) ?? []))
      await service.ended
      acknowledged = lastAcknowledged(service)
    }
    const { count, highest } = await numbersIn(startService())
    expect(highest).toBeGreaterThanOrEqual(acknowledged)
    expect(count).toBe(highest)
  })

  test('when the service is killed at any step of its first start', async () => {
    const steps = ['making a database', 'starting PostgreSQL', 'ready to accept', 'does not exist', 'ready']
    for (const step of steps) {
      const service = startService()
      await service.said1((line) => line.includes(step))
      service.child.kill('SIGKILL')
      await service.ended
    }
    expect(await numbersIn(startService())).toBeDefined()
  })

  test('when the root of a container, who may not look into other processes, finds a database left behind', async () => {
    copyStarted(dataDir)
    const service = startService()
    await service.said1((line) => line === 'ack 3')
    const [server = 0] = findServersIn(join(dataDir, 'postgres'))
    kill(...guardsOf(server), service.child.pid ?? 0)
    const next = startService(
      process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace'] : [],
    )
    expect((await numbersIn(next)).count).toBeGreaterThanOrEqual(3)
    expect(next.said.join('\n')).toContain(`ending the database process ${server} `)
    expect(findProcess(server)).toBeUndefined()
  })
})

test('of three services that start at once on one folder one runs and two say who has it', async () => {
  const starting = [startService(), startService(), startService()]
  const first = await Promise.all(starting.map((one) => one.said1((line) => /^(ready|refused)/.test(line))))
  expect(first.filter((line) => line === 'ready')).toHaveLength(1)
  const winner = starting[first.indexOf('ready')]?.child.pid
  for (const line of first.filter((line) => line !== 'ready')) {
    expect(line).toContain(`The data folder ${dataDir} is in use by process ${winner}: `)
  }
})

test.runIf(isLinux)('a service whose database dies is told so', async () => {
  copyStarted(dataDir)
  const service = startService()
  await service.said1((line) => line === 'ack 1')
  kill(...findServersIn(join(dataDir, 'postgres')))
  expect(await service.said1((line) => line.startsWith('ended'))).toBe('ended {"code":137,"wasAsked":false}')
  await service.ended
  // Only a next start clears the shared memory that a killed database leaves.
  expect(await numbersIn(startService())).toBeDefined()
})
