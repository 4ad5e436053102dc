import {
  type PlannedPeriod,
  planNextRecurring,
  planRecurringThroughGaps,
  type RecurringCursor,
} from '../../engine/recurring.ts'
import { assert } from '../../kernel/assert.ts'
import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { collectionMethodOf } from '../collection-terms/rules.ts'
import { insertEvents } from '../events/queries.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import { dueThrough, gapsAfter, markBilled } from '../billing-run/failing.ts'
import { type FailingState, type Gap, listFailingOf } from '../billing-run/failing-queries.ts'
import { issue, type IssueContext, type NewInvoice, UNDRAWN } from '../invoices/issue.ts'
import {
  amountsOf,
  checkAmounts,
  type LineAmounts,
  ownRateOf,
  rateMatcher,
  type RatesOf,
  type TaxRate,
} from '../invoices/lines.ts'
import { type RecurringState, updateRecurringStates } from './due-queries.ts'
import { recurringCursorOf, nextRecurringActionOn, recurringTermsOf } from './facts.ts'
import type { Loaded } from './load.ts'
import { AFTER_ISSUE } from '../money/apply-unallocated.ts'
import { RecurringExpiredOut } from './wire.ts'

/** Billing what is due on recurring invoices: pure planning of one, and writing the plans of many in a few statements. */

export interface RecurringPlan {
  id: Id
  recurring: Loaded
  invoices: NewInvoice[]
  state: RecurringState
  ended: 'expired' | null
  /** Number of periods begun, without the first. */
  renewals: number
  /** Its failing, with the gaps that the plan does not get past; set only if the recurring invoice is failing. */
  failing?: FailingState
}

export interface RecurringContext {
  today: IsoDate
  /** Days of payment terms of customers that have none of their own. */
  paymentTermDays: number
  taxesOf: RatesOf
  /** The recurring invoices that are failing. */
  failing: ReadonlyMap<Id, FailingState>
}

/** Reads everything that planning needs beside the recurring invoices themselves. */
export async function recurringContext(
  db: Queryable,
  { account, moment }: Pick<IssueContext, 'account' | 'moment'>,
  ids: readonly Id[] = [],
): Promise<RecurringContext> {
  const [failing, rules] = await Promise.all([
    listFailingOf(db, account.id, 'recurring_invoice', ids),
    listTaxRules(db, account.id),
  ])
  return {
    failing,
    today: moment.today,
    paymentTermDays: account.paymentTermDays,
    taxesOf: rateMatcher(rules),
  }
}

/** Returns the taxes of a recurring invoice: its own, else those of the tax rules of today. */
export function ratesOf(
  { recurring: r, taxes }: Loaded,
  { taxesOf }: Pick<RecurringContext, 'taxesOf'>,
): readonly TaxRate[] {
  if (r.hasOwnTaxes) return taxes.map(ownRateOf)
  return taxesOf(r)
}

export const recurringAmounts = (loaded: Loaded, context: Pick<RecurringContext, 'taxesOf'>): LineAmounts =>
  amountsOf(loaded.charges, ratesOf(loaded, context), digitsOf(loaded.recurring.currency))

/** Returns the amounts that every invoice has. Throws 400 if one is out of bounds. */
function checkedAmounts(loaded: Loaded, context: RecurringContext): LineAmounts {
  const amounts = recurringAmounts(loaded, context)
  const problems = new Problems()
  checkAmounts(amounts, loaded.recurring.currency, 'RecurInvoiceCharges', problems)
  problems.throwIfAny()
  return amounts
}

function composePeriod(
  { recurring: r, charges }: Loaded,
  planned: PlannedPeriod,
  amounts: LineAmounts,
  context: RecurringContext,
): NewInvoice {
  return {
    id: UNDRAWN,
    customerId: r.customerId,
    customerVersion: r.customerVersion,
    customerCountryId: r.countryId,
    customerStateId: r.countryStateId,
    customerVatNumber: r.vatNumber,
    subscriptionId: null,
    recurringInvoiceId: r.id,
    reference: null,
    poNumber: null,
    currency: r.currency,
    invoiceDate: planned.invoiceDate,
    dueDate: addDays(planned.dueFrom, r.paymentTermDays ?? context.paymentTermDays),
    source: 'Auto',
    collectionMethod: r.collectionMethod ?? collectionMethodOf(r.paymentMethod),
    gatewayId: r.gatewayId,
    paymentMethodId: r.paymentMethodId,
    isMethodRequested: r.gatewayId !== null || r.paymentMethodId !== null,
    isCollectionHold: false,
    nextTryDate: null,
    notes: r.notes,
    terms: r.terms,
    period: planned.period,
    lines: charges,
    amounts,
    totalMinor: amounts.totalMinor,
  }
}

/** Composes the next invoice. Returns undefined if none will follow, or if the customer is not billed. */
export function composeNext(loaded: Loaded, context: RecurringContext): NewInvoice | undefined {
  const { recurring: r } = loaded
  if (r.pausedOn !== null || r.cancelledOn !== null || r.isEndRecorded) return undefined
  const planned = planNextRecurring(recurringTermsOf(r), recurringCursorOf(r), context.today)
  return planned && composePeriod(loaded, planned, checkedAmounts(loaded, context), context)
}

/**
 * Plans everything that falls due up to `dueBy`, which is not after today. Invoices that are late are dated today. Throws 400 if an amount
 * is out of bounds.
 */
