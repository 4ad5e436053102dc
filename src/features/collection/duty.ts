import { earliest } from '../../kernel/calendar.ts'
import type { Account } from '../../kernel/context.ts'
import { backgroundContext, momentOf } from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty, DutyDeps, GoOn } from '../../platform/duty.ts'
import { AccountWork, piecesOf } from '../../platform/account-work.ts'
import { getAccount, listScheduleZones } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import { RETURN_CHANNEL } from '../customers/queries.ts'
import { findDunnedDay } from '../dunning/queries.ts'
import { findBatchDay } from './batch-day.ts'
import { bringBack, collectDay, type DayDeps } from './day.ts'
import { COLLECTION_CHANNEL, listAccountsToBringBack, listAccountsToCollect } from './try-queries.ts'

/** Collection in the background: a lane of its own beside the runs, and the part of a day that a moved clock lives through. */

export interface CollectionDeps extends Omit<DayDeps, 'db'> {
  hasMailServer?: boolean
}

const LOOK_EVERY_MS = 20_000
/** Accounts whose gateways are asked at a time: one that is slow delays no other account until as many are. */
const ACCOUNTS_AT_ONCE = 8
const ACTOR = 'collection'

/** Does work on some accounts side by side; one that fails is logged, and is done again with the next round. */
const forAccounts = (
  atWork: AccountWork,
  { db, log }: DutyDeps,
  ids: readonly AccountId[],
  goOn: GoOn,
  work: (account: Account) => Promise<unknown>,
) =>
  atWork.each(piecesOf(ids), async ({ account: id }) => {
    goOn()
    const account = await getAccount(db.reader(id), id)
    await work(account).catch((error: unknown) => {
      goOn()
      passOnOutage(error)
      log.error({ err: error, account: String(id) }, 'the collection of an account failed; it is tried again')
    })
  })

/** Tries what is due on every account of real time, within a minute, and asks for outcomes that are not known. */
export function collectionDuty({ hasMailServer = false, ...deps }: CollectionDeps): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'collection',
    everyMs: LOOK_EVERY_MS,
    wakesOn: COLLECTION_CHANNEL,
    overlaps: true,
    run: async (duty, goOn) => {
      const { db, realClock } = duty
      const zones = (await listScheduleZones(db.unscoped)).map(({ timeZone }) => timeZone)
      const days = zones.map((zone) => dateIn(realClock(), zone))
      await forAccounts(atWork, duty, await listAccountsToCollect(db.unscoped, zones, days), goOn, (account) => {
        const context = backgroundContext(account, momentOf(account, realClock), { actor: ACTOR, hasMailServer })
        return collectDay({ ...deps, db }, context, { isClock: false, goOn })
      })
    },
  }
}

/**
 * Brings back customers whom a rule has suspended, right after the commit by which they owe nothing overdue any more: it waits for no gateway, and
 * goes on where an account's clock stands.
 */
export function returnsDuty({ hasMailServer = false, ...deps }: CollectionDeps): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'returns',
    everyMs: LOOK_EVERY_MS,
    wakesOn: RETURN_CHANNEL,
    overlaps: true,
    run: async (duty, goOn) => {
      const { db, realClock } = duty
      await forAccounts(atWork, duty, await listAccountsToBringBack(db.unscoped), goOn, (account) =>
        bringBack(
          { ...deps, db },
          backgroundContext(account, momentOf(account, realClock), { actor: ACTOR, hasMailServer }),
        ),
      )
    },
  }
}

/** Makes the collection of a day that a moved clock lives through. */
export const collectionOfDay = ({ hasMailServer = false, ...deps }: CollectionDeps): AfterDay => ({
  findAfter: async (db, account, day, until) =>
    earliest(await findDunnedDay(db, account, day, until), await findBatchDay(deps, db, account, day, until)),
  work: (db, account, moment, actor) =>
    collectDay({ ...deps, db }, backgroundContext(account, moment, { actor, hasMailServer }), { isClock: true }),
})
