import { actionsOf, afterUntriedDay, type DayFacts, tryOf } from '../../engine/collection/dunning.ts'
import type { Action } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { GoOn } from '../../platform/duty.ts'
import { sideBySide } from '../../platform/side-by-side.ts'
import { changePause, type OnReturn } from '../customers/actions.ts'
import { lockCustomer } from '../customers/queries.ts'
import { type DunnedInvoice, listCustomersToCollect, listDueOfCustomer } from '../dunning/queries.ts'
import { getCollectionRules } from '../dunning/rules-queries.ts'
import { wayOf } from '../invoices/collection.ts'
import { type RunAction, runActions } from './actions.ts'
import { type CallDeps, callTry, ONE_BY_ONE, resumeTry, writeAnswer } from './calls.ts'
import { dayFactsOf, saveDunning } from '../dunning/save.ts'
import { beginTry } from './tries.ts'
import { listOpenTries, listToComeBack, owesOverdue, type Try } from './try-queries.ts'
import { payPastDue } from './unallocated.ts'
import { listSuspendedWithMoney } from './unallocated-queries.ts'

/**
 * The collection of a day, for one account: what is open is asked for, what is due is tried, then the actions of steps run and customers come
 * back. It can be killed anywhere: an intent is committed before its call, and what is done has moved its day in the same transaction.
 */

export interface DayDeps extends CallDeps {
  /** Bills a customer again who is back. */
  onReturn: OnReturn
}

export interface Collected {
  collected: number
  declined: number
  unknown: number
}

/** Customers whose tries are made side by side: a gateway takes its time. */
const AT_ONCE = 24
const A_LOOK = 500
const MINUTE_MS = 60_000

/** In a moved clock what is unknown is asked one minute later, and what was not sent is tried again, before the next day. */
const ROUNDS_MAX = 60

export async function collectDay(
  deps: DayDeps,
  context: RequestContext,
  { isClock, goOn = () => {} }: { isClock: boolean; goOn?: GoOn },
): Promise<Collected> {
  const totals: Collected = { collected: 0, declined: 0, unknown: 0 }
  const unknown = new Set<Id>()
  await resumeOpen(deps, context, { isAll: isClock, totals, unknown, goOn })
  await forCustomers(deps, context, goOn, async (customerId) => {
    const tries = await deps.db.transaction(context.account.id, (tx) => beginTries(tx, context, customerId), ONE_BY_ONE)
    await Promise.all(
      tries.map(async (t) => {
        const result = await writeAnswer(deps, context, t, await callTry(deps, context, t, true))
        if (result === 'open') unknown.add(t.paymentId)
        else count(totals, result)
      }),
    )
  })
  if (isClock) await resolveOfClock(deps, context, { totals, unknown })
  totals.unknown = unknown.size
  await forCustomers(deps, context, goOn, (customerId) =>
    deps.db.transaction(context.account.id, (tx) => actFor(tx, context, customerId), ONE_BY_ONE),
  )
  await bringBack(deps, context)
  return totals
}

function count(totals: Collected, result: 'succeeded' | 'failed' | undefined): void {
  if (result === 'succeeded') totals.collected += 1
  if (result === 'failed') totals.declined += 1
}

/** Works through the customers with something due, some of them side by side. */
async function forCustomers(
  { db }: DayDeps,
  { account, moment }: RequestContext,
  goOn: GoOn,
  work: (customerId: CustomerId) => Promise<void>,
): Promise<void> {
  for (let after: CustomerId = 0n; ;) {
    const ids = await listCustomersToCollect(db.reader(account.id), account.id, moment.today, after, A_LOOK)
    const last = ids.at(-1)
    if (last === undefined) return
    after = last
    await sideBySide(ids, AT_ONCE, async (id) => {
      goOn()
      await work(id)
    })
  }
}

/** Begins the tries of a customer that are due. */
async function beginTries(tx: Transaction, context: RequestContext, customerId: CustomerId): Promise<Try[]> {
  const { today } = context.moment
  await lockCustomer(tx, tx.account, customerId)
  const rules = await getCollectionRules(tx, tx.account)
  const begun: Try[] = []
  for (const invoice of await listDueOfCustomer(tx, customerId, today)) {
    const way = await wayOf(tx, invoice)
    const facts = dayFactsOf(invoice, { today, rules, way })
    const found = way && tryOf(invoice.dunning, facts)
    const t =
      way && found ? await beginTry(tx, context, invoice, way, { step: found.step, isByHand: false }) : undefined
    if (t) begun.push(t)
    else if (!found)
      await saveDunning(tx, { ...invoice, dunning: afterUntriedDay(invoice.dunning, facts) }, facts, false)
  }
  return begun
}

