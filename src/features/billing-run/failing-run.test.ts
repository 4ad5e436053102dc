import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import type { DutyDeps } from '../../platform/duty.ts'
import { dueKind } from './due-kind.ts'
import { runDuty } from './duties.ts'
import { moveLeases, newRun } from './run.testing.ts'

const service = await startTestService()

let tries = 0
let isBroken = true
const brokenKind = dueKind({
  recordType: 'broken',
  findAfter: async () => {
    tries += 1
    if (isBroken) throw new Error('the table is gone')
    return null
  },
  listCustomers: async () => [],
  listDue: async () => [],
  planner: async () => () => ({ state: { dueOn: null }, invoices: [], renewals: 0, ended: null }),
  apply: async () => {},
})

const lines: any[] = []
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const deps: DutyDeps = { db: service.db, log, realClock: Date.now }
const look = () => runDuty({ order: [[brokenKind]] }).run(deps, () => {})

test('a run that fails as a whole is tried again after waits that double up to an hour, and each failure is logged with its wait', async () => {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const run = await newRun(service, client.id, '2027-01-01')
  const waits = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]
  for (const [index, waitSeconds] of waits.entries()) {
    await look()
    expect(tries).toBe(index + 1)
    expect(lines.at(-1)).toMatchObject({ level: 50, run: String(run), attempts: index + 1, waitSeconds })
    await look()
    expect(tries, 'while it waits it is not tried').toBe(index + 1)
    // Over, or further ahead than a wait can be because the clock stepped back.
    await moveLeases(service, client.id, index % 2 === 0 ? '-1 second' : '2 days')
  }
  isBroken = false
  await look()
  expect((await client.get(`/v1/billingruns/${run}`)).body.State).toBe('done')
  expect(lines.at(-1)).toMatchObject({ level: 30, msg: 'billing run done' })
})

test('a run that fails does not keep the runs of other accounts from being worked', async () => {
  isBroken = true
  const clients = [await service.newAccount({}), await service.newAccount({})]
  for (const client of clients) await newRun(service, client.id, '2027-01-01')
  const before = tries
  await look()
  expect(tries).toBe(before + 2)
})
