import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Duty } from '../../platform/duty.ts'
import { getAccount } from '../accounts/queries.ts'
import { giveBack } from './actions.ts'
import type { CapturedDeps } from './captured.ts'
import { listSessionsToGiveBack, lockSession } from './queries.ts'
import { sessionState } from './rules.ts'

/** Giving back: what nobody has taken over within its 24 hours is removed at its gateway. */

const LOOK_EVERY_MS = 30_000
const SESSIONS_A_LOOK = 100

export const giveBackDuty = (deps: CapturedDeps): Duty => ({
  name: 'give back captured methods',
  everyMs: LOOK_EVERY_MS,
  run: async ({ db, realClock }, goOn) => {
    const found = await listSessionsToGiveBack(db.unscoped, instantOf(realClock()))
    for (const { account: accountId, id } of found) {
      goOn()
      await db.transaction(accountId, async (tx) => {
        const account = await getAccount(tx, accountId)
        const context = backgroundContext(account, momentOf(account, realClock), { actor: 'capture sessions' })
        const session = await lockSession(tx, id)
        const isWaiting = session?.givenBackAt === null && session.completedAt === null
        if (isWaiting && sessionState(session, context.moment.now) === 'expired')
          await giveBack(tx, context, deps, session)
      })
    }
    return found.length < SESSIONS_A_LOOK ? undefined : 'again'
  },
})
