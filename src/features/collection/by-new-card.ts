import { randomBytes } from 'node:crypto'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { gatewaysBusy } from '../gateways/call.ts'
import type { StoreOutcome } from '../gateways/contract.ts'
import type { Gateway } from '../gateways/queries.ts'
import { lockedInvoice } from '../invoices/manual.ts'
import { storeCard } from '../payment-methods/add-card.ts'
import { abandonIntent } from '../payment-methods/removal.ts'
import { closeIntent, countCardsOfInvoice, insertIntent, lockIntent } from '../payment-methods/intent-queries.ts'
import type { CardMethodBody } from '../payment-methods/wire.ts'
import { findPaying, type PayDeps, payByCustomer, type Press } from './by-customer.ts'

/** Paying an invoice with a card that its customer enters: its gateway stores it under an intent, then the invoice is tried with it. */

/** Cards that are taken for one invoice within 24 hours: its link must not serve to try out stolen ones. */
export const CARDS_MAX = 5

export interface CardToPayWith {
  card: CardMethodBody['CreditCard']
  /** It is to become the primary method, once it has paid. */
  isWanted: boolean
}

/**
 * Result of a card that was entered. `done`: the page of the invoice shows what came of it. `declined`: the gateway refused to store it. `no_answer`: it
 * gave none, and keeps nothing. `too_many`: no more cards are taken today.
 */
export type CardPressed = 'done' | 'declined' | 'no_answer' | 'too_many'

interface Begun {
  intentId: Id
  gateway: Gateway
  reference: string
  isBegun: false
}

/** Has the gateway store a card, and pays an invoice with it as its customer saw it. Throws what `payByCustomer` throws. */
export async function payByNewCard(
  deps: PayDeps,
  context: RequestContext,
  id: InvoiceId,
  press: Press,
  { card, isWanted }: CardToPayWith,
): Promise<CardPressed> {
  const accountId = context.account.id
  const begun = await deps.db.transaction(accountId, (tx) => begin(tx, context, deps, id, press))
  if (typeof begun === 'string') return begun
  const store = () => storeCard(deps, context, { CreditCard: card }, begun)
  const stored = await deps.outwardPlaces.run(accountId, store, gatewaysBusy)
  if (stored.kind !== 'stored') return deps.db.transaction(accountId, (tx) => giveUp(tx, begun, stored))
  const { kind: _, token: gatewayToken, cardType: cardBrand, ...kept } = stored
  const names = { nameOnCard: card.NameOnCard, lastNameOnCard: card.LastNameOnCard }
  const newCard = { ...kept, ...names, gatewayToken, cardBrand, isWanted }
  await payByCustomer(deps, context, id, press, { ...begun, newCard })
  return 'done'
}

/** Writes the intent of a card; `done` where the invoice is not to be paid with one as it was seen. */
async function begin(
  tx: Transaction,
  context: RequestContext,
  deps: PayDeps,
  id: InvoiceId,
  { seen }: Press,
): Promise<Begun | 'done' | 'too_many'> {
  const { invoice } = await lockedInvoice(tx, context, id)
  const paying = await findPaying(tx, context, deps, id)
  if (!paying?.newCard || paying.newest !== seen.newest) return 'done'
  if ((await countCardsOfInvoice(tx, id)) >= CARDS_MAX) return 'too_many'
  const { gateway } = paying.newCard
  const reference = randomBytes(18).toString('base64url')
  // Nobody comes back for a card that was not answered: it is removed, and the form sent once more.
  const intent = { customerId: invoice.customerId, gatewayId: gateway.id, reference, isKeyed: false }
  return { intentId: await insertIntent(tx, intent, id), gateway, reference, isBegun: false }
}

async function giveUp(
  tx: Transaction,
  { intentId }: Begun,
  outcome: Exclude<StoreOutcome, { kind: 'stored' }>,
): Promise<'declined' | 'no_answer'> {
  const intent = await lockIntent(tx, intentId)
  if (outcome.kind === 'declined') {
    await closeIntent(tx, intentId)
    return 'declined'
  }
  if (intent?.isOpen) await abandonIntent(tx, intent)
  return 'no_answer'
}
