import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/platform/database/open-database.ts'
import { APP_ROLE } from '../../src/platform/database/roles.ts'
import { createTestDatabase, startTestService } from '../support/app.ts'
import { countsOf } from '../api/statement-counts.testing.ts'
import { missingForCluster } from './servers.ts'

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

describe.skipIf(MISSING !== undefined)(`statements of single requests on Citus${needs}`, () => {
  test('are as many as on one server', async () => {
    const connection = await createTestDatabase()
    const db = openDatabase(connection, { role: APP_ROLE, poolSize: 6, engine: 'citus' })
    const service = await startTestService({ connection, db })
    expect(await countsOf(service)).toEqual({ payment: 11, read: 1 })
  })
})
