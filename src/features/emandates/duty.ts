import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import { isOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { getAccount } from '../accounts/queries.ts'
import type { MandateDeps } from './types.ts'
import { type MandateDrawingDeps, signedPdf } from './document.ts'
import { forgetMandate } from './forget.ts'
import {
  findMandate,
  listMandatesWithoutPdf,
  listOldMandates,
  MANDATES_A_LOOK,
  OLD_MANDATES_A_LOOK,
  SIGNED_CHANNEL,
} from './queries.ts'
import { KEEPING_TIMES } from './rules.ts'

/** Background work on mandates: their PDFs are made, and those that are old are forgotten. */

const LOOK_EVERY_MS = 20_000
const FORGET_EVERY_MS = 3_600_000
const FIRST = { account: 0n, id: 0n }

/** Makes the PDFs of mandates that were signed: soon after each signature, and of those that a process which has died has left. */
export function mandatePdfsDuty(deps: Omit<MandateDrawingDeps, 'db' | 'realClock'>): Duty {
  let after = FIRST
  return {
    name: 'make PDFs of mandates',
    everyMs: LOOK_EVERY_MS,
    wakesOn: SIGNED_CHANNEL,
    run: async ({ db, realClock, log }, goOn) => {
      const found = await listMandatesWithoutPdf(db.unscoped, after)
      for (const { account, id } of found) {
        goOn()
        try {
          const mandate = await findMandate(db.reader(account), account, id)
          if (mandate) await signedPdf({ ...deps, db, realClock }, account, mandate)
        } catch (error) {
          if (isOutage(error)) throw error
          const about = { account: String(account), emandate: String(id) }
          log.error({ ...about, err: errorFacts(error) }, 'the PDF of a mandate could not be made; it is tried again')
        }
      }
      const hasMore = found.length === MANDATES_A_LOOK
      after = hasMore ? (found.at(-1) ?? FIRST) : FIRST
      return hasMore ? 'again' : undefined
    },
  }
}

/** Forgets mandates that are kept no longer, each with an event. One that fails holds up none behind it; it is tried again an hour later. */
export function forgetMandatesDuty(deps: Pick<MandateDeps, 'links'>): Duty {
  let after = FIRST
  return {
    name: 'forget mandates',
    everyMs: FORGET_EVERY_MS,
    run: async ({ db, realClock, log }, goOn) => {
      const found = await listOldMandates(db.unscoped, instantOf(realClock()), KEEPING_TIMES, after)
      for (const { account: accountId, id } of found) {
        goOn()
        try {
          await db.transaction(accountId, async (tx) => {
            const account = await getAccount(tx, accountId)
            const context = backgroundContext(account, momentOf(account, realClock), { actor: 'housekeeping' })
            await forgetMandate(tx, context, { ...deps, realClock }, id)
          })
        } catch (error) {
          if (isOutage(error)) throw error
          const about = { account: String(accountId), emandate: String(id) }
          log.error({ ...about, err: errorFacts(error) }, 'an old mandate could not be forgotten; it is tried again')
        }
      }
      const hasMore = found.length === OLD_MANDATES_A_LOOK
      after = hasMore ? (found.at(-1) ?? FIRST) : FIRST
      return hasMore ? 'again' : undefined
    },
  }
}
