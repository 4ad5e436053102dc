import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { getAccount } from '../accounts/queries.ts'
import { lookAt, type LookDeps } from './look.ts'
import { listSetupsAtWork, SETUP_CHANNEL } from './queries.ts'

const LOOK_EVERY_MS = 20_000
const SETUPS_A_LOOK = 100
/** Gateways that are asked at a time: one that is slow delays few others. */
const AT_A_TIME = 8

/** Looks at set-ups of mandates that somebody has come back to, that their gateway reports, or whose time is over. */
export function mandateSetupsDuty(about: Omit<LookDeps, 'db'>): Duty {
  const atWork = new AccountWork(AT_A_TIME)
  return {
    name: 'mandate set-ups',
    everyMs: LOOK_EVERY_MS,
    wakesOn: SETUP_CHANNEL,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      let hasFailed = false
      const begun = await atWork.each(await listSetupsAtWork(db.unscoped), async ({ account: accountId, id }) => {
        goOn()
        const account = await getAccount(db.reader(accountId), accountId)
        const context = backgroundContext(account, momentOf(account, realClock), { actor: 'mandate set-ups' })
        await lookAt({ ...about, db }, context, id).catch((error: unknown) => {
          passOnOutage(error)
          hasFailed = true
          log.error(
            { err: errorFacts(error), account: String(accountId) },
            'a set-up of a mandate could not be looked at',
          )
        })
      })
      return begun < SETUPS_A_LOOK || hasFailed ? undefined : 'again'
    },
  }
}
