import { debitDayOf } from '../../engine/collection/dunning.ts'
import { assert } from '../../kernel/assert.ts'
import type { CardBrand } from '../../kernel/bank-numbers.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id, InvoiceId } from '../../kernel/ids.ts'
import type { DeclineClass } from '../../kernel/rails.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { HttpDeps } from '../../platform/http/deps.ts'
import type { Places } from '../../platform/places.ts'
import { runOutward } from '../../platform/http/outward.ts'
import { isDebit, type Way, wayOf } from '../collection-terms/way.ts'
import { insertDunningByHand, listDunned } from '../dunning/queries.ts'
import { lockedInvoice } from '../invoices/manual.ts'
import { findInvoice, type Invoice } from '../invoices/queries.ts'
import { gatewayFactsOf } from '../gateways/facts.ts'
import { type Gateway, findGateway } from '../gateways/queries.ts'
import { isChosen, isStopped, refuseStopped } from '../gateways/rules.ts'
import { noAnswer } from '../payment-methods/add-card.ts'
import { closeIntent, lockIntent, takeToken } from '../payment-methods/intent-queries.ts'
import { drawMethodId, findMethod, listMethodsOf } from '../payment-methods/queries.ts'
import { removeAtGateway } from '../payment-methods/removal.ts'
import { findWaitingLine } from '../batches/waiting-queries.ts'
import { type CallDeps, callTry, writeAnswer } from './calls.ts'
import { finishCollect } from './collect.ts'
import type { Confirming } from './confirming.ts'
import { debitDaysOf } from './debit-days.ts'
import { replaceLine } from './lines.ts'
import { findNewCardGateway, type TakesNewCards } from './new-card.ts'
import { finishTry, type Known } from './outcome.ts'
import { beginTry } from './tries.ts'
import { claimTry, listTries, type NewCard, type ReplacedLine, type Try } from './try-queries.ts'
import type { Begun } from '../../platform/http/operation.ts'

/**
 * A customer's payment of an invoice, with the card on file or one that they enter: a try that is no step, made while they are present to
 * confirm it. It takes money for invoices on hold and of suspended and archived customers too.
 */

/** How an invoice can be paid by its customer now, and how it is being paid. */
export interface Paying {
  /** The amount to pay by card: all that is open, with what waits for a bank debit. In minor units. */
  amountMinor: bigint
  /** The card on file; null where there is none, or nothing to pay with it, or its gateway is held. */
  card: { brand: CardBrand; lastFour: string } | null
  /** The debit of a bank account that comes, on its own. */
  debit: { on: IsoDate; lastFour: string } | null
  /** A payment by card under way: the bank wants the customer to confirm it, or its outcome is not known. */
  open: 'confirm' | 'unknown' | null
  /** The address of the gateway at which they confirm it; null: a press here does, or the gateway's script on a page of its own. */
  confirmUrl: string | null
  /** The charge that they confirm by the gateway's script; null: there is none. */
  confirming: Confirming | null
  /** The gateway of a card that is entered here; null: none takes one, or there is nothing to pay with it, or it is held. */
  newCard: TakesNewCards | null
  /** A card could pay it, but each gateway that would take one is held. */
  isLater: boolean
  /** Why the newest try failed, if that was today. */
  declined: DeclineClass | null
  /** The newest try of the invoice; 0 where there was none. A press is for what was seen: after another try it does nothing. */
  newest: Id
}

/** The facts that a customer has seen when they pressed. */
export type Seen = Pick<Paying, 'amountMinor' | 'newest'>

/** Returns the way of the card on file. Rule: the invoice's own, else the primary one, else the newest that can be charged. */
async function cardWayOf(tx: Transaction, invoice: Invoice): Promise<Way | undefined> {
  const own = await wayOf(tx, invoice)
  if (own && !isDebit(own)) return own
  const cards = (await listMethodsOf(tx, tx.account, invoice.customerId))
    .filter(({ kind, state }) => kind === 'credit_card' && state !== 'rejected')
    .toSorted((one, other) => Number(other.isPrimary) - Number(one.isPrimary) || Number(other.id - one.id))
  for (const { id } of cards) {
    const named = { gatewayId: null, paymentMethodId: id, isMethodRequested: true }
    const way = await wayOf(tx, { ...invoice, ...named, collectionMethod: 'credit_card' })
    if (way) return way
  }
  return undefined
}

const methodOf = async (tx: Transaction, id: Id) => {
  const method = await findMethod(tx, tx.account, id)
  assert(method, `payment method ${id} exists`)
  return method
}

const isHeld = (found: { gateway: Gateway } | undefined): boolean => found !== undefined && isStopped(found.gateway)

