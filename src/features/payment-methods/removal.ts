import { momentOf } from '../../kernel/context.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { passOnOutage } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Duty, DutyDeps } from '../../platform/duty.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { AccountWork } from '../../platform/account-work.ts'
import { instantOf } from '../../kernel/zone.ts'
import { getAccount } from '../accounts/queries.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { GatewayAdapter, GatewayCall, None, NotSent, StoredCard, Unknown } from '../gateways/contract.ts'
import type { Storing } from '../gateways/storing.ts'
import { findGateway } from '../gateways/queries.ts'
import {
  announceRemoval,
  type CardIntent,
  type CardRemoval,
  type CardAtGateway,
  claimRemoval,
  closeIntent,
  deleteOldIntents,
  finishRemoval,
  insertRemoval,
  isTokenUsed,
  listAbandonedIntents,
  listWaitingRemovals,
  lockIntent,
  lockIntentsOf,
  lockToken,
  noteRemoving,
  REMOVAL_CHANNEL,
  removals,
} from './intent-queries.ts'
import type { StoredMethod } from './queries.ts'

/** Removing cards at their gateways: written down with the change that asks for it, done by a job that tries again. */

const DAY_MS = 86_400_000
const LOOK_EVERY_MS = 20_000
/** The number of rows that a look returns at most. */
const ROWS_A_LOOK = 100
/** Removals that wait for their gateways at a time: a gateway that does not answer holds up few others. */
const AT_A_TIME = 16

/** Asks for a card that is kept no more to be removed. Whether something else is kept under its token is looked at when that is done. */
export async function removeAtGateway(
  tx: Transaction,
  { gatewayId, gatewayToken }: Pick<StoredMethod, 'gatewayId' | 'gatewayToken'>,
): Promise<void> {
  if (gatewayId === null || gatewayToken === null) return
  await insertRemoval(tx, { gatewayId, gatewayToken, reference: null, gatewayReference: null })
  await announceRemoval(tx)
}

/** Closes a locked intent that nobody waits for, and asks for what the gateway may hold under it to be removed. */
export async function abandonIntent(
  tx: Transaction,
  { id, gatewayId, reference, gatewayReference }: CardIntent,
): Promise<void> {
  await closeIntent(tx, id)
  await insertRemoval(tx, { gatewayId, gatewayToken: null, reference, gatewayReference })
  await announceRemoval(tx)
}

/** Abandons the open intents of a customer who is deleted or made anonymous. */
export async function abandonIntentsOf(tx: Transaction, customer: CustomerId): Promise<void> {
  for (const intent of await lockIntentsOf(tx, customer)) await abandonIntent(tx, intent)
}

/** Abandons intents to store a card that nobody comes back for: 24 hours old, or without a key and left by a process that died. */
export const abandoningDuty: Duty = {
  name: 'abandon card intents',
  everyMs: LOOK_EVERY_MS,
  run: async ({ db, realClock }, goOn) => {
    await deleteOldIntents(db.unscoped, instantOf(realClock() - 7 * DAY_MS))
    const found = await listAbandonedIntents(db.unscoped)
    for (const { account, id } of found) {
      goOn()
      await db.transaction(account, async (tx) => {
        const intent = await lockIntent(tx, id)
        if (intent?.isOpen) await abandonIntent(tx, intent)
      })
    }
    return found.length < ROWS_A_LOOK ? undefined : 'again'
  },
}

/** Removes cards at their gateways, each under a lease; what a gateway does not answer is tried again, later each time. */
export function removalDuty(deps: GatewayDeps): Duty {
  const atWork = new AccountWork(AT_A_TIME)
  return {
    name: 'remove cards',
    everyMs: LOOK_EVERY_MS,
    wakesOn: REMOVAL_CHANNEL,
    overlaps: true,
    run: async (duty, goOn) => {
      const found = await listWaitingRemovals(duty.db.unscoped)
      const begun = await atWork.each(found, async ({ account, id }) => {
        goOn()
        await removeOne(duty, deps, account, id)
      })
      return begun < ROWS_A_LOOK ? undefined : 'again'
    },
  }
}

/** Begins to remove the card of a claimed removal; false where something else is kept under its token. */
async function beginRemoving(tx: Transaction, removal: Id, card: CardAtGateway): Promise<boolean> {
  await lockToken(tx, card)
  if (await isTokenUsed(tx, card)) return false
  await noteRemoving(tx, removal, card)
  return true
}

async function removeOne(
  { db, realClock, log }: DutyDeps,
  deps: GatewayDeps,
  accountId: AccountId,
  id: Id,
): Promise<void> {
  const claimed = await db.transaction(accountId, async (tx) => {
    const removal = await claimRemoval(tx, id)
    const gateway = removal && (await findGateway(tx, accountId, removal.gatewayId))
    return removal && gateway && { removal, gateway, account: await getAccount(tx, accountId) }
  })
  if (!claimed) return
  const { removal, gateway, account } = claimed
  const about = { account, moment: momentOf(account, realClock) }
  const isToGo = (gatewayToken: string): Promise<boolean> =>
    db.transaction(accountId, (tx) => beginRemoving(tx, id, { gatewayId: gateway.id, gatewayToken }))
  const ask = (adapter: GatewayAdapter, call: GatewayCall) => removed(adapter, call, removal, isToGo)
  const outcome = await askGateway(deps, about, gateway, ask).catch((error: unknown) => {
    passOnOutage(error)
    log.error({ err: errorFacts(error), account: String(accountId) }, 'a card could not be removed at its gateway')
    return { kind: 'unknown' as const }
  })
  await db.transaction(accountId, async (tx) => {
    if (outcome.kind === 'removed') await finishRemoval(tx, id)
    else await removals.fail(tx, id)
  })
}

type Removed = { kind: 'removed' } | { kind: 'unknown' } | { kind: 'not_sent' }

/** Asks what a storing has stored, and ends it at its gateway where that is nothing. What stays unknown is asked again. */
export async function endStoring(
  adapter: GatewayAdapter,
  call: GatewayCall,
  storing: Storing,
): Promise<({ kind: 'stored' } & StoredCard) | None | Unknown | NotSent> {
  const found = (await adapter.findStored?.(call, storing)) ?? { kind: 'none' }
  if (found.kind === 'stored' || found.kind === 'none') return found
  if (storing.gatewayReference !== null && adapter.endStore) return adapter.endStore(call, storing)
  return found.kind === 'declined' ? { kind: 'none' } : found
}

/** Has a gateway remove a card, found by the reference of its intent where nobody knows its token, unless it is not to go: it is in use. */
async function removed(
  adapter: GatewayAdapter,
  call: GatewayCall,
  { gatewayToken, reference, gatewayReference }: CardRemoval,
  isToGo: (token: string) => Promise<boolean>,
): Promise<Removed> {
  if (!adapter.removeStored) return { kind: 'removed' }
  const found =
    gatewayToken === null
      ? await endStoring(adapter, call, { reference: reference ?? '', gatewayReference, sentAt: null })
      : undefined
  if (found?.kind === 'unknown' || found?.kind === 'not_sent') return found
  const token = found?.kind === 'stored' ? found.token : gatewayToken
  return token !== null && (await isToGo(token)) ? adapter.removeStored(call, token) : { kind: 'removed' }
}
