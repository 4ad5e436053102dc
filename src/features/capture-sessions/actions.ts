import { randomBytes } from 'node:crypto'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { afterLock } from '../../engine/money/postings.ts'
import type { Id } from '../../kernel/ids.ts'
import { dateIn, midnightOf } from '../../kernel/zone.ts'
import { conflict, type Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { checkAuthDomain } from '../../platform/page/origin.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { refuseUnknownCurrency } from '../currencies/held.ts'
import type { Customer } from '../customers/queries.ts'
import { type Gateway, holdGatewayByToken } from '../gateways/queries.ts'
import { currenciesOf, refuseUnready } from '../gateways/rules.ts'
import type { OnMethodChanged } from '../payment-methods/actions.ts'
import { removeAtGateway } from '../payment-methods/removal.ts'
import { addPayment, settlePayment } from '../money/payments.ts'
import { sendReceipt } from '../money/receipt.ts'
import { beginSaleRefund, findSale } from './sale-queries.ts'
import { type CapturedDeps, keepMethod, openMethod } from './captured.ts'
import { type CaptureSession, insertSession, noteCompletion, noteGivenBack } from './queries.ts'
import { recordSession, tokenHash } from './record.ts'
import { bankKindOf, kindsOnPages, readSpan, sessionState, soldOf } from './rules.ts'
import type { SessionBody } from './wire.ts'

/** Changes of sessions by whoever holds a key, each in one transaction. */

/** The body of a session with what it refers to, checked. */
export interface CheckedSession {
  gateway: Gateway
  authOrigin: string
  spanMs: number
  amountMinor: bigint
}

/** Checks what a session is asked for; undefined where something is wrong with it. */
export async function checkSession(
  tx: Transaction,
  { account }: RequestContext,
  body: Partial<SessionBody>,
  problems: Problems,
): Promise<CheckedSession | undefined> {
  const { GatewayToken: token, AuthDomain: domain, ExpiresIn: span } = body
  const amountMinor = checkTypes(body, problems)
  const spanMs = span === undefined ? undefined : readSpan(span)
  if (span !== undefined && spanMs === undefined)
    problems.add('invalid', 'ExpiresIn', 'ExpiresIn must be of shape hh:mm:ss, over 0 and at most 24:00:00.')
  const authOrigin = checkAuthDomain(problems, domain, account.mode === 'test')
  const gateway = token === undefined ? undefined : await holdGatewayByToken(tx, tx.account, token)
  if (token !== undefined && !gateway) problems.add('gateway_unknown', 'GatewayToken', `There is no gateway ${token}.`)
  if (!gateway || authOrigin === undefined || spanMs === undefined) return undefined
  return { gateway, authOrigin, spanMs, amountMinor }
}

/** Notes what does not go together: how a method is kept, whether it is charged, and how much. Returns the amount in minor units. */
function checkTypes(
  { VaultingType, SaleType, Amount, CurrencyCode, isVaultOnlyOnSuccess }: Partial<SessionBody>,
  problems: Problems,
): bigint {
  if (
    VaultingType !== undefined &&
    SaleType !== undefined &&
    (VaultingType === 'VaultNone') !== (SaleType === 'SaleOnly')
  )
    problems.add(
      'types_unfit',
      'SaleType',
      'VaultGateway goes with VaultOnly or VaultSale, and VaultNone with SaleOnly.',
    )
  const minor = amountIn(problems, 'Amount', Amount ?? undefined, CurrencyCode)
  const hasAmount = Amount != null && minor !== 0n
  if (SaleType === 'VaultOnly' && hasAmount)
    problems.add('amount_unfit', 'Amount', 'Amount is left out or 0 with VaultOnly: nothing is charged.')
  if (SaleType !== undefined && SaleType !== 'VaultOnly' && !hasAmount)
    problems.add('required', 'Amount', `Amount is required with ${SaleType}.`)
  if (SaleType === 'VaultOnly' && isVaultOnlyOnSuccess === true)
    problems.add('invalid', 'isVaultOnlyOnSuccess', 'isVaultOnlyOnSuccess must be false with VaultOnly.')
  return minor ?? 0n
}

const refused = (code: string, message: string, field: string | null = null) => conflict(code, message, field)

function checkPossible(body: SessionBody, gateway: Gateway): void {
  const { id } = gateway
  refuseUnready(gateway, 'GatewayToken')
  if (!currenciesOf(gateway).includes(body.CurrencyCode))
    throw refused('currency_unfit', `The gateway ${id} does not take ${body.CurrencyCode}.`, 'CurrencyCode')
  const kinds = kindsOnPages(gateway)
  const takesCards = kinds.includes('credit_card')
  if (body.SaleType !== 'VaultOnly' && !takesCards)
    throw refused('gateway_unfit', `The gateway ${id} takes no cards, and a sale is by card.`, 'GatewayToken')
  if (!takesCards && bankKindOf(body.CurrencyCode, kinds) === undefined)
    throw refused(
      'gateway_unfit',
      `The gateway ${id} takes nothing that could be captured in ${body.CurrencyCode}.`,
      'GatewayToken',
    )
}

/** Begins a session. Returns it with its token, which is stored nowhere. */
export async function addSession(
  tx: Transaction,
  context: RequestContext,
  body: SessionBody,
  { gateway, authOrigin, spanMs, amountMinor }: CheckedSession,
): Promise<{ session: CaptureSession; sessionToken: string }> {
  await refuseUnknownCurrency(tx, tx.account, body.CurrencyCode, 'CurrencyCode')
  checkPossible(body, gateway)
  const sessionToken = randomBytes(32).toString('base64url')
  const { now } = context.moment
  const id = await insertSession(tx, tokenHash(sessionToken), {
    currency: body.CurrencyCode,
    gatewayId: gateway.id,
    authOrigin,
    description: body.Description ?? null,
    saleType: body.SaleType,
    isVaultOnlyOnSuccess: body.isVaultOnlyOnSuccess,
    amountMinor,
    createdAt: now,
    spanMs,
  })
  return { session: await recordSession(tx, context, 'capture_session.created', id), sessionToken }
}

const NOT_CAPTURED = {
  open: ['session_open', 'Nothing has been captured in this session yet.'],
  failed: ['session_failed', 'Nothing was captured in this session: too many tries were refused.'],
  expired: ['session_expired', 'This session has expired.'],
  completed: ['session_completed', 'This session was completed before.'],
} as const

/** Makes what a locked session captured the method of a locked customer, and its charge a payment of theirs. */
export async function completeSession(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps & { onMethodChanged: OnMethodChanged },
  session: CaptureSession,
  customer: Customer,
): Promise<void> {
  const state = sessionState(session, context.moment.now)
  if (state !== 'captured') {
    const [code, message] = NOT_CAPTURED[state]
    throw refused(code, message, 'SessionToken')
  }
  if (customer.archivedAt !== null)
    throw refused('customer_archived', `Customer ${customer.id} is archived; reopen it first.`, 'customerID')
  const method = session.method === null ? undefined : await keepMethod(tx, context, deps, session, customer.id)
  const sold = soldOf(session)
  if (sold) await recordSale(tx, context, session, sold.chargeId, customer)
  await noteCompletion(tx, session.id, customer.id, context.moment.now)
  await recordSession(tx, context, 'capture_session.completed', session.id, customer.id)
  if (method) await deps.onMethodChanged(tx, context, method)
}

/**
 * Records the charge of a session as one payment: dated as the charge, or the day after the lock where the books of that day are closed, and
 * unallocated.
 */
async function recordSale(
  tx: Transaction,
  context: RequestContext,
  { currency, description }: CaptureSession,
  chargeId: Id,
  customer: Customer,
): Promise<void> {
  const sale = await findSale(tx, tx.account, chargeId)
  assert(sale?.chargedOn != null, `sale ${chargeId} was charged`)
  const { timeZone, lockDate } = context.account
  const dated = afterLock(sale.chargedOn, lockDate)
  const paidAt = dateIn(sale.begunAt, timeZone) === dated ? sale.begunAt : midnightOf(dated, timeZone)
  const { amountMinor, gatewayId } = sale
  const money = { customerId: customer.id, paidAt, dated, currency, amountMinor, ref: description, memo: null }
  const payment = await addPayment(
    tx,
    context,
    { ...money, method: 'credit_card', origin: 'gateway' },
    { list: [] },
    { charge: { gatewayId, chargeId, transactionId: sale.gatewayReference } },
  )
  await sendReceipt(tx, context, await settlePayment(tx, context, payment, dated), customer)
}

/** Gives back what a locked session captured, because nobody took it over in time: first its charge, which the gateway has to be asked about. */
export async function giveBack(
  tx: Transaction,
  context: RequestContext,
  deps: CapturedDeps,
  session: CaptureSession,
): Promise<void> {
  assert(sessionState(session, context.moment.now) === 'expired', `capture session ${session.id} is over`)
  const sold = soldOf(session)
  if (sold) await beginSaleRefund(tx, sold.chargeId, context.moment.now)
  else await giveBackMethod(tx, context, deps, session)
}

/** Has the method of a locked session removed, whose charge, if there was one, was given back: the session is over. */
export async function giveBackMethod(
  tx: Transaction,
  context: RequestContext,
  { envelope }: CapturedDeps,
  session: CaptureSession,
): Promise<void> {
  const method = session.method === null ? undefined : openMethod(envelope, tx.account, session)
  if (method?.kind === 'card') await removeAtGateway(tx, method.card)
  await noteGivenBack(tx, session.id, context.moment.now)
  await recordSession(tx, context, 'capture_session.expired', session.id)
}
