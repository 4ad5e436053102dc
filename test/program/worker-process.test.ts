import { readdirSync, readFileSync } from 'node:fs'
import { constants, getPriority } from 'node:os'
import { describe, expect, test, vi } from 'vitest'
import { workerOf as workerIn } from '../../bench/measure/processes.ts'
import { dataFolderAt } from '../../src/platform/postgres/data-folder.ts'
import { findServersIn } from '../../src/platform/postgres/processes.ts'
import { call, runProgram, serve, type Serving, startedFolder } from './program.ts'

/** The worker of a service is a process of its own: it ends with the service, and is started again where it ends alone. */

const workerNow = (service: Serving): number | undefined => workerIn(service.child.pid ?? 0)

const workerOf = (service: Serving, isOther = (_pid: number) => true): Promise<number> =>
  vi.waitUntil(
    () => {
      const pid = workerNow(service)
      return pid !== undefined && isOther(pid) && pid
    },
    { timeout: 30_000 },
  ) as Promise<number>

/** Processes of a database server that work for a connection. */
const backendsOf = (server: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isBackend(name, server))
    .map(Number)

function isBackend(pid: string, server: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(parent) === server && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('[local]')
  } catch {
    return false
  }
}

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function shop(env: { DATA_DIR: string }) {
  const made = await runProgram(['account', 'create', '--test', '--clock', '2027-01-31', '--json'], env)
  const { AccountID, ApiKey } = JSON.parse(made.out)
  return { account: AccountID, key: ApiKey }
}

/** Asks for a run, and waits until a worker has finished it. */
async function runOf(service: Serving, credentials: { account: number; key: string }): Promise<void> {
  const asked = await call(service, credentials, '/v1/billingruns', {})
  expect(asked.status).toBe(201)
  const path = `/v1/billingruns/${asked.body.billingRunID}`
  await expect.poll(async () => (await call(service, credentials, path)).body.State).toBe('done')
}

const secondsOfRuns = async (service: Serving): Promise<number> =>
  Number(/^perennial_run_seconds_total (\S+)/m.exec(await (await fetch(`${service.address}/metrics`)).text())?.[1])

describe('the worker of a service', () => {
  test('is started again when it was killed, works what waits, and its runs count in the metrics of the service', async () => {
    const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
    const service = await serve(env)
    const credentials = await shop(env)
    await runOf(service, credentials)
    await expect.poll(() => secondsOfRuns(service)).toBeGreaterThan(0)
    const before = await secondsOfRuns(service)
    const figures = async () => (await fetch(`${service.address}/metrics`)).text()
    expect(await figures()).toMatch(/^perennial_worker_resident_bytes \d{8}/m)
    expect(await figures()).toMatch(/^perennial_worker_database_connections\{state="idle"\} \d/m)
    const first = await workerOf(service)
    process.kill(first, 'SIGKILL')
    await expect.poll(figures).not.toMatch(/^perennial_worker_(resident_bytes|database_connections\S*) \d/m)
    await workerOf(service, (pid) => pid !== first)
    await runOf(service, credentials)
    await expect.poll(() => secondsOfRuns(service)).toBeGreaterThan(before)
    expect(service.said.err).toContain('the worker has ended; it is started again')
  })

  test('ends with a service that is killed, and with one that is stopped', async () => {
    const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const service = await serve(env)
      const worker = await workerOf(service)
      service.child.kill(signal)
      const { code } = await service.ended
      if (signal === 'SIGTERM') expect([code, isThere(worker)]).toEqual([0, false])
      await expect.poll(() => isThere(worker)).toBe(false)
    }
  })

  test('finishes its steps where both get the signal, as by Ctrl-C, and more than once', async () => {
    const service = await serve({ DATA_DIR: startedFolder(), LOG_LEVEL: 'info' })
    const worker = await workerOf(service)
    await expect.poll(() => service.said.err).toMatch(/"process":"worker".*"starting"/)
    await expect
      .poll(async () => (await fetch(`${service.address}/metrics`)).text())
      .toMatch(/^perennial_worker_resident_bytes \d/m)
    service.child.kill('SIGINT')
    for (let times = 0; times < 3 && isThere(worker); times += 1) process.kill(worker, 'SIGINT')
    const { code, err } = await service.ended
    expect(code).toBe(0)
    expect(err).toMatch(/"process":"worker".*"stopped"/)
    expect(err).not.toContain('the worker has ended')
  })

  test("comes after requests, and the database's processes that work for it do", async () => {
    const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
    const service = await serve(env)
    const credentials = await shop(env)
    await runOf(service, credentials)
    expect(getPriority(await workerOf(service))).toBe(constants.priority.PRIORITY_BELOW_NORMAL)
    const [server = 0] = findServersIn(dataFolderAt(env.DATA_DIR).cluster)
    const of = (priority: number) => backendsOf(server).filter((pid) => getPriority(pid) === priority)
    expect(getPriority(server)).toBe(0)
    expect(of(0).length).toBeGreaterThan(0)
    expect(of(constants.priority.PRIORITY_BELOW_NORMAL).length).toBeGreaterThan(0)
    expect(of(0).length + of(constants.priority.PRIORITY_BELOW_NORMAL).length).toBe(backendsOf(server).length)
    service.child.kill('SIGKILL')
    await service.ended
    // Without a worker nothing of the database comes after anything.
    const alone = await serve(env, ['--no-worker'])
    await call(alone, credentials, '/v1/customers')
    const [next = 0] = findServersIn(dataFolderAt(env.DATA_DIR).cluster)
    expect(new Set(backendsOf(next).map((pid) => getPriority(pid)))).toEqual(new Set([0]))
  })

  test('is not there where it is left to "perennial work"', async () => {
    const service = await serve({ DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }, ['--no-worker'])
    expect((await fetch(`${service.address}/readyz`)).status).toBe(200)
    expect(workerNow(service)).toBeUndefined()
  })
})
