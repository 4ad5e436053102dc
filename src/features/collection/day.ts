import { actionsOf, afterUntriedDay, tryOf } from '../../engine/collection/dunning.ts'
import type { Action, CollectionRules } from '../../engine/collection/rules.ts'
import { addDays, type IsoDate } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { GoOn } from '../../platform/duty.ts'
import { sideBySide } from '../../platform/side-by-side.ts'
import { isDebit, type Way, wayOf, waysOf } from '../collection-terms/way.ts'
import { changePause, type OnReturn } from '../customers/actions.ts'
import { lockCustomer, lockToBringBack } from '../customers/queries.ts'
import {
  type DunnedInvoice,
  listCustomersToCollect,
  listDueOfCustomer,
  listDunned,
  updateDunning,
} from '../dunning/queries.ts'
import { getCollectionRules } from '../dunning/rules-queries.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { isStopped } from '../gateways/rules.ts'
import { mandateProblemOn } from '../payment-methods/mandates.ts'
import { type RunAction, runActions } from './actions.ts'
import { handOverBatches, prepareBatches } from './batch-day.ts'
import { type CallDeps, callTry, ONE_BY_ONE, resumeTry, writeAnswer } from './calls.ts'
import { dayFactsOf, type KnownDay, saveDunning } from '../dunning/save.ts'
import { knownDebitDays } from './debit-days.ts'
import { beginLine, type MadeLine } from './lines.ts'
import { announceLines } from './notice.ts'
import { beginTry } from './tries.ts'
import { listOpenTries, listToComeBack, owesOverdue, type Try } from './try-queries.ts'
import { payPastDue } from './unallocated.ts'
import { listSuspendedWithMoney } from './unallocated-queries.ts'

/**
 * The collection of a day, for one account: what is open is asked for, what is due is tried, then the actions of steps run and customers come
 * back. It can be killed anywhere: an intent is committed before its call, and what is done has moved its day in the same transaction.
 */

type DaysOf = ReturnType<typeof knownDebitDays>

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
  await prepareBatches(deps, context)
  const daysOf = knownDebitDays(deps, context)
  await forCustomers(deps, context, goOn, async (customerId) => {
    const tries = await deps.db.transaction(
      context.account.id,
      (tx) => beginTries(tx, context, deps, customerId, daysOf),
      ONE_BY_ONE,
    )
    await Promise.all(
      tries.map(async ({ t, way }) => {
        const result = await writeAnswer(deps, context, t, await callTry(deps, context, t, way))
        if (result === 'open') unknown.add(t.paymentId)
        else count(totals, result)
      }),
    )
  })
  await handOverBatches(deps, context)
  if (isClock) await resolveOfClock(deps, context, { totals, unknown })
  totals.unknown = unknown.size
  let isFilled = false
  await forCustomers(deps, context, goOn, async (customerId) => {
    const made = await deps.db.transaction(
      context.account.id,
      (tx) => actFor(tx, context, deps, customerId, daysOf),
      ONE_BY_ONE,
    )
    isFilled ||= made
  })
  if (isFilled) await handOverBatches(deps, context)
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

/** A try that was begun, to be called. */
interface Begun {
  t: Try
  way: Way
}

/** Reads what a day may bring to a customer, in one exchange: behind their lock, where that was just sent. */
async function dueOf(tx: Transaction, customerId: CustomerId, today: IsoDate) {
  const [rules, invoices, wayOfInvoice] = await Promise.all([
    getCollectionRules(tx, tx.account),
    listDueOfCustomer(tx, customerId, today),
    waysOf(tx, customerId),
  ])
  return { rules, invoices, wayOfInvoice }
}

/**
 * Finds the try that the day brings to an invoice, and the facts of the day. Rule: a method whose mandate does not reach to the day of the debit is
 * none that is usable.
 */
async function dueToday(
  tx: Transaction,
  invoice: DunnedInvoice,
  way: Way | undefined,
  { today, rules, daysOf }: { today: IsoDate; rules: CollectionRules; daysOf: DaysOf },
) {
  const facts = dayFactsOf(invoice, { today, rules, way, batches: way ? daysOf(way) : null })
  const found = way ? tryOf(invoice.dunning, facts) : null
  // Nothing begins, and nothing of it is given up: the step is wanted until the gateway is released, or accepts its key.
  if (way && found && isStopped(way.gateway)) return { way, facts, found: null, isKept: true }
  const isLapsed =
    way && found && isDebit(way) && (await mandateProblemOn(tx, tx.account, way.gateway, way.method, found.on)) !== null
  if (!isLapsed) return { way, facts, found, isKept: false }
  const without = dayFactsOf(invoice, { today, rules, way: undefined, batches: null })
  return { way: undefined, facts: without, found: null, isKept: false }
}

