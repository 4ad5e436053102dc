import { assert } from '../../kernel/assert.ts'
import {
  type Account,
  backgroundContext,
  type Moment,
  type RealClock,
  type RequestContext,
} from '../../kernel/context.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { CapturedDeps } from '../capture-sessions/captured.ts'
import { findSaleOfRefund } from '../capture-sessions/sale-queries.ts'
import { askEndedSale, askSaleRefund, type SaleAsked } from '../capture-sessions/sale-reports.ts'
import { afterMethodOfCustomer } from '../collection/actions.ts'
import { resumeTry } from '../collection/calls.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import type { GatewayAdapter, GatewayCall, None, NotSent, Unknown } from '../gateways/contract.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { findPayment } from '../money/payment-queries.ts'
import { isPending } from '../money/rules.ts'
import { renewCards } from '../payment-methods/renew.ts'
import { askAbout } from '../refunds/ask.ts'
import { findPaymentRefund } from '../refunds/queries.ts'
import { applyCharge } from './charge.ts'
import { findSoldCharge, type KeptReport } from './queries.ts'
import { APPLIED, identifierOf, refused, type Verdict, WAITS } from './rules.ts'

/**
 * Applies reports: the gateway is asked what is true now, and that is written. So neither the order of reports matters, nor how often one is
 * applied. No transaction is open while the gateway is asked.
 */

export interface ReportDeps extends GatewayDeps, CapturedDeps {
  db: Database
  realClock: RealClock
  linesOfService: LinesOfService
  /** Mail leaves the house; left out: it stays readable in the outbox. */
  hasMailServer?: boolean
  /** Lists a report that cannot be applied for a person, in the transaction that finishes it. */
  onUnapplied(tx: Transaction, context: RequestContext, report: KeptReport, reason: string): Promise<void>
}

/** Makes the context of what a report of a gateway changes. */
export const reportContext = (
  { hasMailServer = false }: Pick<ReportDeps, 'hasMailServer'>,
  account: Account,
  moment: Moment,
  { gatewayId }: KeptReport,
): RequestContext => backgroundContext(account, moment, { actor: `gateway ${gatewayId}`, hasMailServer })

/** Asks the gateway of a report for the truth, and writes it. */
export async function applyReport(
  deps: ReportDeps,
  account: Account,
  moment: Moment,
  report: KeptReport,
): Promise<Verdict> {
  const gateway = await findGateway(deps.db.reader(account.id), account.id, report.gatewayId)
  assert(gateway, `gateway ${report.gatewayId} exists`)
  const context = reportContext(deps, account, moment, report)
  switch (report.about) {
    case 'charge':
      return chargeReported(deps, context, gateway, report.reference)
    case 'refund':
      return refundReported(deps, context, gateway, report.reference)
    case 'stored':
      return cardReported(deps, context, gateway, report.reference)
  }
}

/** Asks by one of the adapter's questions; a gateway that cannot be asked knows nothing. */
const ask = <Answer>(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  question: (adapter: GatewayAdapter, call: GatewayCall) => Promise<Answer> | undefined,
): Promise<Answer | None | Unknown> =>
  askGateway<Answer | None>(
    deps,
    context,
    gateway,
    async (adapter, call) => (await question(adapter, call)) ?? { kind: 'none' },
  )

const isUnanswered = (answer: { kind?: string }): answer is Unknown | NotSent =>
  answer.kind === 'unknown' || answer.kind === 'not_sent'

const verdictOf = (asked: SaleAsked): Verdict => (asked === 'applied' ? APPLIED : WAITS)

async function chargeReported(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  reference: string,
): Promise<Verdict> {
  const { account } = context
  const id = identifierOf(reference)
  const find = async () => (id === undefined ? undefined : findPayment(deps.db.reader(account.id), account.id, id))
  const sold =
    id === undefined ? undefined : await findSoldCharge(deps.db.reader(account.id), account.id, gateway.id, id)
  // Rule: the charge of a capture session waits until a customer has it; what it is after it was found not made goes back.
  if (sold && sold.paymentId === null && id !== undefined)
    return sold.isWaiting ? WAITS : verdictOf(await askEndedSale(deps, context, gateway, id))
  const payment =
    sold?.paymentId != null ? await findPayment(deps.db.reader(account.id), account.id, sold.paymentId) : await find()
  // What came back later is a payment of the same charge, and no charge of its own.
  if (payment?.gatewayId !== gateway.id || (!sold && payment.chargeId !== payment.id))
    return refused(`The gateway reports charge ${reference}, which is no payment of it.`)
  // A clock that stands waits for nothing that real time would bring.
  if (isPending(payment)) await resumeTry(deps, context, payment.id, account.clockAt !== null)
  const known = await findPayment(deps.db.reader(account.id), account.id, payment.id)
  assert(known, `payment ${payment.id} exists`)
  const answer = await ask(deps, context, gateway, (adapter, call) => adapter.askCharge?.(call, reference))
  if ('kind' in answer && isUnanswered(answer)) return WAITS
  const state = 'kind' in answer ? { outcome: answer, changes: [] } : answer
  const of = {
    gatewayId: gateway.id,
    chargeId: id ?? payment.id,
    paymentId: payment.id,
    wasPending: isPending(known),
  }
  const verdict = await deps.db.transaction(account.id, (tx) =>
    applyCharge(tx, context, of, state, deps.linesOfService),
  )
  // Once more at most: a payment whose outcome is known does not pend again.
  return verdict === 'outdated' ? chargeReported(deps, context, gateway, reference) : verdict
}

async function refundReported(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  reference: string,
): Promise<Verdict> {
  const { account } = context
  const reader = deps.db.reader(account.id)
  const id = identifierOf(reference)
  const refund = id === undefined ? undefined : await findPaymentRefund(reader, account.id, id)
  const sale = id === undefined ? undefined : await findSaleOfRefund(reader, account.id, gateway.id, id)
  if (sale) return verdictOf(await askSaleRefund(deps, context, gateway, sale))
  const payment = refund && (await findPayment(reader, account.id, refund.paymentId))
  if (!refund || payment?.gatewayId !== gateway.id)
    return refused(`The gateway reports refund ${reference}, which is none of it.`)
  const asked = await askAbout(deps.db, context, deps, refund.id)
  assert(asked, `refund ${refund.id} exists`)
  // An open refund is asked about in its turn.
  if (asked.refund.state === 'open') return APPLIED
  if (isUnanswered(asked.outcome)) return WAITS
  return asked.refund.state === 'failed' && asked.outcome.kind === 'succeeded'
    ? refused(`Refund ${refund.id} is recorded as failed, and the gateway has made it.`)
    : APPLIED
}

async function cardReported(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  token: string,
): Promise<Verdict> {
  const answer = await ask(deps, context, gateway, (adapter, call) => adapter.askStored?.(call, token))
  if (isUnanswered(answer)) return WAITS
  if (answer.kind !== 'stored') return refused('The gateway reports a card that it does not keep any more.')
  const found = await deps.db.transaction(context.account.id, (tx) =>
    renewCards(tx, context, gateway.id, token, answer, afterMethodOfCustomer),
  )
  return found > 0 ? APPLIED : refused('The gateway reports a card of which no payment method is kept.')
}