/** Finds how an invoice can be paid by its customer; undefined where nothing of it is open. */
export async function findPaying(
  tx: Transaction,
  context: RequestContext,
  deps: CallDeps,
  id: InvoiceId,
): Promise<Paying | undefined> {
  const invoice = await findInvoice(tx, tx.account, id)
  assert(invoice, `invoice ${id} exists`)
  const tries = await listTries(tx, tx.account, id)
  const newest = tries.at(-1)
  const open = tries.find(({ state }) => state === 'open')
  const line = open?.isLine ? open : undefined
  const isWaiting = line !== undefined && (await findWaitingLine(tx, line.paymentId)) !== undefined
  const openMinor = invoice.totalMinor - invoice.negativeMinor - invoice.paidMinor - invoice.pendingMinor
  const amountMinor = openMinor + (isWaiting || open?.awaitsCustomer ? (open?.amountMinor ?? 0n) : 0n)
  if (invoice.isCancelled || (openMinor <= 0n && !open)) return undefined
  const isPayable = amountMinor > 0n && (!open || isWaiting)
  const way = isPayable ? await cardWayOf(tx, invoice) : undefined
  const method = way && !isHeld(way) ? await methodOf(tx, way.method.id) : undefined
  const card = method?.cardBrand ? { brand: method.cardBrand, lastFour: method.lastFour } : null
  // Whoever cannot confirm with one card takes another.
  const isEnterable = amountMinor > 0n && (isPayable || open?.awaitsCustomer === true)
  const taker = isEnterable ? await findNewCardGateway(tx, invoice.customerId, invoice.currency) : undefined
  const { today } = context.moment
  const newCard = taker && !isHeld(taker) ? taker : null
  return {
    amountMinor,
    isLater: (isHeld(way) || isHeld(taker)) && card === null && newCard === null,
    card,
    debit: await debitOf(tx, context, deps, invoice, line),
    open: open && !open.isLine ? (open.awaitsCustomer ? 'confirm' : 'unknown') : null,
    confirmUrl: open?.confirmUrl ?? null,
    confirming: await confirmingOf(tx, open),
    newCard,
    declined: newest?.state === 'declined' && newest.knownOn === today ? newest.class : null,
    newest: newest?.paymentId ?? 0n,
  }
}

/** Returns the charge that waits for the gateway's script: it has no address, and its gateway has fields. */
async function confirmingOf(tx: Transaction, open: Try | undefined): Promise<Confirming | null> {
  if (!open?.awaitsCustomer || open.confirmUrl !== null) return null
  const gateway = await findGateway(tx, tx.account, open.gatewayId)
  return gateway && gatewayFactsOf(gateway.type).fields ? { gateway, paymentId: open.paymentId } : null
}

/** Returns the debit of a bank account that comes: that of the line, else the one that the next try will be. */
async function debitOf(
  tx: Transaction,
  context: RequestContext,
  deps: CallDeps,
  invoice: Invoice,
  line: Try | undefined,
): Promise<Paying['debit']> {
  const { nextTryDate } = invoice
  if (nextTryDate === null) return null
  if (line) return { on: nextTryDate, lastFour: (await methodOf(tx, line.paymentMethodId)).lastFour }
  const way = await wayOf(tx, invoice)
  const [dunned] = await listDunned(tx, tx.account, [invoice.id])
  if (!way || !dunned || !isDebit(way)) return null
  const { today } = context.moment
  const on = debitDayOf(dunned.dunning, later(nextTryDate, today), today, debitDaysOf(deps, context, way))
  return { on, lastFour: (await methodOf(tx, way.method.id)).lastFour }
}

export type PayDeps = CallDeps & Pick<HttpDeps, 'secrets' | 'realClock'> & { outwardPlaces: Places }

/** A press of a customer on the page of an invoice. */
export interface Press {
  seen: Seen
  /** The address of the page, to which a gateway may hand them back; null where nobody knows it. */
  returnUrl: string | null
}

/** A card that was entered and that its gateway has stored, under an intent that is still open. */
export interface EnteredCard {
  intentId: Id
  gateway: Gateway
  newCard: NewCard
}

/** The waiting charge of a press, which was ended at its gateway. */
interface Ended {
  t: Try
  known: Extract<Known, { kind: 'failed' }>
}

/**
 * Pays an invoice as its customer saw it, by the card that was entered, else by that on file. A press that comes after another try does nothing:
 * the page shows what came of that one. A charge that waits to be confirmed is ended first; charged anew is the same card, where that was entered for
 * it. Throws a conflict where the amount has changed meanwhile.
 */
export async function payByCustomer(
  deps: PayDeps,
  context: RequestContext,
  id: InvoiceId,
  { seen, returnUrl }: Press,
  entered?: EnteredCard,
): Promise<void> {
  const waiting = await deps.db.transaction(context.account.id, (tx) => claimWaiting(tx, context, id, seen, entered))
  const answered = waiting && (await callTry(deps, context, waiting))
  let ended: Ended | undefined
  if (waiting && answered) {
    if (answered.known?.kind === 'failed') ended = { t: waiting, known: answered.known }
    else {
      await writeAnswer(deps, context, waiting, answered)
      if (entered) await deps.db.transaction(context.account.id, (tx) => leaveOut(tx, entered))
      return
    }
  }
  await runOutward(deps, context.account.id, undefined, {
    begin: (tx) => beginByCustomer(tx, context, id, seen, { ended, entered }),
    call: ({ t, way }) => callTry(deps, context, t, { ...way, isCustomerPresent: true, returnUrl }),
    finish: (tx, { t }, answer) => finishCollect(tx, context, { t }, answer),
  })
}

