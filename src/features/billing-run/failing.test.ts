import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { addTax, shop } from '../../../test/support/shop.ts'
import { ORDER_OF_DAY } from '../../duties.ts'
import { runDuty } from './duties.ts'

/** Records that cannot be billed, in the log and in /metrics. */

const WARN = 40
let nowMs = Date.parse('2027-03-01T12:00:00.000Z')
const lines: any[] = []
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
const service = await startTestService({ log, now: () => nowMs, clock: () => nowMs })

async function failing(mode: string): Promise<number> {
  nowMs += 10_000
  const { text } = await service.anonymous.get('/metrics')
  return Number(text.match(new RegExp(`^perennial_records_failing{mode="${mode}"} (.+)$`, 'm'))?.[1])
}

/** An account with a recurring invoice of which a tax makes too much. The name of the tax is in no log. */
async function failingShop() {
  const { client, customerID } = await shop(service)
  const RecurInvoiceCharges = [{ UnitCostEx: 9e11, Line: 'Secret rent' }]
  const { body } = await client.post('/v1/recurring-invoices', { customerID, RecurInvoiceCharges })
  await addTax(client, 'Secret tax', { Perc: 0.2 })
  return { client, id: body.recurInvoiceID }
}

const warnings = () => lines.splice(0).filter(({ level }) => level === WARN)

test('every failure, and every run with one, is a warning that names account, record and reason and nothing that was sent', async () => {
  const { client, id } = await failingShop()
  const facts = { account: String(client.id), record: `recurring_invoice ${id}`, reason: 'amount_too_large' }
  const moved = await client.put('/v1/clock', { Now: '2027-02-01T08:00:00.000Z' })
  expect(moved.body.Failed).toHaveLength(1)
  const text = JSON.stringify(lines)
  expect(text).not.toContain('Secret')
  expect(warnings()).toMatchObject([
    { ...facts, msg: 'a record could not be billed' },
    { account: facts.account, failed: 1, msg: 'clock moved, but not every record was billed' },
  ])
  const { billingRunID } = (await client.post('/v1/billingruns', {})).body
  await runDuty({ order: ORDER_OF_DAY }).run({ db: service.db, log, realClock: () => nowMs }, () => {})
  expect(warnings()).toMatchObject([
    { ...facts, run: String(billingRunID), msg: 'a record could not be billed' },
    { run: String(billingRunID), failed: 1, msg: 'billing run done, but not of every record' },
  ])
  await client.post(`/v1/recurring-invoices/${id}/skip`, { Until: '2027-02-01', Reason: 'Secret reason' })
  await client.post('/v1/billingruns', {})
  await runDuty({ order: ORDER_OF_DAY }).run({ db: service.db, log, realClock: () => nowMs }, () => {})
  expect(warnings()).toEqual([])
})

test('records that fail are a figure by the mode of their account, and each account lists its own', async () => {
  expect([await failing('live'), await failing('test')]).toEqual([0, 0])
  const { client, id } = await failingShop()
  await client.put('/v1/clock', { Now: '2027-02-01T08:00:00.000Z' })
  expect([await failing('live'), await failing('test')]).toEqual([0, 1])
  const other = await service.newAccount({})
  expect((await other.get('/v1/billingfailures')).body).toEqual([])
  const listed = await client.get('/v1/billingfailures?page_size=1')
  expect(listed.body.map(({ recurInvoiceID }: any) => recurInvoiceID)).toEqual([id])
  expect(listed.headers['link'] ?? '').not.toContain('next')
  expect((await client.get('/v1/billingfailures?page=0')).status).toBe(400)
  await client.post(`/v1/recurring-invoices/${id}/skip`, { Until: '2027-02-01', Reason: 'Free' })
  expect([await failing('live'), await failing('test')]).toEqual([0, 0])
})
