import { expect, test } from 'vitest'
import fc from 'fast-check'
import { startTestService } from '../../../test/support/app.ts'
import { History, step } from '../reports/history.testing.ts'
import { CODES } from './exports.testing.ts'
import { reconcileExports } from './reconciliation.testing.ts'

/** Codes that are missing of random histories: each refusal names some, and what has them all is exported. */

const service = await startTestService()

/** Returns the codes to set for something that has none. */
function codesFor(what: string): object {
  if (what.startsWith('customer ')) return { receivable: CODES.receivable }
  if (what.startsWith('payment method ')) return { Methods: { [what.slice('payment method '.length)]: CODES.cash } }
  if (what.startsWith('revenue of ')) return { revenue: CODES.revenue }
  if (what.startsWith('tax ')) return { tax: CODES.tax }
  const account = what.replace(/^account /, '') as keyof typeof CODES
  expect(Object.keys(CODES)).toContain(account)
  return { [account]: CODES[account] }
}

test('whatever is missing is named until it is there, and never found only while a batch is written', async () => {
  const steps = fc.array(step, { minLength: 25, maxLength: 45 })
  const property = fc.asyncProperty(steps, fc.boolean(), async (taken, isApart) => {
    const client = await service.newAccount()
    const history = new History(client)
    await history.begin()
    for (const one of taken) await history.take(one)
    if (isApart) await client.put('/v1/glcodes', { unapplied: CODES.unapplied })
    for (let round = 0; ; round += 1) {
      expect(round).toBeLessThan(40)
      const { status, body, text } = await client.post('/v1/exports', {
        Format: 'csv',
        From: '2027-01-01',
        To: '2027-12-31',
        CurrencyCode: 'USD',
      })
      if (status === 201) break
      expect(status, text).toBe(409)
      if (body.Errors[0].Code === 'nothing_to_export') return
      const named: string[] = body.Errors.slice(1).map(({ Message }: any) => Message)
      const count = Number(body.Errors[0].Message.match(/^\d+/)?.[0])
      expect(named).toHaveLength(Math.min(count, 20))
      expect(new Set(named).size).toBe(named.length)
      const missing = named.map((sentence) => sentence.replace(/^There is no code of (.*)\.$/, '$1'))
      expect((await client.put('/v1/glcodes', codesFor(missing[round % missing.length] as string))).status).toBe(204)
      expect((await client.get('/v1/exports')).body).toEqual([])
    }
    if (isApart) await reconcileExports(client)
  })
  await fc.assert(property, { numRuns: 6, seed: 20_271_123 })
})
