import { expect, test } from 'vitest'
import fc from 'fast-check'
import { startTestService, type TestClient } from '../../../test/support/app.ts'
import { CURRENCIES, FIRST, History, step } from '../reports/history.testing.ts'
import { CODES } from './exports.testing.ts'
import { entriesOf, reconcileExports, unsettledByReport, unsettledOf } from './reconciliation.testing.ts'

/** Exports in the middle of random histories: batches and what is in none come to the ledger, and files stay. */

const service = await startTestService()

const LAST = '2027-12-31'

async function filesOf(client: TestClient): Promise<string[]> {
  const batches: any[] = (await client.get('/v1/exports')).body
  return Promise.all(batches.map(async ({ exportID }) => (await client.get(`/v1/exports/${exportID}/file`)).text))
}

const asked = (CurrencyCode: string, From: string, To: string) => ({ Format: 'csv', From, To, CurrencyCode })

async function lockOf(client: TestClient): Promise<string> {
  return (await client.get('/v1/account')).body.LockDate?.slice(0, 10) ?? FIRST
}

test('batches come to the ledger whatever happens between them', async () => {
  const steps = fc.array(step, { minLength: 25, maxLength: 45 })
  const property = fc.asyncProperty(steps, async (taken) => {
    const client = await service.newAccount()
    await client.put('/v1/glcodes', CODES)
    const history = new History(client)
    await history.begin()
    for (const [number, one] of taken.entries()) {
      await history.take(one)
      if (number % 6 !== 5) continue
      const currency = CURRENCIES[one.one % CURRENCIES.length] as string
      const to = one.two % 3 === 0 ? history.today : one.two % 3 === 1 ? await lockOf(client) : LAST
      const { status, text } = await client.post('/v1/exports', asked(currency, to < FIRST ? to : FIRST, to))
      expect([200, 201, 409], text).toContain(status)
      if (one.amount % 5 === 0) {
        const newest = (await client.get('/v1/exports')).body.at(-1)
        if (newest) expect((await client.delete(`/v1/exports/${newest.exportID}`)).status).toBe(204)
      }
    }
    await reconcileExports(client)
    const before = await filesOf(client)
    for (const currency of CURRENCIES) await client.post('/v1/exports', asked(currency, FIRST, LAST))
    expect((await entriesOf(client)).filter(({ exportID }) => exportID === null)).toEqual([])
    expect(unsettledOf(await reconcileExports(client))).toEqual(await unsettledByReport(client, LAST))
    expect((await filesOf(client)).slice(0, before.length)).toEqual(before)
  })
  await fc.assert(property, { numRuns: 6, seed: 20_271_123 })
})
