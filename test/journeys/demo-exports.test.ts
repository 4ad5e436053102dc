import { expect, test } from 'vitest'
import { CODES, fileOf } from '../../src/features/exports/exports.testing.ts'
import { entriesOf, reconcileExports } from '../../src/features/exports/reconciliation.testing.ts'
import { addSums, computedSums, ledgerOf } from '../../src/features/exports/stack-sums.testing.ts'
import { addDays, addMonths } from '../../src/kernel/calendar.ts'
import { readStack } from '../../src/rails/datev/check-stack.testing.ts'
import { authorization } from '../api/world.ts'
import { startTestService, type TestClient } from '../support/app.ts'
import { demo } from './demo.testing.ts'

/** Exports of the year of the demo, month by month: they come to the ledger, and stay as they were handed over. */

const service = await startTestService()

const LAST_DAY = '2027-11-21'
const MONTHS = Array.from({ length: 13 }, (_, month) => addMonths('2026-11-01', month))

/** Exports every month in a format. Returns the batches that were made. */
async function exportMonths(client: TestClient, Format: string, currencies: readonly string[]): Promise<any[]> {
  const made: any[] = []
  for (const CurrencyCode of currencies)
    for (const From of MONTHS) {
      const wanted = { Format, From, To: addDays(addMonths(From, 1), -1), CurrencyCode }
      const { status, body, text } = await client.post('/v1/exports', wanted)
      expect([200, 201, 409], text).toContain(status)
      if (status === 409) expect(body.Errors[0].Code).toBe('nothing_to_export')
      if (status === 201) made.push(body)
    }
  return made
}

test('csv of every month and currency has each entry once, and its bytes outlive new codes, customers made anonymous and a new start', async () => {
  const { account } = await demo(service, LAST_DAY, { seed: 1, customers: 10 })
  await account.put('/v1/glcodes', CODES)
  const entries = await entriesOf(account)
  const currencies = [...new Set(entries.map(({ CurrencyCode }) => CurrencyCode))]
  const made = await exportMonths(account, 'csv', currencies)
  expect(made.length).toBeGreaterThan(12)
  await reconcileExports(account)
  expect((await entriesOf(account)).filter(({ exportID }) => exportID === null)).toEqual([])

  const allFiles = async (): Promise<string[]> => {
    const files: string[] = []
    for (const { exportID } of made) files.push(await fileOf(account, exportID))
    return files
  }
  const files = await allFiles()
  const changed = Object.fromEntries(Object.keys(CODES).map((name) => [name, `X${name}`]))
  expect((await account.put('/v1/glcodes', changed)).status).toBe(204)
  const customers: any[] = (await account.get('/v1/customers?page_size=200')).body
  for (const { customerID } of customers) await account.post(`/v1/customers/${customerID}/anonymise`)
  const hidden: any[] = (await account.get('/v1/customers?page_size=200')).body
  expect(hidden.some(({ Name }, place) => Name !== customers[place]?.Name)).toBe(true)
  expect(await allFiles()).toEqual(files)

  const { app } = await startTestService({ connection: service.connection })
  for (const [place, { exportID }] of made.entries()) {
    const headers = { authorization: authorization(account) }
    const { payload } = await app.server.inject({ url: `/v1/exports/${exportID}/file`, headers })
    expect(payload).toBe(files[place])
  }
})

test('stacks of DATEV of every month come to the ledger by what its program computes', async () => {
  const { account } = await demo(service, LAST_DAY, { seed: 1, customers: 10 })
  await account.put('/v1/glcodes', { ...CODES, Datev: { Consultant: 29_098, Client: 55_003 } })
  const sums: Record<string, bigint>[] = []
  for (const { exportID, Differences } of await exportMonths(account, 'datev', ['EUR'])) {
    const url = `/v1/exports/${exportID}/file`
    const { rawPayload } = await service.app.server.inject({ url, headers: { authorization: authorization(account) } })
    const { problems, rows } = readStack(rawPayload)
    expect(problems).toEqual([])
    sums.push(computedSums(rows, Differences))
  }
  const euros = (await entriesOf(account)).filter(({ CurrencyCode }) => CurrencyCode === 'EUR')
  expect(euros.filter(({ exportID }) => exportID === null)).toEqual([])
  expect(addSums(sums)).toEqual(ledgerOf(euros))
})
