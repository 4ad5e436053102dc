import type { RequestContext } from '../../kernel/context.ts'
import { findCountry } from '../../kernel/countries.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import type { CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { gatewaysBusy } from '../gateways/call.ts'
import type { None, StoredCard, StoreOutcome } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import type { ClientFacts } from '../gateways/storing.ts'
import { lockedInvoice } from '../invoices/manual.ts'
import { beginFields, type FieldsPayer, findEntered, takeUpFields } from '../payment-methods/card-fields.ts'
import {
  type CardIntent,
  closeIntent,
  countCardsOfInvoice,
  countRefusedCard,
  lockFieldsOfInvoice,
  lockIntent,
} from '../payment-methods/intent-queries.ts'
import { listMethodsOf } from '../payment-methods/queries.ts'
import { abandonIntent } from '../payment-methods/removal.ts'
import { findPaying, type PayDeps, payByCustomer, type Press } from './by-customer.ts'
import { CARDS_MAX } from './by-new-card.ts'
import { findPaidFor } from './call-queries.ts'

/** Paying an invoice with a card that its customer enters into fields of the gateway's own: the page begins them, and its form names whose card it is. */

/** Facts for the script of the page: those of the gateway's fields; the card that they have stored already; or that there is nothing to enter now. */
export type InvoiceFields =
  | { kind: 'client'; client: ClientFacts }
  | { kind: 'stored'; card: StoredCard }
  | { kind: 'over' | 'too_many' }

/** Begins to have a card entered for an invoice, or takes it up. Throws 503 where the gateway gives no answer. */
export async function openInvoiceFields(deps: PayDeps, context: RequestContext, id: InvoiceId): Promise<InvoiceFields> {
  const { id: account } = context.account
  const open = await deps.db.transaction(account, async (tx) => {
    const { invoice } = await lockedInvoice(tx, context, id)
    const gateway = (await findPaying(tx, context, deps, id))?.newCard?.gateway
    if (!gateway || !gatewayFactsOf(gateway.type).fields) return 'over'
    const entering = await lockFieldsOfInvoice(tx, id)
    if (!entering && (await countCardsOfInvoice(tx, id)) >= CARDS_MAX) return 'too_many'
    const { customerId } = invoice
    const intent = await takeUpFields(tx, { invoiceId: id, customerId }, gateway, entering)
    return { intent, gateway, payer: await payerOf(tx, { invoiceId: id, customerId }, gateway) }
  })
  if (typeof open === 'string') return { kind: open }
  const begin = () => beginFields(deps, context, open.gateway, open.intent, open.payer)
  const begun = await deps.outwardPlaces.run(account, begin, gatewaysBusy)
  return begun.kind === 'client' ? begun : { kind: 'stored', card: begun }
}

/** Returns who pays an invoice, with a card that they have at the gateway already. */
async function payerOf(
  tx: Transaction,
  { invoiceId, customerId }: { invoiceId: InvoiceId; customerId: CustomerId },
  gateway: Gateway,
): Promise<FieldsPayer> {
  const { email, country, postalCode, ...named } = await findPaidFor(tx, tx.account, invoiceId)
  const beside = (await listMethodsOf(tx, tx.account, customerId)).find(
    ({ kind, gatewayId }) => kind === 'credit_card' && gatewayId === gateway.id,
  )
  return {
    payer: {
      ...{ customerId, name: customerNameOf(named), email, postalCode },
      country: findCountry(country ?? '')?.code ?? null,
    },
    besideToken: beside?.gatewayToken ?? null,
    isForLater: true,
  }
}

/** Counts a card that the gateway has refused in its own fields. Returns true where that was the last one of the day. */
export const refuseForInvoice = ({ db }: PayDeps, { account }: RequestContext, id: InvoiceId): Promise<boolean> =>
  db.transaction(account.id, async (tx) => {
    const intent = await lockFieldsOfInvoice(tx, id)
    if (!intent) return false
    await countRefusedCard(tx, intent.id)
    const isLast = (await countCardsOfInvoice(tx, id)) >= CARDS_MAX
    if (isLast) await abandonIntent(tx, intent)
    return isLast
  })

/** Names on a card, and what is to become of it. */
export interface EnteredNames {
  holder: { nameOnCard: string; lastNameOnCard: string }
  /** It is to become the primary method, once it has paid. */
  isWanted: boolean
}

/**
 * Result of the form. `done`: the page of the invoice shows what came of it. `not_begun`: nothing was entered, and the page begins anew. `not_yet`: the gateway
 * does not answer what it has stored.
 */
export type EnteredPressed = 'done' | 'not_begun' | 'declined' | 'not_yet'

/** Pays an invoice, as its customer saw it, with the card that the gateway's own fields have stored. Throws what `payByCustomer` throws. */
export async function payByEntered(
  deps: PayDeps,
  context: RequestContext,
  id: InvoiceId,
  press: Press,
  names: EnteredNames,
): Promise<EnteredPressed> {
  const { db, outwardPlaces } = deps
  const { id: account } = context.account
  const entered = await db.transaction(account, async (tx) => {
    await lockedInvoice(tx, context, id)
    const paying = await findPaying(tx, context, deps, id)
    if (!paying?.newCard || paying.newest !== press.seen.newest) return 'done'
    const intent = await lockFieldsOfInvoice(tx, id)
    const gateway = intent && (await findGateway(tx, account, intent.gatewayId))
    return intent && gateway ? { intent, gateway } : 'not_begun'
  })
  if (typeof entered === 'string') return entered
  const { intent, gateway } = entered
  const found = await outwardPlaces.run(account, () => findEntered(deps, context, gateway, intent), gatewaysBusy)
  if (found.kind !== 'stored') return db.transaction(account, (tx) => leaveOpen(tx, intent, found))
  const { token: gatewayToken, cardType: cardBrand, fingerprint, lastFour, expiryMonth, expiryYear } = found
  const card = { gatewayToken, cardBrand, fingerprint, lastFour, expiryMonth, expiryYear }
  const newCard = { ...card, ...names.holder, isWanted: names.isWanted }
  await payByCustomer(deps, context, id, press, { intentId: intent.id, gateway, newCard })
  return 'done'
}

/** Leaves an intent to its page, which goes on with it, unless it was ended at the gateway. */
async function leaveOpen(
  tx: Transaction,
  { id }: CardIntent,
  outcome: Exclude<StoreOutcome | None, { kind: 'stored' }>,
): Promise<'not_begun' | 'declined' | 'not_yet'> {
  if (outcome.kind === 'declined') return 'declined'
  if (outcome.kind !== 'none') return 'not_yet'
  if ((await lockIntent(tx, id))?.isOpen) await closeIntent(tx, id)
  return 'not_begun'
}
