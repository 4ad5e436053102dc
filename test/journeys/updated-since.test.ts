import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { followUpdates } from './updated-since.testing.ts'

const service = await startTestService()

test('a reader who follows Perennial-Until under eight writers ends with the same records as a full read', async () => {
  const { rounds, writes } = await followUpdates(await service.newAccount(), {
    day: '2027-01-01',
    goesOn: (step) => step < 40,
  })
  expect(rounds).toBeGreaterThan(2)
  expect(writes).toBeGreaterThan(150)
})
