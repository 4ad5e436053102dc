import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { jsonText } from '../../kernel/json.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import type { StoredCard } from '../gateways/contract.ts'
import { addBankAccount, addMethod, newMethodToken, NO_ACCOUNT } from '../payment-methods/actions.ts'
import type { CheckedAccount } from '../payment-methods/checks.ts'
import { type CardFields, drawMethodId } from '../payment-methods/queries.ts'
import type { BankAccountBody, MethodView } from '../payment-methods/wire.ts'
import { type CaptureSession, noteCapture } from './queries.ts'
import { recordSession } from './record.ts'
import { COMPLETION_HOURS, giveBackAfter } from './rules.ts'
import type { Sale } from './sale-queries.ts'

/** The method that a session has captured: sealed in its row, until it is a customer's method or was given back. */

export interface CapturedDeps {
  envelope: Envelope
}

export type CapturedMethod =
  | { kind: 'card'; lastFour: string; card: Omit<CardFields, 'gatewayId'> & { gatewayId: Id } }
  | { kind: 'account'; lastFour: string; checked: CheckedAccount; body: BankAccountBody }

/** The names of whoever holds a card, as the form has them. */
export interface Holder {
  nameOnCard: string
  lastNameOnCard: string
}

export const capturedCard = (gatewayId: Id, stored: StoredCard, holder: Holder): CapturedMethod => ({
  kind: 'card',
  lastFour: stored.lastFour,
  card: {
    ...holder,
    gatewayId,
    gatewayToken: stored.token,
    fingerprint: stored.fingerprint,
    cardBrand: stored.cardType,
    expiryMonth: stored.expiryMonth,
    expiryYear: stored.expiryYear,
  },
})

const placeOf = (row: Id) => ({ table: 'capture_sessions', column: 'method', row })

const fromText = (text: string): CapturedMethod =>
  JSON.parse(text, (name, value: unknown) => (name === 'gatewayId' ? BigInt(value as string) : value)) as CapturedMethod

/** Returns the token under which a gateway keeps what was captured; null for a bank account. */
export const tokenOf = (method: CapturedMethod): string | null =>
  method.kind === 'card' ? method.card.gatewayToken : null

/** Opens what a session has captured. */
export function openMethod(envelope: Envelope, account: AccountId, { id, method }: CaptureSession): CapturedMethod {
  assert(method, `capture session ${id} holds what it captured`)
  return fromText(envelope.open(account, placeOf(id), method))
}

const placeOfSale = (row: Id) => ({ table: 'capture_sales', column: 'method', row })

/** Seals the card of a sale whose outcome is not known. */
export const sealSaleMethod = (envelope: Envelope, account: AccountId, chargeId: Id, method: CapturedMethod): Buffer =>
  envelope.seal(account, placeOfSale(chargeId), jsonText(method))

/** Opens the card of a sale whose outcome is not known. */
export function openSaleMethod(
  envelope: Envelope,
  account: AccountId,
  { chargeId, method }: Pick<Sale, 'chargeId' | 'method'>,
): CapturedMethod {
  assert(method, `sale ${chargeId} holds its card`)
  return fromText(envelope.open(account, placeOfSale(chargeId), method))
}

/** Keeps a method in a locked session, which is captured from now on. */
export async function capture(
  tx: Transaction,
  context: RequestContext,
  { envelope }: CapturedDeps,
  session: CaptureSession,
  method: CapturedMethod,
): Promise<void> {
  const { now } = context.moment
  await noteCapture(tx, {
    id: session.id,
    methodId: await drawMethodId(tx),
    methodToken: newMethodToken(),
    method: envelope.seal(tx.account, placeOf(session.id), jsonText(method)),
    gatewayToken: tokenOf(method),
    capturedAt: now,
    giveBackAt: giveBackAfter(session, now),
    reallyEndsAt: session.reallyEndsAt,
    completionHours: COMPLETION_HOURS,
  })
  await recordSession(tx, context, 'capture_session.captured', session.id)
}

/** Notes that a locked session, which keeps no method, has charged its card. */
export async function captureSaleAlone(
  tx: Transaction,
  context: RequestContext,
  session: CaptureSession,
): Promise<void> {
  const { now } = context.moment
  const nothing = { methodId: null, methodToken: null, method: null, gatewayToken: null }
  const until = {
    giveBackAt: giveBackAfter(session, now),
    reallyEndsAt: session.reallyEndsAt,
    completionHours: COMPLETION_HOURS,
  }
  await noteCapture(tx, { id: session.id, ...nothing, capturedAt: now, ...until })
  await recordSession(tx, context, 'capture_session.captured', session.id)
}

/** Makes what a session has captured the method of a locked customer. */
export async function keepMethod(
  tx: Transaction,
  context: RequestContext,
  { envelope }: CapturedDeps,
  session: CaptureSession,
  customerId: CustomerId,
): Promise<MethodView> {
  const { methodId, methodToken } = session
  assert(methodId !== null && methodToken !== null, `capture session ${session.id} was captured`)
  const about = { customerId, isPrimary: false }
  const method = openMethod(envelope, tx.account, session)
  if (method.kind === 'account') {
    const known = { id: methodId, token: methodToken }
    const account = { account: method.checked, mandate: null }
    return addBankAccount(tx, context, envelope, about, account, method.body, known)
  }
  const { card, lastFour } = method
  const added = { ...NO_ACCOUNT, ...card, ...about, lastFour, kind: 'credit_card', state: 'verified' } as const
  return addMethod(tx, context, methodId, added, methodToken)
}
