import { expect, test } from 'vitest'
import { call, serve, type Serving, startedFolder } from './program.ts'

const WRITERS = 4
const ACKNOWLEDGED_MIN = 40

/** Writes customers one after the other until the service is gone; answers those that were acknowledged. */
async function write(service: Serving, credentials: Serving, name: string, acknowledged: number[]): Promise<void> {
  for (let n = 0; ; n += 1) {
    try {
      const { status, body } = await call(service, credentials, '/v1/customers', { Name: name, LastName: String(n) })
      expect(status).toBe(201)
      acknowledged.push(body.customerID)
      if (acknowledged.length === ACKNOWLEDGED_MIN) service.child.kill('SIGKILL')
    } catch (error) {
      if (service.child.exitCode !== null || service.child.signalCode !== null || service.child.killed) return
      throw error
    }
  }
}

test('kill -9 in the middle of writing loses nothing that was acknowledged, and the next start just works', async () => {
  const env = { DATA_DIR: startedFolder(), LOG_LEVEL: 'warn' }
  const first = await serve(env)
  const all: number[] = []
  for (let round = 0, service = first; round < 3; round += 1) {
    const acknowledged: number[] = []
    await Promise.all(
      Array.from({ length: WRITERS }, (_, writer) =>
        write(service, first, `round ${round} writer ${writer}`, acknowledged),
      ),
    )
    all.push(...acknowledged)
    await service.ended
    service = await serve(env)
    for (const id of all) expect((await call(service, first, `/v1/customers/${id}`)).status).toBe(200)
  }
  expect(all.length).toBeGreaterThanOrEqual(3 * ACKNOWLEDGED_MIN)
  expect(new Set(all).size).toBe(all.length)
})