/** Begins the tries of a customer that are due: those by card are to be called, those by bank account are lines of batches by then. */
async function beginTries(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  customerId: CustomerId,
  daysOf: DaysOf,
): Promise<Begun[]> {
  const { today } = context.moment
  const [, { rules, invoices, wayOfInvoice }] = await Promise.all([
    lockCustomer(tx, tx.account, customerId),
    dueOf(tx, customerId, today),
  ])
  const begun: Begun[] = []
  const lines: MadeLine[] = []
  for (const invoice of invoices) {
    const day = await dueToday(tx, invoice, await wayOfInvoice(invoice), { today, rules, daysOf })
    const { way, facts, found } = day
    if (day.isKept) continue
    if (way && found && isDebit(way)) {
      const line = await beginLine(tx, context, invoice, way, { ...found, isByHand: false })
      if (line) lines.push(line)
    } else if (way && found) {
      const t = await beginTry(tx, context, invoice, way, { step: found.step, isByHand: false })
      if (t) begun.push({ t, way })
    } else await saveDunning(tx, { ...invoice, dunning: afterUntriedDay(invoice.dunning, facts) }, facts, false)
  }
  await announceLines(tx, context, deps, customerId, lines)
  return begun
}

/**
 * Runs the actions that are due for a customer, and lets the invoices that a day brought nothing wait for an event. Returns true where a line was
 * made: that of a step whose last action had to run first.
 */
async function actFor(
  tx: Transaction,
  context: RequestContext,
  deps: GatewayDeps,
  customerId: CustomerId,
  daysOf: DaysOf,
): Promise<boolean> {
  const { today } = context.moment
  const [, found] = await Promise.all([
    lockCustomer(tx, tx.account, customerId),
    actionsOfCustomer(tx, customerId, today, daysOf),
  ])
  const isPaid = found.some(({ actions }) => actions.length > 0) && (await payPastDue(tx, context, customerId))
  const due: RunAction[] = []
  const acted: InvoiceId[] = []
  const present = isPaid ? await actionsOfCustomer(tx, customerId, today, daysOf) : found
  for (const { invoice, facts, actions, isKept } of present) {
    for (const action of actions) due.push({ action, invoice })
    if (actions.length > 0 && facts.batches !== null) acted.push(invoice.id)
    // Real time looks with each pass, a clock at the days on which something may come.
    if (isKept && context.account.clockAt !== null) updateDunning(tx, invoice.id, invoice.dunning, addDays(today, 1))
    else await saveDunning(tx, invoice, facts, !isKept)
  }
  if (due.length > 0) await runActions(tx, context, customerId, due)
  const lines = acted.length === 0 ? [] : await beginAfterActions(tx, context, acted, daysOf)
  await announceLines(tx, context, deps, customerId, lines)
  return lines.length > 0
}

/** Makes the lines that waited for the actions of the step before, which have run now. */
async function beginAfterActions(
  tx: Transaction,
  context: RequestContext,
  ids: readonly InvoiceId[],
  daysOf: DaysOf,
): Promise<MadeLine[]> {
  const { today } = context.moment
  const rules = await getCollectionRules(tx, tx.account)
  const lines: MadeLine[] = []
  for (const invoice of await listDunned(tx, tx.account, ids)) {
    const { way, found } = await dueToday(tx, invoice, await wayOf(tx, invoice), { today, rules, daysOf })
    const line = way && found ? await beginLine(tx, context, invoice, way, { ...found, isByHand: false }) : undefined
    if (line) lines.push(line)
  }
  return lines
}

/** Lists the invoices of a customer that something may come to, each with the actions of the day and its dunning once they have run. */
async function actionsOfCustomer(tx: Transaction, customerId: CustomerId, today: IsoDate, daysOf: DaysOf) {
  const { rules, invoices, wayOfInvoice } = await dueOf(tx, customerId, today)
  const found: { invoice: DunnedInvoice; facts: KnownDay; actions: Action[]; isKept: boolean }[] = []
  for (const invoice of invoices) {
    const { facts, isKept } = await dueToday(tx, invoice, await wayOfInvoice(invoice), { today, rules, daysOf })
    let { dunning } = invoice
    const actions: Action[] = []
    for (let next = actionsOf(dunning, facts); next; next = actionsOf(dunning, facts)) {
      actions.push(...next.actions)
      dunning = next.dunning
    }
    found.push({ invoice: { ...invoice, dunning }, facts, actions, isKept })
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
    const result = await resumeTry(deps, context, paymentId, isAll ? 'all' : 'free')
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
      const customer = await lockToBringBack(tx, id)
      if (!customer?.isSuspendedByRule) return
      await payPastDue(tx, context, id)
      if (await owesOverdue(tx, id, moment.today)) return
      await changePause(tx, context, customer, 'unsuspend', deps.onReturn)
    })
}
