import pg from 'pg'
import { afterAll, expect } from 'vitest'
import type { TestService } from '../../../test/support/app.ts'
import { clientConfig } from '../../platform/database/open-database.ts'
import { sumDays } from './mark-queries.ts'

const SEQUENCE = `pg_get_serial_sequence('perennial.ledger_rows', 'entry_id')`

/** Makes a function that sums by day all that was posted so far: the block of its newest entry is passed over, so that it is whole. */
export async function daySummer(service: TestService): Promise<() => Promise<void>> {
  const owner = new pg.Client(clientConfig(service.connection, undefined))
  await owner.connect()
  afterAll(() => owner.end())
  return async () => {
    await owner.query(
      `select setval(${SEQUENCE}, (coalesce(pg_sequence_last_value(${SEQUENCE}), 1) / 4096 + 1) * 4096)`,
    )
    // The first look notes what has been drawn, the second finds that nobody draws any more.
    for (let look = 0; look < 2; look += 1) await owner.query(`select perennial.settled_below('ledger')`)
    expect(await sumDays(service.db.unscoped)).toBe(true)
    expect(await sumDays(service.db.unscoped)).toBe(false)
  }
}
