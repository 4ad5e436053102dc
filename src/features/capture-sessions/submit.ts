import { randomBytes } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import { type RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { Places } from '../../platform/places.ts'
import { type GatewayDeps, gatewaysBusy } from '../gateways/call.ts'
import type { None, StoredCard, StoreOutcome } from '../gateways/contract.ts'
import type { ClientFacts } from '../gateways/storing.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { isReady } from '../gateways/rules.ts'
import { storeCard } from '../payment-methods/add-card.ts'
import { beginFields, findEntered, holderNames, takeUpFields } from '../payment-methods/card-fields.ts'
import { type CardIntent, closeIntent, insertIntent, lockIntent, takeToken } from '../payment-methods/intent-queries.ts'
import { abandonIntent, removeAtGateway } from '../payment-methods/removal.ts'
import type { CardMethodBody } from '../payment-methods/wire.ts'
import { capture, capturedCard, type CapturedDeps, type CapturedMethod, type Holder } from './captured.ts'
import { type CaptureSession, countRefusal, lockSession, noteTry } from './queries.ts'
import { isSaleHeld, sessionState, TRIES_MAX } from './rules.ts'
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
export type Submitted = 'captured' | 'waiting' | 'closed' | NotTaken

/** A form that was not taken. `not_yet`: nobody knows yet what the gateway's own fields have stored. */
export type NotTaken = 'declined' | 'no_answer' | 'not_yet' | 'busy' | 'gateway_inactive' | 'gateway_held'

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
      return typeof kept === 'string' ? kept : charge(deps, context, kept)
    },
    gatewaysBusy,
  )
}

async function charge(deps: FormDeps, context: RequestContext, sale: Sale): Promise<Submitted> {
  const charged = await chargeSale(deps, context, sale, true)
  return deps.db.transaction(context.account.id, (tx) => finishSale(tx, context, deps, sale, charged))
}

/**
 * Keeps the card that the gateway's own fields have stored for a session, and has it charged where there is a sale: what the gateway answers counts, whatever
 * the browser makes of it.
 */
export const submitEntered = (
  deps: FormDeps,
  context: RequestContext,
  id: Id,
  holder: Holder,
): Promise<Submitted | 'not_begun'> => {
  const { db, outwardPlaces } = deps
  const accountId = context.account.id
  return outwardPlaces.run(
    accountId,
    async () => {
      const entered = await db.transaction(accountId, (tx) => enteredIn(tx, context, id))
      if (typeof entered === 'string') return entered
      const found = await findEntered(deps, context, entered.gateway, entered.intent)
      const kept = await db.transaction(accountId, (tx) =>
        finishEntered(tx, context, deps, { id, intentId: entered.intent.id, holder }, found),
      )
      return typeof kept === 'string' ? kept : charge(deps, context, kept)
    },
    gatewaysBusy,
  )
}

async function enteredIn(
  tx: Transaction,
  context: RequestContext,
  id: Id,
): Promise<{ intent: CardIntent; gateway: Gateway } | Submitted | 'not_begun'> {
  const open = await openSession(tx, context, id)
  if (typeof open === 'string') return open
  const { entering: intent, gateway } = open
  return intent ? { intent, gateway } : 'not_begun'
}