export function planRecurring(
  loaded: Loaded,
  context: RecurringContext,
  dueBy: IsoDate = context.today,
): RecurringPlan {
  return planOf(loaded, context, dueBy, gapsOf(loaded, context))
}

const gapsOf = ({ recurring: { id } }: Loaded, { failing }: RecurringContext) => failing.get(id)?.gaps ?? []

/** Plans the return of a customer that was not billed since `gapFrom`. Rule: periods that began since then are not billed. */
export function planRecurringReturn(loaded: Loaded, gapFrom: IsoDate, context: RecurringContext): RecurringPlan {
  const { today } = context
  return planOf(loaded, context, today, [...gapsOf(loaded, context), { from: gapFrom, until: today }])
}

/** Plans what is due up to a day as billed at 0.00, also where it cannot be billed. Returns the periods beside the plan. */
export function planRecurringSkip(
  loaded: Loaded,
  until: IsoDate,
  context: RecurringContext,
): { plan: RecurringPlan; periods: readonly PlannedPeriod[] } {
  const { recurring: r } = loaded
  const gaps = gapsOf(loaded, context)
  const { periods, cursor } = planRecurringThroughGaps(
    recurringTermsOf(r),
    recurringCursorOf(r),
    gaps,
    until,
    context.today,
  )
  return { plan: planBehind(loaded, cursor, context, until), periods }
}

function planOf(loaded: Loaded, context: RecurringContext, dueBy: IsoDate, gaps: readonly Gap[]): RecurringPlan {
  const { recurring: r } = loaded
  const { periods, cursor } = planRecurringThroughGaps(
    recurringTermsOf(r),
    recurringCursorOf(r),
    gaps,
    dueBy,
    context.today,
  )
  const plan = planBehind(loaded, cursor, context, dueBy)
  const amounts = periods.length === 0 ? undefined : checkedAmounts(loaded, context)
  plan.invoices = periods.map((period) => composePeriod(loaded, period, amounts as LineAmounts, context))
  plan.state.lastInvoiceDate = later(plan.invoices.at(-1)?.invoiceDate ?? '', r.lastInvoiceDate ?? '') || null
  plan.renewals = periods.filter(({ period }) => period.from !== r.startDate).length
  return plan
}

/** Makes the plan that leaves a recurring invoice at a cursor behind everything due on or before a day, without invoices. */
function planBehind(loaded: Loaded, cursor: RecurringCursor, context: RecurringContext, dueBy: IsoDate): RecurringPlan {
  const { recurring: r } = loaded
  const terms = recurringTermsOf(r)
  const hasEnded = !r.isEndRecorded && terms.endDate !== null && terms.endDate <= dueBy
  const isEndRecorded = r.isEndRecorded || hasEnded
  const known = context.failing.get(r.id)
  const failing = known && { ...known, gaps: gapsAfter(known.gaps, dueBy) }
  const dueOn = dueThrough(failing?.gaps ?? [], nextRecurringActionOn(terms, cursor, isEndRecorded))
  assert(dueOn === null || dueOn > dueBy, `nothing is left due on recurring invoice ${r.id} by ${dueBy}`)
  return {
    id: r.id,
    recurring: loaded,
    invoices: [],
    state: {
      id: r.id,
      wasNextFrom: r.nextFrom,
      wasDueOn: r.dueOn,
      ...cursor,
      lastInvoiceDate: r.lastInvoiceDate,
      dueOn,
      isEndRecorded,
    },
    ended: hasEnded ? 'expired' : null,
    renewals: 0,
    ...(failing && { failing }),
  }
}

/** Writes plans: invoices, states and ends. The caller has locked their customers. */
export async function applyRecurringPlans(
  tx: Transaction,
  context: IssueContext,
  plans: readonly RecurringPlan[],
): Promise<void> {
  if (plans.length === 0) return
  const moved = await updateRecurringStates(
    tx,
    plans.map(({ state }) => state),
  )
  assert(moved === plans.length, 'recurring invoices of locked customers are as they were read')
  const common = { happenedAt: context.moment.now, actor: context.actor, reason: null }
  const ends = plans
    .filter(({ ended }) => ended !== null)
    .map(({ recurring: { recurring: r } }) => ({
      ...common,
      type: 'recurring_invoice.expired' as const,
      recordId: r.id,
      customerId: r.customerId,
      record: RecurringExpiredOut.write({ recurInvoiceID: r.id, EndDate: r.endDate, isExpired: true }),
    }))
  if (ends.length > 0) await insertEvents(tx, ends)
  const billed = plans.flatMap(({ failing, state: { dueOn } }) => (failing ? [{ failing, dueOn }] : []))
  if (billed.length > 0) await markBilled(tx, context, billed)
  const invoices = plans.flatMap((plan) => plan.invoices)
  await issue(tx, context, invoices, { afterIssue: AFTER_ISSUE })
}

/** Returns whether something of a recurring invoice is to be invoiced today. */
export const isRecurringDue = ({ recurring: { pausedOn, dueOn } }: Loaded, { moment }: IssueContext): boolean =>
  pausedOn === null && dueOn !== null && dueOn <= moment.today

/** Invoices what is due today on one recurring invoice, as the billing run would. */
export async function billRecurring(tx: Transaction, context: IssueContext, loaded: Loaded): Promise<void> {
  if (!isRecurringDue(loaded, context)) return
  const plans = await recurringContext(tx, context, [loaded.recurring.id])
  await applyRecurringPlans(tx, context, [planRecurring(loaded, plans)])
}
