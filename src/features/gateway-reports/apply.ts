import { assert } from '../../kernel/assert.ts'
import {
  type Account,
  backgroundContext,
  type Moment,
  type RealClock,
  type RequestContext,
} from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import type { CapturedDeps } from '../capture-sessions/captured.ts'
import { storingReported } from '../capture-sessions/left-fields.ts'
import { findSale, findSaleOfRefund } from '../capture-sessions/sale-queries.ts'
import { askEndedSale, askSaleRefund, type SaleAsked, wakeSale } from '../capture-sessions/sale-reports.ts'
import { afterMethodOfCustomer } from '../collection/actions.ts'
import { resumeTry } from '../collection/calls.ts'
import { findTry } from '../collection/try-queries.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { recordMismatch } from '../gateways/actions.ts'
import { askGateway, type GatewayDeps } from '../gateways/call.ts'
import { factsOfCharge, findKnownCharge, type KnownCharge } from '../gateways/charge-queries.ts'
import type { GatewayAdapter, GatewayCall, Held, None, NotSent, Unknown } from '../gateways/contract.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { setupReported } from '../mandate-setups/look.ts'
import { findGateway, type Gateway } from '../gateways/queries.ts'
import { nameOfAnswer, readReference } from '../gateways/references.ts'
import { findPayment } from '../money/payment-queries.ts'
import { isPending } from '../money/rules.ts'
import { type OnCardLost, rejectLost, renewAccounts, renewCards } from '../payment-methods/renew.ts'
import { askAbout } from '../refunds/ask.ts'
import { findPaymentRefund } from '../refunds/queries.ts'
import { applyCharge } from './charge.ts'
import type { OnRefunded } from './console-refunds.ts'
import { nameCharge } from './names.ts'
import { findPaymentOfCharge, findSoldCharge, type KeptReport } from './queries.ts'
import { APPLIED, refused, type Verdict, WAITS } from './rules.ts'

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
  onCardLost: OnCardLost
  /** Lists what no money covers of a refund of the console, in the transaction that books it. */
  onRefunded: OnRefunded
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
      return chargeReported(deps, context, gateway, report)
    case 'refund':
      return refundReported(deps, context, gateway, report)
    case 'storing':
      return storingVerdict(
        gatewayFactsOf(gateway.type).keepsAccounts
          ? await setupReported(deps, context, gateway.id, report.reference)
          : await storingReported(deps, context, gateway, report),
      )
    case 'stored':
      return cardReported(deps, context, gateway, report.reference)
  }
}

