import { expect, test } from 'vitest'
import { startTestService } from '../support/app.ts'
import { countsOf } from './statement-counts.testing.ts'

const service = await startTestService()

test('a payment with an allocation under a key takes eleven statements, with begin, scope and commit; a read of a customer one behind its scope', async () => {
  expect(await countsOf(service)).toEqual({ payment: 11, read: 1 })
})
