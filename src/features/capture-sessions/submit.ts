import { randomBytes } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import { type RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Places } from '../../platform/places.ts'
import { type GatewayDeps, gatewaysBusy } from '../gateways/call.ts'
import type { StoreOutcome } from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { isReady } from '../gateways/rules.ts'
import { storeCard } from '../payment-methods/add-card.ts'
import { closeIntent, insertIntent, lockIntent, takeToken } from '../payment-methods/intent-queries.ts'
import { abandonIntent, removeAtGateway } from '../payment-methods/removal.ts'
import type { CardMethodBody } from '../payment-methods/wire.ts'
import { capture, capturedCard, type CapturedDeps, type CapturedMethod } from './captured.ts'
import { type CaptureSession, countRefusal, lockSession, noteTry } from './queries.ts'
import { isSaleHeld, sessionState } from './rules.ts'
import { chargeSale } from './sale-calls.ts'
import type { Sale } from './sale-queries.ts'
import { beginSale, finishSale } from './sales.ts'

/** Forms of the frame that were sent: a card goes to its gateway, in the three steps of an outward operation, and a bank account is kept at once. */

export interface FormDeps extends GatewayDeps, CapturedDeps {
  db: Database
  /** Bounds the calls of gateways of this process. */
  outwardPlaces: Pick<Places, 'run'>
}

/**
 * Result of a form. `closed`: the session took something before, or takes nothing any more. `busy`: another try is at the gateway. `waiting`: the
 * outcome of the charge is not known, or its bank wants a confirmation.
 */
export type Submitted =
  | 'captured'
  | 'declined'
  | 'no_answer'
  | 'waiting'
  | 'busy'
  | 'closed'
  | 'gateway_inactive'
  | 'gateway_held'

export type CardToCapture = CardMethodBody['CreditCard']

/** Has the gateway of a session store a card, and charge it where there is a sale; keeps what it answered. */
export const submitCard = (
  deps: FormDeps,
  context: RequestContext,
  id: Id,
  card: CardToCapture,
): Promise<Submitted> => {
  const { db, outwardPlaces } = deps
  const accountId = context.account.id
  return outwardPlaces.run(
    accountId,
    async () => {
      const begun = await db.transaction(accountId, (tx) => begin(tx, context, id))
      if (typeof begun === 'string') return begun
      const stored = await storeCard(deps, context, { CreditCard: card }, begun)
      const kept = await db.transaction(accountId, (tx) => finish(tx, context, deps, { id, ...begun, card }, stored))
      if (typeof kept === 'string') return kept
      const charged = await chargeSale(deps, context, kept, true)
      return db.transaction(accountId, (tx) => finishSale(tx, context, deps, kept, charged))
    },
    gatewaysBusy,
  )
}

interface Begun {
  intentId: Id
  gateway: Gateway
  reference: string
  isBegun: false
}

/** Locks a session that still takes something; else why it does not. */
async function openSession(
  tx: Transaction,
  context: RequestContext,
  id: Id,
): Promise<{ session: CaptureSession; gateway: Gateway } | Submitted> {
  const session = await lockSession(tx, id)
  assert(session, `capture session ${id} exists`)
  if (sessionState(session, context.moment.now) !== 'open') return 'closed'
  const last = session.cardIntentId === null ? undefined : await lockIntent(tx, session.cardIntentId)
  if (last?.isOpen || session.sale?.state === 'open') return 'busy'
  const gateway = await findGateway(tx, tx.account, session.gatewayId)
  assert(gateway, `gateway ${session.gatewayId} of capture session ${id} exists`)
  if (isSaleHeld(session, gateway)) return 'gateway_held'
  return isReady(gateway) ? { session, gateway } : 'gateway_inactive'
}

async function begin(tx: Transaction, context: RequestContext, id: Id): Promise<Begun | Submitted> {
  const open = await openSession(tx, context, id)
  if (typeof open === 'string') return open
  const { gateway } = open
  const reference = randomBytes(18).toString('base64url')
  // Nobody comes back for a card that was not answered: it is removed, and the form sent once more.
  const intentId = await insertIntent(tx, { customerId: null, gatewayId: gateway.id, reference, isKeyed: false })
  await noteTry(tx, id, intentId)
  return { intentId, gateway, reference, isBegun: false }
}

async function finish(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  { id, intentId, gateway, card }: Begun & { id: Id; card: CardToCapture },
  outcome: StoreOutcome,
): Promise<Submitted | Sale> {
  const session = await lockSession(tx, id)
  const intent = await lockIntent(tx, intentId)
  // Whoever closed it meanwhile has seen to it that the gateway keeps nothing.
  if (!session || !intent?.isOpen) return 'no_answer'
  switch (outcome.kind) {
    case 'stored': {
      if (!(await takeToken(tx, intent, outcome.token))) {
        await abandonIntent(tx, intent)
        return 'no_answer'
      }
      await closeIntent(tx, intentId)
      if (session.capturedAt !== null) {
        await removeAtGateway(tx, { gatewayId: gateway.id, gatewayToken: outcome.token })
        return 'closed'
      }
      const holder = { nameOnCard: card.NameOnCard, lastNameOnCard: card.LastNameOnCard }
      const method = capturedCard(gateway.id, outcome, holder)
      if (session.saleType !== 'VaultOnly') return beginSale(tx, context, deps, session, method)
      await capture(tx, context, deps, session, method)
      return 'captured'
    }
    case 'declined':
      await closeIntent(tx, intentId)
      await countRefusal(tx, id)
      return 'declined'
    default:
      await abandonIntent(tx, intent)
      return 'no_answer'
  }
}

/** Keeps a bank account that was entered in a session. */
export const submitAccount = (
  deps: FormDeps,
  context: RequestContext,
  id: Id,
  method: Extract<CapturedMethod, { kind: 'account' }>,
): Promise<Submitted> =>
  deps.db.transaction(context.account.id, async (tx) => {
    const open = await openSession(tx, context, id)
    if (typeof open === 'string') return open
    await capture(tx, context, deps, open.session, method)
    return 'captured'
  })