/** Claims the charge that waits to be confirmed, for whoever presses again; undefined where there is none or somebody is at it. */
async function claimWaiting(
  tx: Transaction,
  context: RequestContext,
  id: InvoiceId,
  { newest }: Seen,
  entered: EnteredCard | undefined,
): Promise<Try | undefined> {
  await lockedInvoice(tx, context, id)
  const t = (await listTries(tx, tx.account, id)).at(-1)
  if (!t?.awaitsCustomer || t.state !== 'open' || t.isAsked || t.paymentId !== newest) return undefined
  const gateway = entered ? entered.gateway : await findGateway(tx, tx.account, t.gatewayId)
  // The charge would be ended, and none could take its place.
  if (gateway) refuseStopped(gateway)
  return claimTry(tx, t.paymentId, 'all')
}

/** Closes the intent of a card that nothing is charged to, and has the card removed. */
async function leaveOut(tx: Transaction, { intentId, gateway, newCard }: EnteredCard): Promise<void> {
  await closeIntent(tx, intentId)
  await removeAtGateway(tx, { gatewayId: gateway.id, gatewayToken: newCard.gatewayToken })
}

const NOTHING = { answer: { status: 204 } }

/** The gateway and card of a press: those of the card that was entered, now or for the charge that was ended. */
interface CardWay {
  gateway: Gateway
  method: { id: Id; gatewayToken: string | null }
  newCard: NewCard | null
}

interface Card {
  ended: Ended | undefined
  entered: EnteredCard | undefined
}

async function enteredWayOf(tx: Transaction, { ended, entered }: Card): Promise<CardWay | undefined> {
  if (entered) {
    const { gateway, newCard } = entered
    return { gateway, newCard, method: { id: await drawMethodId(tx), gatewayToken: newCard.gatewayToken } }
  }
  if (!ended?.t.newCard) return undefined
  const { gatewayId, paymentMethodId, newCard } = ended.t
  const gateway = await findGateway(tx, tx.account, gatewayId)
  assert(gateway, `gateway ${gatewayId} of an open try exists`)
  return { gateway, newCard, method: { id: paymentMethodId, gatewayToken: newCard.gatewayToken } }
}

async function beginByCustomer(
  tx: Transaction,
  context: RequestContext,
  id: InvoiceId,
  seen: Seen,
  card: Card,
): Promise<Begun<{ t: Try; way: CardWay }>> {
  const { invoice } = await lockedInvoice(tx, context, id)
  const { ended, entered } = card
  // Whoever closed the intent meanwhile has seen to it that the gateway keeps nothing.
  const intent = entered && (await lockIntent(tx, entered.intentId))
  if (entered && !intent?.isOpen) return NOTHING
  // Its intent stays open, and is abandoned by the duty that looks after those.
  if (entered && intent && !(await takeToken(tx, intent, entered.newCard.gatewayToken))) throw noAnswer()
  const way = await enteredWayOf(tx, card)
  const isCardKept = entered === undefined && way !== undefined
  if (ended) await finishTry(tx, context, ended.t, ended.known, { isCardKept })
  const begun = await beginWith(tx, context, invoice, seen, way)
  if (entered && begun) await closeIntent(tx, entered.intentId)
  if (begun) return { intent: begun.t.paymentId, call: begun }
  if (entered) await leaveOut(tx, entered)
  else if (way?.newCard) await removeAtGateway(tx, { gatewayId: way.gateway.id, gatewayToken: way.method.gatewayToken })
  return NOTHING
}

/** Begins the try of a press; undefined where there is nothing to pay any more, or no card to pay it with. */
async function beginWith(
  tx: Transaction,
  context: RequestContext,
  invoice: Invoice,
  seen: Seen,
  entered: CardWay | undefined,
): Promise<{ t: Try; way: CardWay } | undefined> {
  const { id } = invoice
  const tries = await listTries(tx, tx.account, id)
  if (invoice.isDraft || invoice.isCancelled || (tries.at(-1)?.paymentId ?? 0n) !== seen.newest) return undefined
  const way = entered ?? (await cardWayOf(tx, invoice))
  if (!way || !isChosen(way.gateway)) return undefined
  refuseStopped(way.gateway)
  const open = tries.find(({ state }) => state === 'open')
  const replaced: ReplacedLine | null = open?.isLine ? await replaceLine(tx, context, open) : null
  if (open && !replaced) return undefined
  await insertDunningByHand(tx, id)
  const [dunned] = await listDunned(tx, tx.account, [id])
  assert(dunned, `invoice ${id} is dunned`)
  if (dunned.openMinor !== seen.amountMinor)
    throw conflict('amount_changed', `What is open of invoice ${id} has changed meanwhile.`)
  const newCard = entered?.newCard ?? null
  const t = await beginTry(tx, context, dunned, way, { step: null, isByHand: true, replaced, newCard })
  return t && { t, way: { ...way, newCard } }
}
