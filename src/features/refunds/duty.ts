import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { getAccount } from '../accounts/queries.ts'
import type { AfterDay } from '../billing-run/after-day.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { askOpenRefunds } from './ask.ts'
import { findAskDay, listAccountsToAsk } from './queries.ts'

/** Open refunds are asked about in their turn: by a duty on real time, and as a moved clock lives through its days. */

const LOOK_EVERY_MS = 30_000
const ACCOUNTS_A_LOOK = 100
/** Accounts whose gateways are asked at a time: one that is slow delays no other account until as many are. */
const ACCOUNTS_AT_ONCE = 8
const ACTOR = 'refunds'

export function refundsDuty(deps: GatewayDeps & { hasMailServer?: boolean }): Duty {
  const { hasMailServer = false } = deps
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'refunds',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      let hasFailed = false
      const found = await listAccountsToAsk(db.unscoped, instantOf(realClock()))
      const begun = await atWork.each(found, async ({ account: id }) => {
        goOn()
        const account = await getAccount(db.reader(id), id)
        const context = backgroundContext(account, momentOf(account, realClock), { actor: ACTOR, hasMailServer })
        await askOpenRefunds(db, context, deps).catch((error: unknown) => {
          passOnOutage(error)
          hasFailed = true
          log.error(
            { err: errorFacts(error), account: String(id) },
            'refunds could not be asked about; it is tried again',
          )
        })
      })
      // What failed is as due as before: it waits for the next look.
      return begun < ACCOUNTS_A_LOOK || hasFailed ? undefined : 'again'
    },
  }
}

/** Makes the part that open refunds have in the days of a moved clock. */
export const refundsOfDay = (deps: GatewayDeps & { hasMailServer?: boolean }): AfterDay => ({
  findAfter: async (db, account, day, until) => {
    const next = await findAskDay(db, account, day)
    return next !== null && next <= until ? next : null
  },
  work: async (db, account, moment, actor) => {
    const { hasMailServer = false } = deps
    await askOpenRefunds(db, backgroundContext(account, moment, { actor, hasMailServer }), deps)
    return { collected: 0, declined: 0, unknown: 0 }
  },
})