const storingVerdict = (asked: Awaited<ReturnType<typeof storingReported>>): Verdict => {
  if (asked === 'not_here') return refused('The gateway reports a storing, which nothing here has begun.')
  return asked === 'applied' ? APPLIED : WAITS
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

const isUnanswered = (answer: { kind?: string }): answer is Unknown | NotSent | Held =>
  answer.kind === 'unknown' || answer.kind === 'not_sent' || answer.kind === 'held'

/** Returns the verdict on an answer that leaves open what was asked. Rule: what is about another charge or refund is listed for a person, with an event. */
async function unanswered(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  answer: Unknown | NotSent | Held,
): Promise<Verdict> {
  const reason = answer.kind === 'unknown' ? answer.mismatch : undefined
  if (reason === undefined) return WAITS
  await deps.db.transaction(context.account.id, (tx) => recordMismatch(tx, context, gateway.id, reason))
  return refused(reason)
}

const verdictOf = async (
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  asked: SaleAsked,
): Promise<Verdict> => (asked === 'applied' ? APPLIED : unanswered(deps, context, gateway, asked))

async function chargeReported(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  report: KeptReport,
): Promise<Verdict> {
  const { account } = context
  const reader = deps.db.reader(account.id)
  const found = await chargeOfReport(deps, context, gateway, report)
  if ('verdict' in found) return found.verdict
  const { charge } = found
  const { id } = charge
  if (charge.kind === 'sale') {
    const sold = await findSoldCharge(reader, account.id, gateway.id, id)
    // Rule: the charge of a capture session waits until a customer has it; what it is after it was found not made goes back.
    if (sold?.isOpen) return (await wakeSale(deps, context, id)) ? APPLIED : WAITS
    if (sold && sold.paymentId === null)
      return sold.isWaiting ? WAITS : verdictOf(deps, context, gateway, await askEndedSale(deps, context, gateway, id))
  }
  const paymentId = await findPaymentOfCharge(reader, account.id, gateway.id, id)
  assert(paymentId !== undefined, `charge ${id} is a payment`)
  if (charge.kind === 'try') await resumeTry(deps, context, paymentId, account.clockAt === null ? 'idle' : 'all')
  const known = await findPayment(reader, account.id, paymentId)
  assert(known, `payment ${paymentId} exists`)
  if (charge.kind === 'try' && isPending(known)) return WAITS
  const answer = await ask(deps, context, gateway, (adapter, call) => adapter.askCharge?.(call, factsOfCharge(charge)))
  if ('kind' in answer && isUnanswered(answer)) return unanswered(deps, context, gateway, answer)
  const state = 'kind' in answer ? { outcome: answer, changes: [] } : answer
  const of = { charge, paymentId, wasPending: isPending(known) }
  const verdict = await deps.db.transaction(account.id, (tx) => applyCharge(tx, context, of, state, deps))
  // Once more at most: a payment whose outcome is known does not pend again.
  return verdict === 'outdated' ? chargeReported(deps, context, gateway, report) : verdict
}

/** Finds the charge that a report is about, with the name that the report gives back; or the verdict where that ends it. */
async function chargeOfReport(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  report: KeptReport,
): Promise<{ charge: KnownCharge } | { verdict: Verdict }> {
  const { account } = context
  const reader = deps.db.reader(account.id)
  const named = readReference(report.reference)
  const found = named && (await findKnownCharge(reader, account.id, gateway.id, named.id))
  // Another nonce is another installation's, a copy's, or what a restore has lost.
  if (!found || found.nonce !== named.nonce)
    return { verdict: refused(`The gateway reports charge ${report.reference}, which is none of this service.`) }
  // Only whoever holds its lease asks about a try or sale that is open. A clock that stands waits for nothing that real time would bring.
  if (account.clockAt === null && (await isBeingAsked(reader, account.id, found))) return { verdict: WAITS }
  const back = await nameBack(deps, context, gateway, found, report.name)
  if ('verdict' in back || report.name === null || back.charge.gatewayReference === report.name) return back
  const other = await chargedTwice(deps, context, gateway, back.charge, report.name)
  return other ? { verdict: other } : back
}

/** Returns true while somebody may be asking about a try or a sale. */
async function isBeingAsked(db: Queryable, account: AccountId, { kind, id }: KnownCharge): Promise<boolean> {
  if (kind === 'sale') return (await findSale(db, account, id))?.isAsked ?? false
  return kind === 'try' && ((await findTry(db, account, id))?.isAsked ?? false)
}

/** Returns true for a try or a sale whose outcome is not known yet. */
async function isOpen(db: Queryable, account: AccountId, { kind, id }: KnownCharge): Promise<boolean> {
  if (kind === 'sale') return (await findSale(db, account, id))?.state === 'open'
  return kind === 'try' && (await findTry(db, account, id))?.state === 'open'
}

/**
 * Gives a charge that keeps no name the one that a report gives, once the gateway's answer bears it: a restore or a failover has lost it, and without a name
 * it would be asked for in vain. Returns the charge as it is then, or the verdict where the gateway does not answer for it.
 */
async function nameBack(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  charge: KnownCharge,
  name: string | null,
): Promise<{ charge: KnownCharge } | { verdict: Verdict }> {
  if (name === null || charge.gatewayReference !== null) return { charge }
  const asked = { ...factsOfCharge(charge), gatewayReference: name }
  const answer = await ask(deps, context, gateway, (adapter, call) => adapter.askCharge?.(call, asked))
  if ('kind' in answer)
    return isUnanswered(answer) ? { verdict: await unanswered(deps, context, gateway, answer) } : { charge }
  const { outcome } = answer
  // Nothing was made under that name, and nothing will be: a charge whose outcome is open is asked about in its turn.
  if (outcome.kind === 'none' && (await isOpen(deps.db.reader(context.account.id), context.account.id, charge)))
    return { verdict: APPLIED }
  // A decline has no name of its own: it is what was asked about.
  if (outcome.kind !== 'declined' && nameOfAnswer(outcome) !== name) return { charge }
  const kept = await deps.db.transaction(context.account.id, (tx) => nameCharge(tx, charge, name))
  return { charge: { ...charge, gatewayReference: kept } }
}

/** Asks about a charge by a name that is not its own; a refusal, with an event, where money was taken under it. */
async function chargedTwice(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  charge: KnownCharge,
  name: string,
): Promise<Verdict | undefined> {
  const asked = { ...factsOfCharge(charge), gatewayReference: name }
  const answer = await ask(deps, context, gateway, (adapter, call) => adapter.askCharge?.(call, asked))
  if ('kind' in answer && isUnanswered(answer)) return unanswered(deps, context, gateway, answer)
  if (!('outcome' in answer) || answer.outcome.kind !== 'succeeded' || answer.outcome.gatewayReference !== name)
    return undefined
  const beside =
    charge.gatewayReference === null
      ? 'and another charge bears that name'
      : `beside its charge ${charge.gatewayReference}`
  const reason = `The gateway has charged ${name} for payment ${charge.id}, ${beside}.`
  await deps.db.transaction(context.account.id, (tx) => recordMismatch(tx, context, gateway.id, reason))
  return refused(reason)
}

async function refundReported(
  deps: ReportDeps,
  context: RequestContext,
  gateway: Gateway,
  { reference }: KeptReport,
): Promise<Verdict> {
  const { account } = context
  const reader = deps.db.reader(account.id)
  const named = readReference(reference)
  const notHere = refused(`The gateway reports refund ${reference}, which is none of this service.`)
  if (!named) return notHere
  const sale = await findSaleOfRefund(reader, account.id, gateway.id, named.id)
  if (sale && sale.refundNonce === named.nonce)
    return verdictOf(deps, context, gateway, await askSaleRefund(deps, context, gateway, sale))
  const refund = await findPaymentRefund(reader, account.id, named.id)
  const payment = refund && (await findPayment(reader, account.id, refund.paymentId))
  if (!refund || refund.nonce !== named.nonce || payment?.gatewayId !== gateway.id) return notHere
  const asked = await askAbout(deps.db, context, deps, refund.id)
  assert(asked, `refund ${refund.id} exists`)
  // An open refund is asked about in its turn.
  if (asked.refund.state === 'open') return APPLIED
  if (isUnanswered(asked.outcome)) return unanswered(deps, context, gateway, asked.outcome)
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
  const found = await deps.db.transaction(context.account.id, (tx) => {
    if (answer.kind === 'stored') return renewCards(tx, context, gateway.id, token, answer, afterMethodOfCustomer)
    if (answer.kind === 'account') return renewAccounts(tx, context, gateway.id, token, answer, afterMethodOfCustomer)
    return rejectLost(tx, context, gateway.id, token, deps.onCardLost)
  })
  return found > 0 ? APPLIED : refused('The gateway reports a card or account of which no payment method is kept.')
}
