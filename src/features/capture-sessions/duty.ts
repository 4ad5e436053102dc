import { backgroundContext, momentOf, type RequestContext } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Database } from '../../platform/database/database.ts'
import type { Duty, DutyDeps } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { getAccount } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { giveBack } from './actions.ts'
import type { CapturedDeps } from './captured.ts'
import { listSessionsToGiveBack, lockSession } from './queries.ts'
import { sessionState } from './rules.ts'
import { resumeSale } from './sale-calls.ts'
import { findGiveBackDay, listOverdueSessions, listSalesAtWork, listSalesToAsk } from './sale-queries.ts'

/**
 * Asking about charges whose outcome is not known, and giving back what nobody has taken over within its 24 hours: by a duty on real time, and as a
 * moved clock lives through its days.
 */

const LOOK_EVERY_MS = 30_000
const ROWS_A_LOOK = 100
/** Gateways that are asked at a time: one that is slow delays few others. */
const AT_A_TIME = 8
const ACTOR = 'capture sessions'
const MINUTE_MS = 60_000

/** Gives back what a session captured, if it is still to be. */
const giveBackOverdue = (db: Database, context: RequestContext, deps: CapturedDeps, id: Id): Promise<void> =>
  db.transaction(context.account.id, async (tx) => {
    const session = await lockSession(tx, id)
    const isWaiting =
      session?.givenBackAt === null && session.completedAt === null && session.sale?.refundState !== 'open'
    if (isWaiting && sessionState(session, context.moment.now) === 'expired') await giveBack(tx, context, deps, session)
  })

async function contextOf({ db, realClock }: DutyDeps, accountId: AccountId): Promise<RequestContext> {
  const account = await getAccount(db.reader(accountId), accountId)
  return backgroundContext(account, momentOf(account, realClock), { actor: ACTOR })
}

export function giveBackDuty(deps: GatewayDeps & CapturedDeps): Duty {
  const atWork = new AccountWork(AT_A_TIME)
  return {
    name: 'capture sessions',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async (duty, goOn) => {
      const { db, log, realClock } = duty
      const overdue = await listSessionsToGiveBack(db.unscoped, instantOf(realClock()))
      for (const { account, id } of overdue) {
        goOn()
        await giveBackOverdue(db, await contextOf(duty, account), deps, id)
      }
      let hasFailed = false
      const begun = await atWork.each(await listSalesToAsk(db.unscoped), async ({ account, id }) => {
        goOn()
        const context = await contextOf(duty, account)
        await resumeSale({ ...deps, db }, context, id).catch((error: unknown) => {
          passOnOutage(error)
          hasFailed = true
          log.error(
            { err: errorFacts(error), account: String(account) },
            'a sale could not be asked about; it is tried again',
          )
        })
      })
      return (overdue.length < ROWS_A_LOOK && begun < ROWS_A_LOOK) || hasFailed ? undefined : 'again'
    },
  }
}

/** Asks about every sale of an account that is at work, whether or not its wait is over. */
async function resumeAll(db: Database, context: RequestContext, deps: GatewayDeps & CapturedDeps): Promise<void> {
  const { account } = context
  for (let after = 0n; ;) {
    const found = await listSalesAtWork(db.reader(account.id), account.id, after, ROWS_A_LOOK)
    for (const { id } of found) await resumeSale({ ...deps, db }, context, id, { isAll: true })
    const last = found.at(-1)
    if (last === undefined) return
    after = last.id
  }
}

/** Makes the part that capture sessions have in the days of a moved clock: what is unknown is asked one minute later, then is given back. */
export const captureSessionsOfDay = (deps: GatewayDeps & CapturedDeps): AfterDay => ({
  findAfter: async (db, account, day, until) => {
    const next = await findGiveBackDay(db, account, day)
    return next !== null && next <= until ? next : null
  },
  work: async (db, account, moment, actor) => {
    const context = backgroundContext(account, moment, { actor })
    const now = instantOf(Date.parse(moment.now) + MINUTE_MS)
    await resumeAll(db, { ...context, moment: { ...moment, now } }, deps)
    for (;;) {
      const found = await listOverdueSessions(db.reader(account.id), account.id, moment.now, ROWS_A_LOOK)
      for (const { id } of found) await giveBackOverdue(db, context, deps, id)
      if (found.length < ROWS_A_LOOK) break
    }
    await resumeAll(db, context, deps)
    return { collected: 0, declined: 0, unknown: 0 }
  },
})
