import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase, startTestService } from '../support/app.ts'
import { clientConfig } from '../../src/platform/database/open-database.ts'
import { missingForCluster } from './servers.ts'

const MISSING = missingForCluster()
const needs = MISSING === undefined ? '' : ` (needs ${MISSING})`

test.skipIf(MISSING !== undefined)(
  `numbers that callers have are compared with those of accounts on workers, when a coordinator takes over, and what is lost is noted there${needs}`,
  async () => {
    const connection = await createTestDatabase()
    const { id } = await (await startTestService({ connection })).newAccount()
    const client = new pg.Client(clientConfig(connection, undefined))
    await client.connect()
    onTestFinished(() => client.end())
    const met = async (invoice: number) => {
      const numbers = JSON.stringify([[String(id), String(invoice), '0']])
      const { rows } = await client.query(
        `select moved_here(gen_random_uuid(), 0, null, null, $1::jsonb, '[]'::jsonb, 0) as "met"`,
        [numbers],
      )
      return rows[0].met
    }
    await client.query('begin')
    expect(await met(0)).toMatchObject({ isMove: true, isOwnLoss: false })
    const { id: failover, isOwnLoss } = await met(99)
    expect(isOwnLoss).toBe(true)
    const numbers = await client.query('select * from list_failover_numbers($1)', [failover])
    expect(numbers.rows).toEqual([{ account_id: id, invoice: 99n, credit_note: 0n }])
    const nowMs = Date.now()
    const note = {
      account: String(id),
      position: 1,
      kind: 'change',
      operation: 'addInvoice',
      state: 'lost',
      sentMs: nowMs,
      answeredMs: nowMs,
    }
    await client.query('select note_failover($1, gen_random_uuid(), $2)', [failover, JSON.stringify([note])])
    const notes = await client.query('select * from list_failover_notes($1)', [failover])
    expect(notes.rows).toMatchObject([{ account_id: id, operation: 'addInvoice', state: 'lost' }])
    await client.query('rollback')
  },
)
