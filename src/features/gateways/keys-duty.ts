import { backgroundContext, momentOf } from '../../kernel/context.ts'
import { AccountWork } from '../../platform/account-work.ts'
import type { Database } from '../../platform/database/database.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { getAccount } from '../accounts/queries.ts'
import { recordKeyAccepted, recordKeyRefused } from './actions.ts'
import { askGateway, type GatewayDeps, settingsOf } from './call.ts'
import { claimKey, findGateway, type KeyToAsk, listKeysToAsk } from './queries.ts'
import { reasonOf } from './refusals.ts'

/** Asks gateways again whether they accept their secret keys, by real time, also for accounts whose clock stands still. */

const LOOK_EVERY_MS = 30_000
const KEYS_A_LOOK = 100
const ACCOUNTS_AT_ONCE = 8
const HOUR = 3_600
/** Seconds after which a key that nobody has answered for is asked about; then every hour, as one that was refused. */
const UNANSWERED_WAITS = [60, 300, 1_800]

type AskDeps = GatewayDeps & { db: Database }

export function keysDuty(about: GatewayDeps): Duty {
  const atWork = new AccountWork(ACCOUNTS_AT_ONCE)
  return {
    name: 'asking about keys',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, log, realClock }, goOn) => {
      const begun = await atWork.each(await listKeysToAsk(db.unscoped), async (due) => {
        goOn()
        await askAgain({ ...about, db }, due, realClock).catch((error: unknown) => {
          passOnOutage(error)
          log.error(
            { err: errorFacts(error), account: String(due.account) },
            'a gateway could not be asked about its key',
          )
        })
      })
      return begun < KEYS_A_LOOK ? undefined : 'again'
    },
  }
}

/** Asks a gateway once about its key; nothing where another process does. Without an answer it stays as it is. */
async function askAgain(deps: AskDeps, due: KeyToAsk, realClock: () => number): Promise<void> {
  const { db, envelope } = deps
  const waits = due.state === 'unanswered' ? UNANSWERED_WAITS : []
  // The first wait has passed.
  const isClaimed = await db.transaction(due.account, (tx) => claimKey(tx, due, waits[due.asks + 1] ?? HOUR))
  if (isClaimed.length === 0) return
  const account = await getAccount(db.reader(due.account), due.account)
  const gateway = await findGateway(db.reader(due.account), due.account, due.id)
  if (!gateway) return
  const moment = momentOf(account, realClock)
  const answer = await askGateway(deps, { account, moment }, gateway, (adapter, call) => adapter.check(call))
  const context = backgroundContext(account, moment, { actor: `gateway ${gateway.id}` })
  await db.transaction(account.id, async (tx) => {
    if (answer.kind === 'accepted') await recordKeyAccepted(tx, context, gateway, answer.account ?? null)
    if (answer.kind !== 'refused') return
    const called = { id: gateway.id, settings: settingsOf(envelope, account.id, gateway) }
    await recordKeyRefused(tx, context, envelope, called, reasonOf({ by: 'key', code: 'refused' }))
  })
}
