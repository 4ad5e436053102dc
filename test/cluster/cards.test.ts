import { describe, test } from 'vitest'
import { missingForCluster } from './servers.ts'

/** Cards and debits on a distributed database: fields of a gateway's own, refunds, files. The tests are those of one server. */

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

describe.skipIf(MISSING !== undefined)(`cards on Citus${needs}`, async () => {
  if (MISSING !== undefined) return void test('are entered and refunded', () => {})
  describe('fields of a gateway', async () => {
    await import('../../src/features/capture-sessions/fields.test.ts')
  })
  describe('refunds', async () => {
    await import('../../src/features/refunds/routes.test.ts')
  })
  describe('batches', async () => {
    await import('../../src/features/batches/ach-file.test.ts')
  })
})
