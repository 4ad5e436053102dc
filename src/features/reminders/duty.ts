import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { dateIn } from '../../kernel/zone.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { AccountWork, piecesOf } from '../../platform/account-work.ts'
import { getAccount, listScheduleZones } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import { findReminderDay, remindDay } from './day.ts'
import { listAccountsToRemind } from './queries.ts'

/** Reminders in the background, and as the last part of a day that a moved clock lives through. */

const LOOK_EVERY_MS = 60_000
/** The number of accounts that list_accounts_to_remind returns at most. */
const ACCOUNTS_A_LOOK = 1000
/** Few: their work is in the database. */
const ACCOUNTS_AT_ONCE = 2
const ACTOR = 'reminders'

/** Sends the reminders of the day on every account of real time, once its run and its tries are done. */
export function reminderDuty({ hasMailServer = false }: { hasMailServer?: boolean }): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'reminders',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const zones = (await listScheduleZones(db.unscoped)).map(({ timeZone }) => timeZone)
      const days = zones.map((zone) => dateIn(realClock(), zone))
      const found = await listAccountsToRemind(db.unscoped, zones, days)
      let hasFailed = false
      const begun = await atWork.each(piecesOf(found), async ({ account: id }) => {
        goOn()
        const account = await getAccount(db.reader(id), id)
        const context = backgroundContext(account, momentOf(account, realClock), { actor: ACTOR, hasMailServer })
        await remindDay(db, context, { goOn }).catch((error: unknown) => {
          goOn()
          passOnOutage(error)
          hasFailed = true
          log.error({ err: error, account: String(id) }, 'the reminders of an account failed; they are tried again')
        })
      })
      // More wait than one look returns; those that failed would be found again at once.
      if (begun >= ACCOUNTS_A_LOOK && !hasFailed) return 'again'
    },
  }
}

/** Makes the reminders of a day as a moved clock lives through it. */
export const remindersOfDay = ({ hasMailServer = false }: { hasMailServer?: boolean }): AfterDay => ({
  findAfter: findReminderDay,
  work: async (db, account, moment, actor) => {
    await remindDay(db, backgroundContext(account, moment, { actor, hasMailServer }))
    return { collected: 0, declined: 0, unknown: 0 }
  },
})
