import { expect, test, vi } from 'vitest'
import { workersOf } from '../../bench/measure/processes.ts'
import { call, runProgram, serve, type Serving, startedFolder, startProgram, testFolder } from './program.ts'

/** `work --workers n`: several workers under one command. */

const ofAccount = async (env: { DATA_DIR: string }) => {
  const made = await runProgram(['account', 'create', '--test', '--clock', '2027-01-31', '--json'], env)
  const { AccountID, ApiKey } = JSON.parse(made.out)
  return { account: AccountID, key: ApiKey }
}

/** Asks for a run, and waits until a worker has finished it. */
async function runOf(service: Serving, credentials: { account: number; key: string }): Promise<void> {
  const { body } = await call(service, credentials, '/v1/billingruns', {})
  const path = `/v1/billingruns/${body.billingRunID}`
  await expect.poll(async () => (await call(service, credentials, path)).body.State).toBe('done')
}

test('starts so many, starts each again that ends, and ends with all of them', async () => {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'info' }
  const service = await serve(env, ['--no-worker'])
  const credentials = await ofAccount(env)
  const working = startProgram(['work', '--workers', '2', '--json'], env)
  const [line] = await working.says(/^\{.*\}$/m)
  expect(JSON.parse(line)).toEqual({ State: 'working' })
  const workers = () => workersOf(working.child.pid ?? 0)
  const [killed = 0, other = 0] = workers()
  expect(workers()).toHaveLength(2)
  process.kill(killed, 'SIGKILL')
  await runOf(service, credentials)
  await vi.waitUntil(() => workers().length === 2 && !workers().includes(killed), { timeout: 120_000 })
  expect(workers()).toContain(other)
  const replaced = workers().find((pid) => pid !== other) ?? 0
  process.kill(other, 'SIGKILL')
  await vi.waitUntil(() => workers().length === 2 && !workers().includes(other), { timeout: 120_000 })
  await runOf(service, credentials)
  working.child.kill('SIGTERM')
  const { code, err } = await working.ended
  expect(code).toBe(0)
  expect(err.match(/"the worker has ended; it is started again"/g)).toHaveLength(2)
  for (const pid of [killed, other, replaced]) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('ends as the first worker did where that is refused, whose reason is written once', async () => {
  const { code, out, err } = await runProgram(['work', '--workers', '3'], { DATA_DIR: testFolder() })
  expect({ code, out, err }).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringMatching(/^No service runs on .*\n$/),
  })
})

test('is refused for more workers than a database has connections for', async () => {
  const { code, err } = await runProgram(['work', '--workers', '17'], { DATA_DIR: testFolder() })
  expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('a whole number from 1 to 16') })
})
