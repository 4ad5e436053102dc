import { lastMoment } from '../../kernel/batch-days.ts'
import { addDays, earliest, type IsoDate } from '../../kernel/calendar.ts'
import { momentOf } from '../../kernel/context.ts'
import { dateIn } from '../../kernel/zone.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { getAccount } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import { daysOfBatches } from '../gateways/call.ts'
import { findGateway } from '../gateways/queries.ts'
import { buildBatch } from './build.ts'
import type { BuildDeps } from './build-steps.ts'
import { BUILD_CHANNEL, listBatchesAtWork, listInBuild } from './queries.ts'
import { isAwaitingRelease } from './rules.ts'

/** Building batches in the background: by a lane of its own, and as a moved clock lives through its days. */

const LOOK_EVERY_MS = 20_000
const BATCHES_A_LOOK = 100
/** Batches that wait for their gateways at a time: one that does not answer holds up few others. */
const AT_A_TIME = 8

type Worked = Omit<BuildDeps, 'db'>

/** Builds batches that were submitted, of every account: it follows from a commit, also where the clock stands. */
export function batchesDuty(about: Worked): Duty {
  const atWork = new AccountWork(AT_A_TIME)
  return {
    name: 'batches',
    everyMs: LOOK_EVERY_MS,
    wakesOn: BUILD_CHANNEL,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const found = await listBatchesAtWork(db.unscoped)
      let hasFailed = false
      const begun = await atWork.each(found, async ({ account: id, id: batchId }) => {
        goOn()
        const account = await getAccount(db.reader(id), id)
        await buildBatch({ ...about, db }, account, momentOf(account, realClock), batchId, false).catch(
          (error: unknown) => {
            passOnOutage(error)
            hasFailed = true
            log.error({ err: errorFacts(error), account: String(id) }, 'a batch could not be built; it is tried again')
          },
        )
      })
      return begun < BATCHES_A_LOOK || hasFailed ? undefined : 'again'
    },
  }
}

/** Makes the part that batches have in the days of a moved clock: what is submitted is built, what nobody released in time is open again. */
export const batchesOfDay = (about: Worked): AfterDay => ({
  findAfter: async (db, account, day, until) => {
    let found: IsoDate | null = null
    for (const batch of await listInBuild(db, account)) {
      // What can be built is work of whichever day comes next.
      if (!isAwaitingRelease(batch)) found = earliest(found, addDays(day, 1))
      const gateway = await findGateway(db, account, batch.gatewayId)
      if (!gateway) continue
      const { timeZone } = await getAccount(db, account)
      const last = lastMoment(daysOfBatches(about, account, gateway), batch.actionDate, timeZone)
      const over = addDays(dateIn(last, timeZone), 1)
      if (over > day) found = earliest(found, over)
    }
    return found !== null && found <= until ? found : null
  },
  work: async (db, account, moment) => {
    for (const { id } of await listInBuild(db.reader(account.id), account.id))
      await buildBatch({ ...about, db }, account, moment, id, true)
    return { collected: 0, declined: 0, unknown: 0 }
  },
})
