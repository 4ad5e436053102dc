import { readFileSync } from 'node:fs'
import { asOwner, type BenchServer, createDatabase, settle } from './measure/database.ts'
import { RENEWS_ON } from './seed-run.ts'

/** Databases of the floors of a billing run, from which rounds are copied. */

export const FLOORS = ['billing-run', 'slim'] as const
export type Floor = (typeof FLOORS)[number]

const RECORDS = {
  'billing-run': [
    `insert into floor.subscriptions select 1, n, n, 9999, '${RENEWS_ON}', '${RENEWS_ON}' from generate_series(1, $1::int) n`,
  ],
  slim: [
    `insert into floor.states select 1, n, n, '${RENEWS_ON}', '2027-01-01' from generate_series(1, $1::int) n`,
    `insert into floor.totals select 1, n, 11499 from generate_series(1, $1::int) n`,
  ],
}

/** Returns the name of the database of a floor. */
export const floorNamed = (floor: Floor, count: number): string => `floor_${floor.replace('-', '_')}_${count}`

/** Makes the database of a floor with its subscriptions. */
export async function seedFloor(server: BenchServer, floor: Floor, count: number): Promise<void> {
  const connection = await createDatabase(server, floorNamed(floor, count))
  await asOwner(connection, async (client) => {
    await client.query(readFileSync(new URL(`floor/${floor}.sql`, import.meta.url), 'utf8'))
    for (const statement of RECORDS[floor]) await client.query(statement, [count])
    await client.query('vacuum (analyze)')
  })
  await settle(connection)
}
