import { expect, inject, onTestFinished, test } from 'vitest'
import { Machines } from './machines.ts'
import { whyNotApart } from './network.ts'
import { startedFolder, testFolder } from './program.ts'

/** Three services and two workers behind a balancer, a primary and two synchronous standbys, and all that happens to them in turn. */

const RECORDS = 8_000

const missing = whyNotApart()
if (missing !== undefined)
  test.skip(`machines as network namespaces, of which a link is taken down: not run, because ${missing}`, () => {})

test('while machines end, leave, come back and fall silent nothing is lost or done twice, and callers see 503 for a while and nothing else', async () => {
  const machines = new Machines({
    root: testFolder(),
    isApart: missing === undefined,
    before: { folder: startedFolder(), key: inject('started').key },
    serves: 3,
    works: 2,
    records: RECORDS,
    firms: 3,
    pauseMs: 200,
    env: { DRAIN_SECONDS: '2' },
  })
  onTestFinished(() => machines.stop())
  await machines.start()
  let isOver = false
  const trading = machines.trade('first', () => isOver)
  await machines.untilAnswered(100)

  // A worker is killed while each of both bills a part of one run.
  const run = await machines.beginRun()
  await machines.until(async () => (await machines.partsHeld()) === 2)
  await machines.processes.end('work0', 'SIGKILL')

  await machines.processes.end('serve0', 'SIGKILL')
  await machines.untilAnswered(50)

  // One is drained, and comes back.
  expect(await machines.processes.end('serve1', 'SIGTERM')).toBe(0)
  await machines.startProcess('serve1')
  await machines.until(() => machines.balancer.ready().includes('serve1'))

  // The primary falls silent, and a standby is promoted; later the former one is there again.
  const former = machines.servers.freeze()
  await machines.servers.failOver()
  await machines.untilAnswered(100)
  await former.thaw()
  await machines.untilAnswered(50)

  expect((await machines.command('maintenance', 'on')).code).toBe(0)
  await machines.until(() => machines.tally.waits.has('503 maintenance'))
  expect((await machines.command('maintenance', 'off')).code).toBe(0)
  await machines.untilAnswered(50)

  isOver = true
  await trading
  await machines.untilRunIsDone(run)
  await machines.checkAll()
  expect(machines.tally.wrong).toEqual([])
  expect([...machines.balancer.cuts.keys()].filter((name) => name !== 'serve0')).toEqual([])
  expect(await former.usersSince()).toBe(0)
  expect(await machines.billed()).toEqual({ invoices: RECORDS, customers: RECORDS })
  expect(await machines.command('verify')).toMatchObject({ code: 0, err: '' })
})