async function finishEntered(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  { id, intentId, holder }: { id: Id; intentId: Id; holder: Holder },
  outcome: StoreOutcome | None,
): Promise<Submitted | 'not_begun' | Sale> {
  const session = await lockSession(tx, id)
  const intent = await lockIntent(tx, intentId)
  if (!session || !intent?.isOpen) return 'not_begun'
  switch (outcome.kind) {
    case 'stored':
      return keepStored(tx, context, deps, { session, intent, holder }, outcome)
    case 'none':
      // It was ended at the gateway: the page begins anew.
      await closeIntent(tx, intentId)
      return 'not_begun'
    case 'declined':
      // The same intent takes another card; the page has counted this one.
      return 'declined'
    default:
      return 'not_yet'
  }
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
): Promise<{ session: CaptureSession; gateway: Gateway; entering: CardIntent | undefined } | Submitted> {
  const session = await lockSession(tx, id)
  assert(session, `capture session ${id} exists`)
  if (sessionState(session, context.moment.now) !== 'open') return 'closed'
  const last = session.cardIntentId === null ? undefined : await lockIntent(tx, session.cardIntentId)
  const entering = last?.isOpen && last.hasFields ? last : undefined
  if ((last?.isOpen && !entering) || session.sale?.state === 'open') return 'busy'
  const gateway = await findGateway(tx, tx.account, session.gatewayId)
  assert(gateway, `gateway ${session.gatewayId} of capture session ${id} exists`)
  if (isSaleHeld(session, gateway)) return 'gateway_held'
  return isReady(gateway) ? { session, gateway, entering } : 'gateway_inactive'
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
  { id, intentId, card }: Begun & { id: Id; card: CardToCapture },
  outcome: StoreOutcome,
): Promise<Submitted | Sale> {
  const session = await lockSession(tx, id)
  const intent = await lockIntent(tx, intentId)
  // Whoever closed it meanwhile has seen to it that the gateway keeps nothing.
  if (!session || !intent?.isOpen) return 'no_answer'
  switch (outcome.kind) {
    case 'stored': {
      const holder = { nameOnCard: card.NameOnCard, lastNameOnCard: card.LastNameOnCard }
      return keepStored(tx, context, deps, { session, intent, holder }, outcome)
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

/** Takes a card that the gateway has stored under a locked intent: captures it in a locked session, or begins the sale by it. */
export async function keepStored(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  { session, intent, holder }: { session: CaptureSession; intent: CardIntent; holder: Holder },
  stored: StoredCard,
): Promise<'captured' | 'closed' | 'no_answer' | Sale> {
  const { gatewayId } = intent
  if (!(await takeToken(tx, intent, stored.token))) {
    await abandonIntent(tx, intent)
    return 'no_answer'
  }
  await closeIntent(tx, intent.id)
  if (session.capturedAt !== null) {
    await removeAtGateway(tx, { gatewayId, gatewayToken: stored.token })
    return 'closed'
  }
  const method = capturedCard(gatewayId, stored, holder)
  if (session.saleType !== 'VaultOnly') return beginSale(tx, context, deps, session, method)
  await capture(tx, context, deps, session, method)
  return 'captured'
}

/** Facts for the script of the frame: those of the gateway's own fields; the card that they have stored already; or why nothing is entered now. */
export type SessionFields =
  | { kind: 'client'; client: ClientFacts }
  | { kind: 'stored'; card: StoredCard }
  | { kind: 'over' }
  | { kind: 'refused'; why: NotTaken }

/** Begins to have a card entered into the gateway's own fields for a session, or takes it up. Throws 503 where the gateway gives no answer. */
export async function openFields(deps: FormDeps, context: RequestContext, id: Id): Promise<SessionFields> {
  const accountId = context.account.id
  const open = await deps.db.transaction(accountId, async (tx) => {
    const found = await openSession(tx, context, id)
    if (typeof found === 'string') return found
    const { session, gateway, entering } = found
    const of = { sessionId: id, endsAt: session.reallyEndsAt, customerId: null }
    const intent = await takeUpFields(tx, of, gateway, entering)
    if (intent.id !== entering?.id) await noteTry(tx, id, intent.id)
    return { session, gateway, intent }
  })
  if (open === 'closed' || open === 'busy') return { kind: 'over' }
  if (open === 'gateway_held' || open === 'gateway_inactive') return { kind: 'refused', why: open }
  assert(typeof open === 'object', `capture session ${id} takes a card, or says why not`)
  const { session, gateway, intent } = open
  const payer = { payer: null, besideToken: null, isForLater: session.saleType !== 'SaleOnly' }
  const begin = () => beginFields(deps, context, gateway, intent, payer)
  const begun = await deps.outwardPlaces.run(accountId, begin, gatewaysBusy)
  if (begun.kind === 'client') return begun
  if (session.saleType !== 'VaultOnly') return { kind: 'stored', card: begun }
  // Nobody has brought names: those are the gateway's.
  await deps.db.transaction(accountId, (tx) =>
    finishEntered(tx, context, deps, { id, intentId: intent.id, holder: holderNames(begun) }, begun),
  )
  return { kind: 'over' }
}

/** Counts a card that the gateway has refused in its own fields. Returns true where that was the last one: the session has failed. */
export const refuseEntered = ({ db }: FormDeps, context: RequestContext, id: Id): Promise<boolean> =>
  db.transaction(context.account.id, async (tx) => {
    const open = await openSession(tx, context, id)
    if (typeof open === 'string') return open === 'closed'
    const { session, entering } = open
    if (!entering) return false
    await countRefusal(tx, id)
    const isLast = session.refusedTries + 1 >= TRIES_MAX
    if (isLast) await abandonIntent(tx, entering)
    return isLast
  })

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
    if (open.entering) await abandonIntent(tx, open.entering)
    await capture(tx, context, deps, open.session, method)
    return 'captured'
  })
