import { randomBytes } from 'node:crypto'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Envelope } from '../../platform/envelope/envelope.ts'
import { recordChange } from '../events/record.ts'
import type { StoredAccount } from '../gateways/contract.ts'
import type { CheckedAccount } from './checks.ts'
import { giveMandateMails } from '../outbox/queries.ts'
import type { FittingMandate } from './types.ts'
import {
  type BankFields,
  type CardFields,
  clearPrimary,
  deleteMethod,
  drawMethodId,
  findMethod,
  insertMethod,
  isBeingDebited,
  listMethodsOf,
  methodUses,
  type StoredMethod,
  setPrimary,
  updateBankAccount,
  updateMethodState,
} from './queries.ts'
import { methodKind, recordMethod } from './record.ts'
import { removeAtGateway } from './removal.ts'
import { isOtherAccount, mandateAfter, stateAfter } from './rules.ts'
import { type BankAccountBody, fullView, mandateFromWire, type MethodView } from './wire.ts'

/** Changes of payment methods, each in one transaction, with the customer locked. */

export const NO_CARD: CardFields = {
  gatewayId: null,
  gatewayToken: null,
  fingerprint: null,
  cardBrand: null,
  nameOnCard: null,
  lastNameOnCard: null,
  expiryMonth: null,
  expiryYear: null,
}

export const NO_ACCOUNT: BankFields = {
  accountType: null,
  accountHolder: null,
  bank: null,
  number: null,
  numberHash: null,
  branchCode: null,
  routingNumber: null,
  bic: null,
  mandateReference: null,
  mandateDate: null,
  emandateId: null,
  mandateNumberHash: null,
}

/**
 * Plans the tries that a method brings which came, changed, or became the primary one; its customer is locked. With `isOtherAccount` it is another
 * account than before.
 */
export type OnMethodChanged = (
  tx: Transaction,
  context: RequestContext,
  method: Pick<StoredMethod, 'id' | 'customerId'>,
  isOtherAccount?: boolean,
) => Promise<void>

type NewMethod = Omit<StoredMethod, 'id' | 'token' | 'version' | 'isBrought'> & { isBrought?: true }

/** Draws our own random name of a method. */
export const newMethodToken = (): string => randomBytes(24).toString('base64url')

/** Adds a method of a locked customer; the first one becomes primary whatever is asked for. */
export async function addMethod(
  tx: Transaction,
  context: RequestContext,
  id: Id,
  method: NewMethod,
  token = newMethodToken(),
): Promise<MethodView> {
  const others = await listMethodsOf(tx, tx.account, method.customerId)
  const isPrimary = method.isPrimary || others.length === 0
  if (isPrimary && others.length > 0) await clearPrimary(tx, method.customerId)
  await insertMethod(tx, { isBrought: false, ...method, id, token, isPrimary }, context.moment.now)
  return recordMethod(tx, context, 'payment_method.created', id)
}

const placeOf = (row: Id) => ({ table: 'payment_methods', column: 'number', row })

/** Opens the whole number of a bank account; null where its gateway keeps it. */
export const openNumber = (
  envelope: Envelope,
  account: AccountId,
  { id, number, gatewayToken }: StoredMethod,
): string | null => (number === null || gatewayToken !== null ? null : envelope.open(account, placeOf(id), number))

/** Makes the fields of an account that a gateway keeps with its mandate. Its number is not here; a sealed empty text stands in its column, which is never null. */
export const keptAccountFields = (
  envelope: Envelope,
  account: AccountId,
  id: Id,
  { method: kind, token: gatewayToken, accountHolder, bank, lastFour, mandateReference, mandateDate }: StoredAccount,
) => ({
  ...NO_CARD,
  ...NO_ACCOUNT,
  ...{ kind, gatewayToken, accountHolder, bank, lastFour, mandateReference, mandateDate },
  number: envelope.seal(account, placeOf(id), ''),
})

/** Hashes a number for the account that keeps it, so that it is found again and two accounts cannot be compared. */
export const numberHash = (
  envelope: Envelope,
  account: AccountId,
  { kind, number }: Pick<CheckedAccount, 'kind' | 'number'>,
): Buffer => envelope.keyedHash('bank number')(`${account} ${kind} ${number}`)

/** Seals the number of a bank account for its row, with all by which it is recognised. */
export const sealedNumber = (
  envelope: Envelope,
  account: AccountId,
  id: Id,
  checked: Pick<CheckedAccount, 'kind' | 'number'>,
) => ({
  lastFour: checked.number.slice(-4),
  number: envelope.seal(account, placeOf(id), checked.number),
  numberHash: numberHash(envelope, account, checked),
})

