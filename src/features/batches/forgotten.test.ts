import { createHash } from 'node:crypto'
import pino from 'pino'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { workerDuties } from '../../duties.ts'
import { bank, entryXml, statementXml } from '../result-files/result-files.testing.ts'
import { account } from './batches.testing.ts'

/** Files of batches and lines of bank files, which are kept for a time only. */

const service = await startTestService()
const log = pino({ level: process.env['TEST_LOG'] ?? 'silent' })

/** Forgets what is old at an instant, as a worker does each hour. */
async function forgetAt(instant: string): Promise<void> {
  const about = { ...service.calling, realClock: () => Date.parse(instant) }
  const duty = workerDuties(about).find(({ name }) => name === 'forget')
  expect(duty).toBeDefined()
  await duty?.run({ db: service.db, log, realClock: about.realClock }, () => {})
}

test('the file of a batch is kept for 14 months after the day of its debits, and its SHA-256 for good', async () => {
  const { client, manual, batch, customer, line, build, must } = await account(service)
  const { GatewayToken } = await manual({ CurrencyCodes: ['USD'] })
  const { BatchToken } = await batch({ GatewayToken })
  const { customerID, paymentMethodID } = await customer()
  await line(BatchToken, { customerID, paymentMethodID, Amount: 10, PaymentApplied: [] })
  await must('put', '/v1/batches/submit', { BatchToken, ActionDate: '2027-01-05' })
  await build()
  const file = () => client.get(`/v1/batches/${BatchToken}/file`)
  await forgetAt('2028-03-05T23:59:59Z')
  const kept = await file()
  expect(kept.status, kept.text).toBe(200)
  await forgetAt('2028-03-06T00:00:00Z')
  const gone = await file()
  expect([gone.status, gone.body.Errors[0].Code]).toEqual([409, 'batch_file_forgotten'])
  expect(gone.body.Errors[0].Message).toContain(createHash('sha256').update(kept.text).digest('hex'))
})

test('lines of a bank file are kept for 90 days, its counts and SHA-256 for good', async () => {
  const { client, send } = await bank(service)
  const sent = await send(statementXml([entryXml({ isCredit: true, amount: 700n, name: 'Somebody' })]))
  expect([sent.status, sent.body.Unmatched]).toEqual([201, 1])
  const read = async () => (await client.get(`/v1/resultfiles/${sent.body.resultFileID}`)).body
  // The account's clock stands at noon on 20 January.
  await forgetAt('2027-04-20T12:00:00Z')
  expect((await read()).Lines).toHaveLength(1)
  await forgetAt('2027-04-20T12:00:01Z')
  expect(await read()).toEqual({ ...sent.body, isToBeSentAgain: false, Open: 0, Lines: [] })
})
