import { join } from 'node:path'
import { expect, test } from 'vitest'
import { connectionTo } from '../../src/platform/postgres/connection.ts'
import { killInMoneyLoad } from './money-load.ts'
import { runProgram, serve, type Serving, startedFolder } from './program.ts'

const TIMES = 5

test('kill -9 among payments, credits, refunds and invoices: every acknowledged change is there, none is half, and the books verify', async () => {
  const DATA_DIR = startedFolder()
  const env = { DATA_DIR, LOG_LEVEL: 'warn' }
  let first: Serving | undefined
  const { acknowledged } = await killInMoneyLoad({
    times: TIMES,
    start: async () => {
      const service = await serve(env)
      first ??= service
      return { address: service.address, kill: () => service.child.kill('SIGKILL'), ended: service.ended }
    },
    authorization: () => `Basic ${Buffer.from(`${first?.account}:${first?.key}`).toString('base64')}`,
    account: () => BigInt(first?.account ?? 0),
    connection: connectionTo(join(DATA_DIR, 'postgres')),
    verify: async () => {
      const { code, out } = await runProgram(['verify'], env)
      expect(out).toContain('0 differences')
      expect(code).toBe(0)
    },
  })
  expect(acknowledged).toBeGreaterThan(40 * TIMES)
})