function sealedAccount(envelope: Envelope, account: AccountId, id: Id, checked: CheckedAccount, body: BankAccountBody) {
  const { kind, branchCode, routingNumber, bic } = checked
  return {
    kind,
    branchCode,
    routingNumber,
    bic,
    ...sealedNumber(envelope, account, id, checked),
    accountType: body.AccountType,
    accountHolder: body.AccountHolder,
    bank: body.Bank,
  }
}

/** A bank account as its kind has it, with the eMandate that its body names. */
export interface AccountAndMandate {
  account: CheckedAccount
  mandate: FittingMandate | null
}

const NO_MANDATE = { emandateId: null, mandateReference: null, mandateDate: null, mandateNumberHash: null }

type Linked = Pick<StoredMethod, 'state' | keyof typeof NO_MANDATE>

/** Returns the mandate and state of a method that is linked to an eMandate: a signed one gives reference and date, and verifies. */
function linkedTo(method: Linked, mandate: FittingMandate | null, numberHash: Buffer): Linked {
  if (!mandate) return method
  if (!mandate.signed) return { ...method, emandateId: mandate.id }
  const { reference, date } = mandate.signed
  const state = method.state === 'unverified' ? 'verified' : method.state
  return {
    state,
    emandateId: mandate.id,
    mandateReference: reference,
    mandateDate: date,
    mandateNumberHash: numberHash,
  }
}

export async function addBankAccount(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  { customerId, isPrimary }: Pick<StoredMethod, 'customerId' | 'isPrimary'>,
  { account: checked, mandate }: AccountAndMandate,
  body: BankAccountBody,
  known: { id: Id; token: string } | undefined = undefined,
): Promise<MethodView> {
  const id = known?.id ?? (await drawMethodId(tx))
  const sealed = sealedAccount(envelope, tx.account, id, checked, body)
  const method: NewMethod = {
    ...NO_CARD,
    ...sealed,
    customerId,
    isPrimary,
    ...linkedTo(
      {
        state: 'unverified',
        mandateReference: body.MandateReference ?? null,
        mandateDate: body.MandateDate ?? null,
        emandateId: null,
        mandateNumberHash: body.MandateReference == null ? null : sealed.numberHash,
      },
      mandate,
      sealed.numberHash,
    ),
  }
  if (mandate) await giveMandateMails(tx, mandate.id, customerId)
  return addMethod(tx, context, id, method, known?.token)
}

/** Replaces the bank account of a locked method. */
export async function editBankAccount(
  tx: Transaction,
  context: RequestContext,
  envelope: Envelope,
  present: StoredMethod,
  { customerId, isPrimary }: Pick<StoredMethod, 'customerId' | 'isPrimary'>,
  { account: checked, mandate }: AccountAndMandate,
  body: BankAccountBody,
): Promise<MethodView> {
  if (present.kind === 'credit_card')
    throw conflict(
      'payment_method_is_card',
      `Payment method ${present.id} is a card; add the bank account as a new one.`,
    )
  if (present.gatewayToken !== null)
    throw conflict(
      'kept_at_gateway',
      `The gateway ${present.gatewayId} keeps the account of payment method ${present.id}, so it changes there; only isPrimary changes here, by PUT /v1/paymentmethods/{paymentMethodID}/setprimary.`,
    )
  if (customerId !== present.customerId)
    throw conflict(
      'customer_fixed',
      `Payment method ${present.id} stays with customer ${present.customerId}.`,
      'customerID',
    )
  if (await isBeingDebited(tx, tx.account, present.id))
    throw conflict(
      'payment_method_in_batch',
      `Payment method ${present.id} is in a batch that was submitted; edit it when that is completed.`,
    )
  const sealed = sealedAccount(envelope, tx.account, present.id, checked, body)
  const isOther = isOtherAccount(sealed, present)
  // A cleared token ends the link, and takes with it what the link has given.
  const before = body.EMandateToken === null && present.emandateId !== null ? { ...present, ...NO_MANDATE } : present
  const kept = mandateAfter(before, mandateFromWire(body), sealed, isOther)
  const after = linkedTo({ ...kept, state: stateAfter(present.state, isOther) }, mandate, sealed.numberHash)
  await updateBankAccount(tx, { ...present, ...sealed, ...after })
  if (mandate) await giveMandateMails(tx, mandate.id, customerId)
  if (isPrimary && !present.isPrimary) await movePrimary(tx, present)
  return recordMethod(tx, context, 'payment_method.updated', present.id)
}