/** Runs the actions that are due for a customer, and lets the invoices that a day brought nothing wait for an event. */
async function actFor(tx: Transaction, context: RequestContext, customerId: CustomerId): Promise<void> {
  const { today } = context.moment
  await lockCustomer(tx, tx.account, customerId)
  const found = await actionsOfCustomer(tx, customerId, today)
  const isPaid = found.some(({ actions }) => actions.length > 0) && (await payPastDue(tx, context, customerId))
  const due: RunAction[] = []
  for (const { invoice, facts, actions } of isPaid ? await actionsOfCustomer(tx, customerId, today) : found) {
    for (const action of actions) due.push({ action, invoice })
    await saveDunning(tx, invoice, facts, true)
  }
  if (due.length > 0) await runActions(tx, context, customerId, due)
}

/** Lists the invoices of a customer that something may come to, each with the actions of the day and its dunning once they have run. */
async function actionsOfCustomer(tx: Transaction, customerId: CustomerId, today: IsoDate) {
  const rules = await getCollectionRules(tx, tx.account)
  const found: { invoice: DunnedInvoice; facts: DayFacts; actions: Action[] }[] = []
  for (const invoice of await listDueOfCustomer(tx, customerId, today)) {
    const facts = dayFactsOf(invoice, { today, rules, way: await wayOf(tx, invoice) })
    let { dunning } = invoice
    const actions: Action[] = []
    for (let next = actionsOf(dunning, facts); next; next = actionsOf(dunning, facts)) {
      actions.push(...next.actions)
      dunning = next.dunning
    }
    found.push({ invoice: { ...invoice, dunning }, facts, actions })
  }
  return found
}

interface Counts {
  totals: Collected
  /** Payments of the tries of this pass whose outcome is not known. */
  unknown: Set<Id>
}

interface Resuming extends Counts {
  isAll: boolean
  goOn: GoOn
}

/** Asks for the outcome of open tries. */
async function resumeOpen(
  deps: DayDeps,
  context: RequestContext,
  { isAll, totals, unknown, goOn }: Resuming,
): Promise<void> {
  const open = await listOpenTries(deps.db.reader(context.account.id), context.account.id, isAll, A_LOOK)
  await sideBySide(open, AT_ONCE, async ({ paymentId }) => {
    goOn()
    const result = await resumeTry(deps, context, paymentId, isAll)
    if (result === 'open') return
    unknown.delete(paymentId)
    count(totals, result)
  })
}

/** Asks one simulated minute later, again and again, until every try of the day has its outcome or has had its time. */
async function resolveOfClock(deps: DayDeps, context: RequestContext, counts: Counts): Promise<void> {
  const { moment } = context
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    const open = await listOpenTries(deps.db.reader(context.account.id), context.account.id, true, 1)
    if (open.length === 0) return
    const now = new Date(Date.parse(moment.now) + round * MINUTE_MS).toISOString()
    const goOn = () => {}
    await resumeOpen(deps, { ...context, moment: { ...moment, now } }, { ...counts, isAll: true, goOn })
  }
}

/** Brings back the customers whom a rule has suspended and who owe nothing overdue any more, once their unallocated money has paid what it can. */
export async function bringBack(deps: DayDeps, context: RequestContext): Promise<void> {
  const { account, moment } = context
  const reader = deps.db.reader(account.id)
  const rich = account.isAutoApply ? await listSuspendedWithMoney(reader, account.id, moment.today) : []
  for (const id of new Set([...rich, ...(await listToComeBack(reader, account.id, moment.today))]))
    await deps.db.transaction(account.id, async (tx) => {
      const customer = await lockCustomer(tx, tx.account, id)
      if (!customer?.isSuspendedByRule) return
      await payPastDue(tx, context, id)
      if (await owesOverdue(tx, id, moment.today)) return
      await changePause(tx, context, customer, 'unsuspend', deps.onReturn)
    })
}
