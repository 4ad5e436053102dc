import { backgroundContext, momentOf, type RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Duty } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { getAccount } from '../accounts/queries.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { None, NotSent, StoredCard, Unknown } from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { findEntered, holderNames } from '../payment-methods/card-fields.ts'
import {
  type CardIntent,
  claimLeftFields,
  closeIntent,
  findReportedFields,
  hastenFields,
  keepStoringName,
  listLeftFields,
  lockIntent,
} from '../payment-methods/intent-queries.ts'
import { endStoring, removeAtGateway } from '../payment-methods/removal.ts'
import type { CapturedDeps } from './captured.ts'
import { type CaptureSession, lockSession } from './queries.ts'
import { sessionState } from './rules.ts'
import { keepStored } from './submit.ts'

/**
 * Cards that were entered into fields of a gateway's own, and to which nobody came back: the gateway is asked, a session that only stores keeps what is
 * there, and everything else is ended and removed.
 */

const LOOK_EVERY_MS = 20_000
const ROWS_A_LOOK = 100
const AT_A_TIME = 16

interface LeftDeps extends GatewayDeps, CapturedDeps {
  db: Database
}

/** Returns whether a session keeps a card without the customer: nothing is charged. */
const keepsAlone = (session: CaptureSession | undefined, { moment }: RequestContext): session is CaptureSession =>
  session?.saleType === 'VaultOnly' && sessionState(session, moment.now) === 'open'

/** Writes what a storing that was left alone has become. What is unknown stays open, and is asked about again. */
async function end(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  { id, sessionId }: CardIntent,
  outcome: ({ kind: 'stored' } & StoredCard) | None | Unknown | NotSent,
): Promise<void> {
  const session = sessionId === null ? undefined : await lockSession(tx, sessionId)
  const intent = await lockIntent(tx, id)
  if (!intent?.isOpen) return
  if (outcome.kind === 'none') await closeIntent(tx, id)
  if (outcome.kind !== 'stored') return
  if (keepsAlone(session, context)) {
    await keepStored(tx, context, deps, { session, intent, holder: holderNames(outcome) }, outcome)
    return
  }
  await closeIntent(tx, id)
  await removeAtGateway(tx, { gatewayId: intent.gatewayId, gatewayToken: outcome.token })
}

async function endOne(deps: LeftDeps, context: RequestContext, id: Id): Promise<void> {
  const { db } = deps
  const { id: account } = context.account
  const claimed = await db.transaction(account, async (tx) => {
    const intent = await claimLeftFields(tx, id)
    const gateway = intent && (await findGateway(tx, account, intent.gatewayId))
    return intent && gateway && { intent, gateway }
  })
  if (!claimed) return
  const { intent, gateway } = claimed
  const { reference, gatewayReference, begunAt: sentAt } = intent
  const outcome = await askGateway(deps, context, gateway, (adapter, call) =>
    endStoring(adapter, call, { reference, gatewayReference, sentAt }),
  )
  await db.transaction(account, (tx) => end(tx, context, deps, intent, outcome))
}

/** Ends storings that were left alone: an hour after their page was loaded last, or with their session. */
export function leftFieldsDuty(deps: GatewayDeps & CapturedDeps): Duty {
  const atWork = new AccountWork(AT_A_TIME)
  return {
    name: 'card fields',
    everyMs: LOOK_EVERY_MS,
    overlaps: true,
    run: async ({ db, realClock, log }, goOn) => {
      const begun = await atWork.each(await listLeftFields(db.unscoped), async ({ account: accountId, id }) => {
        goOn()
        const account = await getAccount(db.reader(accountId), accountId)
        const context = backgroundContext(account, momentOf(account, realClock), { actor: 'capture sessions' })
        await endOne({ ...deps, db }, context, id).catch((error: unknown) => {
          passOnOutage(error)
          log.error(
            { err: errorFacts(error), account: String(accountId) },
            'a card that was left alone could not be asked about',
          )
        })
      })
      return begun < ROWS_A_LOOK ? undefined : 'again'
    },
  }
}

/**
 * Takes a report about a storing. Rule: a card that was stored for a session that only stores is kept, also where nobody comes back; a form that is on its way
 * comes first, with its names. With a sale nothing is charged without the customer.
 */
export async function storingReported(
  deps: LeftDeps,
  context: RequestContext,
  gateway: Gateway,
  report: { reference: string; name: string | null },
): Promise<'applied' | 'not_here' | Unknown | NotSent> {
  const { db } = deps
  const { id: account } = context.account
  const intent = await findReportedFields(db.reader(account), account, gateway.id, report)
  if (!intent) return 'not_here'
  if (!intent.isOpen) return 'applied'
  // A restore may have lost the name, which then comes back with the card.
  const named = { ...intent, gatewayReference: intent.gatewayReference ?? report.name }
  const found = await findEntered(deps, context, gateway, named)
  // One that waits for its page is not known either; the page, or the end of its time, settles it.
  if (found.kind === 'not_sent') return found
  const { sessionId } = intent
  const { name } = report
  if (found.kind === 'stored' && intent.gatewayReference === null && name !== null)
    await db.transaction(account, (tx) => keepStoringName(tx, intent, name))
  if (found.kind === 'stored' && sessionId !== null)
    await db.transaction(account, async (tx) => {
      const session = await lockSession(tx, sessionId)
      if (keepsAlone(session, context)) await hastenFields(tx, intent.id)
    })
  return 'applied'
}