async function movePrimary(tx: Transaction, { id, customerId }: StoredMethod): Promise<void> {
  await clearPrimary(tx, customerId)
  await setPrimary(tx, id)
}

/** Makes a locked method the primary one of its customer, and returns whether it was another; one that is already stays so, without an event. */
export async function makePrimary(tx: Transaction, context: RequestContext, method: StoredMethod): Promise<boolean> {
  if (method.isPrimary) return false
  await movePrimary(tx, method)
  await recordMethod(tx, context, 'payment_method.primary_set', method.id)
  return true
}

/** Writes what a debit has shown of an account: it is verified or rejected, unless it is another account by now. */
export async function judgeMethod(
  tx: Transaction,
  context: RequestContext,
  debit: { paymentMethodId: Id; sentNumberHash: Buffer | null },
  state: 'verified' | 'rejected',
): Promise<void> {
  const method = await findMethod(tx, tx.account, debit.paymentMethodId)
  // A debit that went through verifies nobody whose account was rejected since.
  if (!method || method.state === state || (state === 'verified' && method.state === 'rejected')) return
  if (debit.sentNumberHash && !method.numberHash?.equals(debit.sentNumberHash)) return
  await updateMethodState(tx, method.id, state)
  await recordMethod(tx, context, 'payment_method.validated', method.id)
}

/** Gives a locked bank account the mandate that was signed for it: it is verified, unless its bank has refused it. */
export async function linkSigned(
  tx: Transaction,
  context: RequestContext,
  method: StoredMethod,
  mandate: { id: Id; reference: string },
): Promise<MethodView> {
  await updateBankAccount(tx, {
    ...method,
    state: method.state === 'unverified' ? 'verified' : method.state,
    emandateId: mandate.id,
    mandateReference: mandate.reference,
    mandateDate: context.moment.today,
    mandateNumberHash: method.numberHash,
  })
  return recordMethod(tx, context, 'payment_method.updated', method.id)
}

/** Takes an eMandate that is forgotten from the locked method that names it. */
export async function unlinkMandate(tx: Transaction, context: RequestContext, method: StoredMethod): Promise<void> {
  await updateBankAccount(tx, { ...method, emandateId: null })
  await recordMethod(tx, context, 'payment_method.updated', method.id)
}

/** Told of a locked method of a customer who stays, before it is deleted. */
export type OnMethodRemoved = (tx: Transaction, method: StoredMethod) => Promise<void>

/** Deletes a locked method that is not primary and that nothing open names by request. */
export async function removeMethod(
  tx: Transaction,
  context: RequestContext,
  method: StoredMethod,
  { onMethodRemoved, isRemovedAtGateway }: { onMethodRemoved: OnMethodRemoved; isRemovedAtGateway: boolean },
): Promise<void> {
  const { id, isPrimary } = method
  if (isPrimary)
    throw conflict('payment_method_primary', `Payment method ${id} is primary; make another one primary first.`)
  const uses = await methodUses(tx, tx.account, id, context.moment.today)
  const users = [
    uses.invoices && 'an unpaid invoice',
    uses.subscriptions && 'a subscription',
    uses.recurring && 'a recurring invoice',
  ].filter((user) => user !== false)
  if (users.length > 0)
    throw conflict('payment_method_used', `Payment method ${id} is named by ${sentenceList(users)}.`)
  if (uses.batches)
    throw conflict('payment_method_in_batch', `Payment method ${id} is in a batch that is not completed.`)
  if (uses.tries)
    throw conflict('payment_method_pending', `Payment method ${id} has a try whose outcome is not known; wait for it.`)
  await onMethodRemoved(tx, method)
  await forget(tx, context, method, isRemovedAtGateway)
}

/** Forgets a method, and has its card removed at the gateway; one that others stored there stays, unless that is asked for. */
async function forget(
  tx: Transaction,
  context: RequestContext,
  method: StoredMethod,
  isRemovedAtGateway = false,
): Promise<void> {
  await recordChange(tx, context, methodKind, {
    type: 'payment_method.deleted',
    row: fullView(method),
    customerId: method.customerId,
  })
  await deleteMethod(tx, method.id)
  if (!method.isBrought || isRemovedAtGateway) await removeAtGateway(tx, method)
}

/** Removes all methods of a locked customer who is deleted or made anonymous, the primary one too. */
export async function removeMethodsOf(tx: Transaction, context: RequestContext, customer: CustomerId): Promise<void> {
  for (const method of await listMethodsOf(tx, tx.account, customer)) await forget(tx, context, method)
}
