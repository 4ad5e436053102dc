import { randomBytes } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict, Fault, invalid } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Answer } from '../../platform/http/answer.ts'
import type { AskedKey, Begun } from '../../platform/http/operation.ts'
import { type Customer, lockCustomer } from '../customers/queries.ts'
import { unknownCustomer } from '../customers/record.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { None, StoredCard, StoreOutcome } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { isReady, kindsOf, primaryGateway } from '../gateways/rules.ts'
import { addMethod, NO_ACCOUNT, type OnMethodChanged } from './actions.ts'
import { closeIntent, holdIntent, insertIntent, lockIntent, takeToken, type CardIntent } from './intent-queries.ts'
import { drawMethodId } from './queries.ts'
import { methodKind } from './record.ts'
import { abandonIntent, removeAtGateway } from './removal.ts'
import type { CardMethodBody } from './wire.ts'

/** Adding a card: the gateway stores it under the reference of an intent, and answers the token that is kept. */

/** The facts of a call to store a card; the card itself stays in the body, which no row holds. */
export interface CardCall {
  intentId: Id
  gateway: Gateway
  reference: string
  /** The intent was begun before: the gateway is first asked what it holds under it. */
  isBegun: boolean
}

/** Takes up the intent that the same request has begun, or writes one. */
export async function beginCard(tx: Transaction, customer: Customer, asked: AskedKey): Promise<Begun<CardCall>> {
  const gateways = await listAllGateways(tx, tx.account)
  const begun = asked.begunIntent === null ? undefined : await lockIntent(tx, asked.begunIntent)
  const keeper = begun?.isOpen ? gateways.find(({ id }) => id === begun.gatewayId) : undefined
  if (begun && keeper) {
    await holdIntent(tx, begun.id)
    const { id: intentId, reference } = begun
    return { intent: intentId, call: { intentId, gateway: keeper, reference, isBegun: true } }
  }
  const gateway = cardGateway(gateways, customer)
  if (!gateway || !gatewayFactsOf(gateway.type).takesCardNumbers)
    throw conflict(
      'gateway_missing',
      'This account has no gateway that takes card numbers; a test account has its sandbox (make it active). Elsewhere the customer enters the card in the capture widget or on the page of an invoice, or a card that the gateway stores already is brought by its token (POST /v1/paymentmethods/gatewaytoken).',
      'gatewayID',
    )
  const reference = randomBytes(18).toString('base64url')
  const { isKeyed } = asked
  const intentId = await insertIntent(tx, { customerId: customer.id, gatewayId: gateway.id, reference, isKeyed })
  return { intent: intentId, call: { intentId, gateway, reference, isBegun: false } }
}

/** Has the gateway store the card, without a transaction. */
export const storeCard = (
  deps: GatewayDeps,
  context: RequestContext,
  { CreditCard: card }: Pick<CardMethodBody, 'CreditCard'>,
  { gateway, reference, isBegun }: Omit<CardCall, 'intentId'>,
): Promise<StoreOutcome> =>
  askGateway<StoreOutcome>(deps, context, gateway, async (adapter, call) => {
    assert(adapter.storeCard, `a gateway of type ${gateway.type} stores cards`)
    const held: StoreOutcome | None = isBegun
      ? ((await adapter.findStored?.(call, { reference, gatewayReference: null, sentAt: null })) ?? { kind: 'none' })
      : { kind: 'none' }
    if (held.kind !== 'none') return held
    return adapter.storeCard(call, {
      reference,
      number: card.Number,
      cardType: card.CardType,
      expiryMonth: card.ExpiryMonth,
      expiryYear: card.ExpiryYear,
      nameOnCard: card.NameOnCard,
      lastNameOnCard: card.LastNameOnCard,
    })
  })

/** Returns the fault of a gateway that is not known to keep a card, so that the caller sends it again. */
export const noAnswer = () =>
  new Fault(
    'unavailable',
    [
      {
        code: 'gateway_no_answer',
        message: 'The gateway gave no answer, so no payment method was made; try again.',
        field: null,
      },
    ],
    5,
  )

/** Writes what came of the call: the method, or the end of the intent with its refusal. */
export async function finishCard(
  tx: Transaction,
  context: RequestContext,
  body: CardMethodBody,
  { intentId }: CardCall,
  outcome: StoreOutcome,
  onMethodChanged: OnMethodChanged,
): Promise<Answer | Fault> {
  const customer = await lockCustomer(tx, tx.account, body.customerID)
  const intent = await lockIntent(tx, intentId)
  // Whoever closed it meanwhile has seen to it that the gateway keeps nothing.
  if (!intent?.isOpen) return noAnswer()
  switch (outcome.kind) {
    case 'stored':
      if (!(await takeToken(tx, intent, outcome.token))) {
        await abandonIntent(tx, intent)
        return noAnswer()
      }
      return customer
        ? keepCard(tx, context, body, intent, outcome, onMethodChanged)
        : withoutCustomer(tx, body, intent, outcome)
    case 'declined':
      await closeIntent(tx, intent.id)
      return invalid('card_declined', `The gateway refused the card: ${outcome.message}`, 'CreditCard.Number')
    default:
      // With a key the caller can come back and go on; without one nobody can.
      if (!intent.isKeyed) await abandonIntent(tx, intent)
      return noAnswer()
  }
}

async function keepCard(
  tx: Transaction,
  context: RequestContext,
  { customerID, isPrimary, CreditCard }: CardMethodBody,
  intent: CardIntent,
  stored: StoredCard,
  onMethodChanged: OnMethodChanged,
): Promise<Answer> {
  await closeIntent(tx, intent.id)
  const method = await addMethod(tx, context, await drawMethodId(tx), {
    ...NO_ACCOUNT,
    customerId: customerID,
    kind: 'credit_card',
    isPrimary,
    state: 'verified',
    lastFour: stored.lastFour,
    gatewayId: intent.gatewayId,
    gatewayToken: stored.token,
    fingerprint: stored.fingerprint,
    cardBrand: stored.cardType,
    nameOnCard: CreditCard.NameOnCard,
    lastNameOnCard: CreditCard.LastNameOnCard,
    expiryMonth: stored.expiryMonth,
    expiryYear: stored.expiryYear,
  })
  await onMethodChanged(tx, context, method)
  return methodKind.answer(method, context)
}

/** Has the card removed again, because its customer was deleted while the gateway answered. */
async function withoutCustomer(
  tx: Transaction,
  { customerID }: CardMethodBody,
  { id, gatewayId }: CardIntent,
  { token }: StoredCard,
): Promise<Fault> {
  await closeIntent(tx, id)
  await removeAtGateway(tx, { gatewayId, gatewayToken: token })
  return new Fault('invalid', unknownCustomer(customerID).problems)
}

/** Returns the gateway that a new card goes to: the customer's own if it takes cards, else the account's first choice. */
export function cardGateway(
  gateways: readonly Gateway[],
  customer: { primaryGatewayId: Id | null; currency: string },
): Gateway | undefined {
  const own = gateways.find(({ id }) => id === customer.primaryGatewayId)
  return own && isReady(own) && kindsOf(own).includes('credit_card')
    ? own
    : primaryGateway(gateways, 'credit_card', customer.currency)
}
