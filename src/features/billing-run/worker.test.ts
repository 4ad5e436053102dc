import pino from 'pino'
import { expect, test } from 'vitest'
import { workerDuties } from '../../duties.ts'
import { startTestService } from '../../../test/support/app.ts'
import { startWorker, type Worker } from '../../worker.ts'
import { addPackage, checkBooks } from '../../../test/support/shop.ts'
import { insertSubscribers, rateTermOf } from './run.testing.ts'

const service = await startTestService()
const log = pino({ level: 'silent' })

/** Waits until that many runs have been finished by any of the workers. */
function finishing(count: number) {
  let finished = 0
  let done = () => {}
  const all = new Promise<void>((resolve) => (done = resolve))
  return { all, onRunFinished: () => (finished += 1) === count && done() }
}

const startWorkers = (count: number, onRunFinished: () => void): Promise<Worker[]> =>
  Promise.all(
    Array.from({ length: count }, () =>
      startWorker({ db: service.db, log, realClock: Date.now }, workerDuties({ ...service.calling, onRunFinished })),
    ),
  )

async function accountWithDue(customers: number) {
  const client = await service.newAccount({ clockAt: '2027-01-01T08:00:00.000Z' })
  const plan = await addPackage(client)
  await insertSubscribers(service, client, { rateTermID: rateTermOf(plan), dueOn: '2027-01-01', customers })
  return client
}

test('workers side by side do every run that is asked for, each once, and stop when told', async () => {
  const { all, onRunFinished } = finishing(6)
  const workers = await startWorkers(2, onRunFinished)
  const clients = await Promise.all([accountWithDue(20), accountWithDue(20), accountWithDue(20)])
  for (const client of [...clients, ...clients]) expect((await client.post('/v1/billingruns')).status).toBe(201)
  await all
  await Promise.all(workers.map((worker) => worker.stop()))
  for (const client of clients) {
    const runs = (await client.get('/v1/billingruns')).body
    expect(runs.map(({ State }: any) => State)).toEqual(['done', 'done'])
    expect(runs.reduce((sum: number, { Invoices }: any) => sum + Invoices, 0)).toBe(20)
    expect((await client.get('/v1/invoices')).body).toHaveLength(20)
    await checkBooks(service, client)
  }
})

test('a worker that starts later finds the runs that nobody heard of', async () => {
  const client = await accountWithDue(3)
  await client.post('/v1/billingruns')
  const { all, onRunFinished } = finishing(1)
  const [worker] = await startWorkers(1, onRunFinished)
  await all
  await worker?.stop()
  expect((await client.get('/v1/invoices')).body).toHaveLength(3)
})
