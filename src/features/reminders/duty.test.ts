import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addCustomer } from '../../../test/support/shop.ts'
import { scheduleRuns } from '../billing-run/duties.ts'
import { finishRun, insertRun } from '../billing-run/queries.ts'
import { reminderDuty } from './duty.ts'

/** Reminders of accounts on real time, sent by workers. */

let realNow = Date.parse('2027-01-01T08:00:00Z')
const realClock = () => realNow
const service = await startTestService({ now: realClock })
const log = pino({ level: 'silent' })

const work = () => reminderDuty({}).run({ db: service.db, log, realClock }, () => {})
const schedule = () => scheduleRuns({ db: service.db, realClock, order: [] })

test('the day of a live account comes once its run is done, and several workers send each reminder once', async () => {
  const client = await service.newAccount({ clockAt: null })
  const customerID = await addCustomer(client, { Email: 'a@example.com' })
  const invoice = (DueDate: string) =>
    client.post('/v1/invoices', { customerID, DueDate, Charges: [{ UnitCostEx: 1 }] })
  await invoice('2027-01-10')
  await invoice('2027-01-12')
  const switchOn = (DaysBefore: number) =>
    client.put('/v1/collectionrules', { Reminders: [{ Kind: 'payment_due', DaysBefore, isActive: true }] })
  await switchOn(3)
  const count = async () =>
    (await client.get('/v1/outbox')).body.filter(({ Template }: any) => Template === 'payment_due').length

  realNow = Date.parse('2027-01-07T08:00:00Z')
  await work()
  expect(await count(), 'the scheduler has not looked on this day').toBe(0)
  await schedule()
  const run = await service.db.transaction(client.id, (tx) =>
    insertRun(tx, client.id, { cause: 'request', untilDate: '2027-01-07', createdAt: '2027-01-07T08:00:00.000Z' }),
  )
  await work()
  expect(await count(), 'a run is not done').toBe(0)
  await service.db.transaction(client.id, (tx) => finishRun(tx, client.id, run.id, '2027-01-07T08:01:00.000Z'))
  await Promise.all([work(), work(), work()])
  expect(await count()).toBe(1)
  await work()
  expect(await count()).toBe(1)
  await switchOn(5)
  await work()
  expect(await count(), 'changed rules are a pass of their own').toBe(2)
})
