import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { creditOf, invoiceOf, moneyShop, paymentOf } from '../money/money.testing.ts'
import { CODES, exportOf, fileOf } from './exports.testing.ts'
import { entriesOf, reconcileExports, unsettledByReport, unsettledOf } from './reconciliation.testing.ts'

/** Exports beside writers: no entry is lost or handed over twice, and no file changes. */

const service = await startTestService()

const WRITERS = 8
const EXPORTS = 8
const EVERY_MS = 400
const YEAR = { Format: 'csv', From: '2027-01-01', To: '2027-12-31', CurrencyCode: 'USD' }

test('eight writers with an export now and then: batches and the rest are the ledger, and each file stays', async () => {
  const { client } = await moneyShop(service)
  await client.put('/v1/glcodes', CODES)
  let isOver = false
  const counts = Array.from({ length: WRITERS }, () => 0)
  const write = async (_: unknown, writer: number): Promise<void> => {
    const { customerID } = (await client.post('/v1/customers', { Name: 'Busy', isCompany: true })).body
    for (let written = 0; !isOver; counts[writer] = written += 1) {
      const invoiceID = await invoiceOf(client, customerID)
      const allocations = [{ invoiceID, amountApplied: 40 }]
      expect((await client.post('/v1/payments', paymentOf(customerID, 50, { allocations }))).status).toBe(201)
      const note = creditOf(customerID, 23)
      const { creditNoteID } = (await client.post('/v1/credits', note)).body
      const Allocations = [{ invoiceID, amountApplied: 23 }]
      expect((await client.put(`/v1/credits/${creditNoteID}`, { ...note, Allocations })).status).toBe(204)
      if (written % 3 === 0) expect((await client.delete(`/v1/credits/${creditNoteID}`)).status).toBe(204)
    }
  }
  const writers = counts.map(write)
  const files = new Map<number, string>()
  for (let count = 0; count < EXPORTS; count += 1) {
    const before = [...counts]
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    await expect.poll(() => counts.some((written, writer) => written > before[writer]!)).toBe(true)
    const { status, body, text } = await client.post('/v1/exports', YEAR)
    expect([200, 201], text).toContain(status)
    files.set(body.exportID, await fileOf(client, body.exportID))
  }
  isOver = true
  await Promise.all(writers)
  expect(Math.min(...counts)).toBeGreaterThan(0)
  expect(files.size).toBe(EXPORTS)
  await reconcileExports(client)
  await client.post('/v1/exports', YEAR)
  expect((await entriesOf(client)).filter(({ exportID }) => exportID === null)).toEqual([])
  expect(unsettledOf(await reconcileExports(client))).toEqual(await unsettledByReport(client, '2027-12-31'))
  for (const [exportID, file] of files) expect(await fileOf(client, exportID)).toBe(file)
})

test('an export waits for a write that has begun', async () => {
  const { client } = await moneyShop(service)
  await client.put('/v1/glcodes', CODES)
  const writer = new pg.Client(clientConfig(service.connection, undefined))
  await writer.connect()
  await writer.query('begin')
  await writer.query(`select nextval('ledger_rows_entry_id_seq')`)
  let isCommitted = false
  const made = exportOf(client).then(() => isCommitted)
  await new Promise((resolve) => setTimeout(resolve, 300))
  isCommitted = true
  await writer.query('commit')
  expect(await made).toBe(true)
  await writer.end()
})
