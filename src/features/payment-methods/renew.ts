import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { lockCustomer } from '../customers/queries.ts'
import type { StoredAccount, StoredCard } from '../gateways/contract.ts'
import { numberHash, type OnMethodChanged, openNumber, sealedNumber } from './actions.ts'
import {
  listCardsByToken,
  lockMethod,
  type StoredMethod,
  updateBankAccount,
  updateCard,
  updateMethodState,
} from './queries.ts'
import { recordMethod } from './record.ts'

/** Cards that their gateway has changed on its own, because the bank issued the card anew, or that it keeps no more; accounts that their bank corrects in answer to a debit. */

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

/**
 * Brings the accounts that a gateway keeps under a token, or under that which it has now, to what it has now; one that was rejected is verified again.
 * Returns how many there are.
 */
export async function renewAccounts(
  tx: Transaction,
  context: RequestContext,
  gatewayId: Id,
  token: string,
  account: StoredAccount,
  onMethodChanged: OnMethodChanged,
): Promise<number> {
  const found = await listCardsByToken(tx, tx.account, gatewayId, [token, account.token])
  const { lastFour, accountHolder, bank, mandateReference, mandateDate } = account
  for (const { id, customerId } of found) {
    await lockCustomer(tx, tx.account, customerId)
    const method = await lockMethod(tx, tx.account, id)
    const isAsKept =
      method?.gatewayToken === account.token && method.lastFour === lastFour && method.state !== 'rejected'
    if (method === undefined || isAsKept) continue
    const renewed = {
      ...method,
      lastFour,
      accountHolder,
      bank,
      mandateReference,
      mandateDate,
      state: 'verified' as const,
    }
    await updateBankAccount(tx, renewed)
    await updateCard(tx, { ...renewed, gatewayToken: account.token })
    await recordMethod(tx, context, 'payment_method.updated', id)
    await onMethodChanged(tx, context, renewed, method.lastFour !== lastFour)
  }
  return found.length
}

/** Parts of an ach account that its bank corrects; those that are undefined stay. */
export interface AccountCorrection {
  account?: string
  routing?: string
  isSavings?: boolean
}

const SAVINGS = 'Savings'
const CHECKING = 'Checking'

/** Returns the fields of an account after a correction; `number` is null where it stays. */
function corrected(method: StoredMethod, present: string | null, { account, routing, isSavings }: AccountCorrection) {
  const isOtherType = isSavings !== undefined && isSavings !== (method.accountType === SAVINGS)
  return {
    number: account === undefined || account === present ? null : account,
    routingNumber: routing ?? method.routingNumber,
    accountType: isOtherType ? (isSavings ? SAVINGS : CHECKING) : method.accountType,
  }
}

/** Returns whether a method has the number that a correction brings: it has followed already. */
export const isAccountOf = (
  envelope: Envelope,
  account: AccountId,
  method: StoredMethod,
  correction: AccountCorrection,
): boolean =>
  correction.account !== undefined &&
  method.numberHash !== null &&
  numberHash(envelope, account, { kind: 'ach', number: correction.account }).equals(method.numberHash)

/**
 * Writes a correction to a locked ach account. Rule: it is the same account of the same payer, so it keeps its mandate and its state, also in a batch
 * that is being built. The event has the code of the bank, and the old number masked; what is right already changes nothing. Returns the hash of
 * the number that it has then.
 */
export async function correctBankAccount(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  method: StoredMethod,
  { code, ...correction }: AccountCorrection & { code: string },
): Promise<Buffer | null> {
  const { number, routingNumber, accountType } = corrected(method, openNumber(envelope, tx.account, method), correction)
  if (number === null && routingNumber === method.routingNumber && accountType === method.accountType)
    return method.numberHash
  const sealed = number === null ? {} : sealedNumber(envelope, tx.account, method.id, { kind: 'ach', number })
  const after = { ...method, ...sealed, routingNumber, accountType }
  await updateBankAccount(tx, after)
  const was = [
    number !== null && `AccountNumber was …${method.lastFour}`,
    routingNumber !== method.routingNumber && `RoutingNumber was …${(method.routingNumber ?? '').slice(-4)}`,
    accountType !== method.accountType && `AccountType was ${method.accountType}`,
  ].filter((part) => part !== false)
  await recordMethod(tx, context, 'payment_method.updated', method.id, `${code}: ${was.join(', ')}.`)
  return after.numberHash
}

/** Follows a card that its gateway keeps no more, its customer locked. */
export type OnCardLost = (tx: Transaction, context: RequestContext, method: StoredMethod) => Promise<unknown>

const LOST = {
  card: 'The gateway does not keep the card any more.',
  account: 'The mandate of the account has ended at the gateway.',
} as const

/** Rejects the cards and accounts whose token a gateway keeps no more: nothing can be charged to them. Returns how many methods have the token. */
export async function rejectLost(
  tx: Transaction,
  context: RequestContext,
  gatewayId: Id,
  token: string,
  onCardLost: OnCardLost,
): Promise<number> {
  const found = await listCardsByToken(tx, tx.account, gatewayId, [token])
  for (const { id, customerId } of found) {
    await lockCustomer(tx, tx.account, customerId)
    const method = await lockMethod(tx, tx.account, id)
    if (method === undefined || method.state === 'rejected') continue
    await updateMethodState(tx, id, 'rejected')
    await recordMethod(
      tx,
      context,
      'payment_method.updated',
      id,
      LOST[method.kind === 'credit_card' ? 'card' : 'account'],
    )
    if (method.kind === 'credit_card') await onCardLost(tx, context, method)
  }
  return found.length
}
