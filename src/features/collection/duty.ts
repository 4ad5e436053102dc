import { earliest } from '../../kernel/calendar.ts'
import type { Account } from '../../kernel/context.ts'
import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Duty, GoOn } from '../../platform/duty.ts'
import { sideBySide } from '../../platform/side-by-side.ts'
import { getAccount, listScheduleZones } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import { findDunnedDay } from '../dunning/queries.ts'
import { findBatchDay } from './batch-day.ts'
import { bringBack, collectDay, type DayDeps } from './day.ts'
import { listAccountsToCollect } from './try-queries.ts'

/** Collection in the background: a lane of its own beside the runs, and the part of a day that a moved clock lives through. */

export interface CollectionDeps extends Omit<DayDeps, 'db'> {
  hasMailServer?: boolean
}

const LOOK_EVERY_MS = 30_000
/** Accounts whose gateways are asked at a time: one that is slow delays no other account until as many are. */
const ACCOUNTS_AT_ONCE = 8
const ACTOR = 'collection'

/** Tries what is due on every account of real time, within a minute, and asks for outcomes that are not known. */
export const collectionDuty = ({ hasMailServer = false, ...deps }: CollectionDeps): Duty => ({
  name: 'collection',
  everyMs: LOOK_EVERY_MS,
  run: async ({ db, log, realClock }, goOn) => {
    const zones = (await listScheduleZones(db.unscoped)).map(({ timeZone }) => timeZone)
    const days = zones.map((zone) => dateIn(realClock(), zone))
    await sideBySide(await listAccountsToCollect(db.unscoped, zones, days), ACCOUNTS_AT_ONCE, async (id) => {
      goOn()
      const account = await getAccount(db.reader(id), id)
      await collectOne({ ...deps, db }, account, { now: realClock, hasMailServer, goOn }).catch((error: unknown) => {
        goOn()
        log.error({ err: error, account: String(id) }, 'the collection of an account failed; it is tried again')
      })
    })
  },
})

const collectOne = (
  deps: DayDeps,
  account: Account,
  { now, hasMailServer, goOn }: { now: () => number; hasMailServer: boolean; goOn: GoOn },
) => {
  const context = backgroundContext(account, momentOf(account, now), { actor: ACTOR, hasMailServer })
  // Where the clock stands, tries and steps come only by moving it; what follows from a commit goes on.
  return account.clockAt === null ? collectDay(deps, context, { isClock: false, goOn }) : bringBack(deps, context)
}

/** Makes the collection of a day that a moved clock lives through. */
export const collectionOfDay = ({ hasMailServer = false, ...deps }: CollectionDeps): AfterDay => ({
  findAfter: async (db, account, day, until) =>
    earliest(await findDunnedDay(db, account, day, until), await findBatchDay(deps, db, account, day, until)),
  work: (db, account, moment, actor) =>
    collectDay({ ...deps, db }, backgroundContext(account, moment, { actor, hasMailServer }), { isClock: true }),
})
