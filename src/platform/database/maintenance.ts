import { setTimeout as delay } from 'node:timers/promises'
import type { Instant } from '../../kernel/calendar.ts'
import { StartFailure } from '../postgres/start-failure.ts'
import type { Connection, Database } from './database.ts'
import { hasFunction } from './is-there.ts'
import { type InMaintenance, listLive } from './migrations.ts'
import { clientConfig, STARTING_NAME } from './open-database.ts'
import { checkOthersKnow, nameOfProcess } from './schema-numbers.ts'
import { ServerClient } from './server-client.ts'
import { sql } from './sql.ts'

/**
 * Maintenance: no process takes work until a moment that stands in the database. An operator holds the service in it for a time, and migrations hold it while they
 * run.
 */

type Unscoped = Database['unscoped']

/** Returns the moment at which maintenance ends; null: there is none. */
export const maintenanceUntil = (db: Unscoped) => db.value<Instant | null>(sql`select maintenance_until()`)

/** Begins it for the operator, or gives it another end, and returns the moment at which it ends. */
export const beginMaintenance = (db: Unscoped, minutes: number) =>
  db.value<Instant>(sql`select begin_maintenance('operator', ${minutes * 60}::integer)`)

/** Ends it, and returns null, or the moment until which migrations still hold the service in it. */
export const endMaintenance = (db: Unscoped) => db.value<Instant | null>(sql`select end_maintenance('operator')`)

/** Held for so long by migrations, and again and again: of those that are killed it soon ends. */
const HELD_SECONDS = 120
const HELD_AGAIN_MS = 20_000
/** A process that is frozen is live for a minute. */
const QUIET_MS_MAX = 70_000
const LOOK_EVERY_MS = 250

/** States of a process that does nothing. */
const AT_REST = ['maintenance', 'outdated']

/** Makes what runs migrations while the service is in maintenance. `quietMsMax`: how long live processes have to come to rest. */
export const maintenanceOn =
  (
    connection: Connection,
    owner: string | undefined,
    log: { info(message: string): void },
    quietMsMax = QUIET_MS_MAX,
  ): InMaintenance =>
  async (work, lacking) => {
    const client = new ServerClient({ ...clientConfig(connection, owner), application_name: STARTING_NAME })
    await client.connect()
    let again: NodeJS.Timeout | undefined
    try {
      if (!(await knowsMaintenance(client))) {
        checkOthersKnow(lacking, await listLive(client))
        return await work()
      }
      const hold = async () => {
        // Each on a connection of its own: one that is lost must not let maintenance end beneath what runs.
        const holding = new ServerClient({ ...clientConfig(connection, owner), application_name: STARTING_NAME })
        try {
          await holding.connect()
          await holding.query(`select perennial.begin_maintenance('migration', ${HELD_SECONDS})`)
        } finally {
          await holding.end()
        }
      }
      await hold()
      again = setInterval(
        () => void hold().catch((error: unknown) => log.info(`Maintenance could not be held on: ${String(error)}`)),
        HELD_AGAIN_MS,
      )
      log.info('The service is in maintenance.')
      await untilAllRest(client, quietMsMax)
      await work()
    } finally {
      clearInterval(again)
      await client.query(`select perennial.end_maintenance('migration')`).catch(() => {})
      await client.end()
    }
  }

/** Returns whether the database is new enough for maintenance. */
const knowsMaintenance = (client: ServerClient): Promise<boolean> =>
  hasFunction(client, 'perennial.begin_maintenance(text, integer)')

/** Waits until every live process shows that nothing of it runs any more. Throws a StartFailure that names the others if they take too long. */
async function untilAllRest(client: ServerClient, quietMsMax: number): Promise<void> {
  const sinceMs = performance.now()
  for (;;) {
    const atWork = (await listLive(client)).filter(({ state }) => !AT_REST.includes(state))
    if (atWork.length === 0) return
    if (performance.now() - sinceMs > quietMsMax)
      throw new StartFailure(
        `These processes did not come to rest: ${atWork.map(nameOfProcess).join('; ')}. Stop them, or wait for what they do; nothing was changed, and maintenance is over.`,
      )
    await delay(LOOK_EVERY_MS)
  }
}
