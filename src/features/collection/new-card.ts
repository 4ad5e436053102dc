import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { takes } from '../collection-terms/rules.ts'
import { findCustomer } from '../customers/queries.ts'
import { gatewayFactsOf, takesCardsOnPages } from '../gateways/facts.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { addMethod, NO_ACCOUNT } from '../payment-methods/actions.ts'
import { cardGateway } from '../payment-methods/add-card.ts'
import { removeAtGateway } from '../payment-methods/removal.ts'
import { afterMethodOfCustomer } from './actions.ts'
import type { NewCard, Try } from './try-queries.ts'

/** Cards that customers enter to pay one invoice. Each stands in its try alone until the outcome is known. */

/** A gateway that a new card of a customer would go to. */
export interface TakesNewCards {
  gateway: Gateway
  /** The card can become a payment method; not of an archived customer, of whom only money is taken. */
  canBeKept: boolean
}

/** Finds the gateway that a new card of a customer goes to; undefined where none takes cards on a page. */
export async function findNewCardGateway(
  tx: Transaction,
  customerId: CustomerId,
  currency: string,
): Promise<TakesNewCards | undefined> {
  const [customer, gateways] = await Promise.all([
    findCustomer(tx, tx.account, customerId),
    listAllGateways(tx, tx.account),
  ])
  const gateway = customer && cardGateway(gateways, { ...customer, currency })
  if (!gateway || !takesCardsOnPages(gatewayFactsOf(gateway.type)) || !takes(gateway, 'credit_card', currency))
    return undefined
  return { gateway, canBeKept: customer.archivedAt === null }
}

/** Ends the card of a try of a locked customer that has its outcome: it becomes their primary method, or is removed at its gateway. */
export async function endNewCard(
  tx: Transaction,
  context: RequestContext,
  { customerId, gatewayId, paymentMethodId }: Pick<Try, 'customerId' | 'gatewayId' | 'paymentMethodId'>,
  { isWanted, ...card }: NewCard,
  hasPaid: boolean,
): Promise<void> {
  const customer = await findCustomer(tx, tx.account, customerId)
  const isKept = hasPaid && isWanted && customer?.archivedAt === null
  if (!isKept) return removeAtGateway(tx, { gatewayId, gatewayToken: card.gatewayToken })
  const about = { customerId, gatewayId, kind: 'credit_card', state: 'verified', isPrimary: true } as const
  await addMethod(tx, context, paymentMethodId, { ...NO_ACCOUNT, ...card, ...about })
  await afterMethodOfCustomer(tx, context, { id: paymentMethodId, customerId })
}
