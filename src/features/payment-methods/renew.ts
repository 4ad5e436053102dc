import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { StoredCard } from '../gateways/contract.ts'
import type { OnMethodChanged } from './actions.ts'
import { listCardsByToken, lockMethod, type StoredMethod, updateCard } from './queries.ts'
import { recordMethod } from './record.ts'

/** Cards that their gateway has changed on its own, because the bank issued the card anew. */

const isAsStored = (method: StoredMethod, card: StoredCard): boolean =>
  method.gatewayToken === card.token &&
  method.lastFour === card.lastFour &&
  method.expiryMonth === card.expiryMonth &&
  method.expiryYear === card.expiryYear

/**
 * Brings the cards that a gateway keeps under a token, or under that which it has now, to what it has now. Returns how many there are; one that
 * is as the gateway has it stays without an event. A card that changed is a changed method: `onMethodChanged` plans what follows.
 */
export async function renewCards(
  tx: Transaction,
  context: RequestContext,
  gatewayId: Id,
  token: string,
  card: StoredCard,
  onMethodChanged: OnMethodChanged,
): Promise<number> {
  const found = await listCardsByToken(tx, tx.account, gatewayId, [token, card.token])
  for (const { id, customerId } of found) {
    await lockCustomer(tx, tx.account, customerId)
    const method = await lockMethod(tx, tx.account, id)
    if (method === undefined || isAsStored(method, card)) continue
    const { lastFour, fingerprint, expiryMonth, expiryYear, cardType } = card
    const renewed = {
      lastFour,
      fingerprint: fingerprint ?? method.fingerprint,
      expiryMonth,
      expiryYear,
      cardBrand: cardType,
    }
    await updateCard(tx, { ...method, ...renewed, gatewayToken: card.token })
    await recordMethod(tx, context, 'payment_method.updated', id)
    await onMethodChanged(tx, context, { ...method, ...renewed })
  }
  return found.length
}
