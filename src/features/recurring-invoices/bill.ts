import type { Place } from '../../engine/tax.ts'
import {
  type PlannedPeriod,
  planNextRecurring,
  planRecurringBeforeGap,
  planRecurringDue,
  type RecurringCursor,
  resumeRecurring,
} from '../../engine/recurring.ts'
import { assert } from '../../kernel/assert.ts'
import { addDays, type IsoDate, later } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { Problems } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { insertEvents } from '../events/queries.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import { collectionMethodOf } from '../invoices/collection.ts'
import { issue, type IssueContext, type NewInvoice, UNDRAWN } from '../invoices/issue.ts'
import { amountsOf, checkAmounts, type LineAmounts, rateMatcher, type TaxRate } from '../invoices/lines.ts'
import { type RecurringState, updateRecurringStates } from './due-queries.ts'
import { recurringCursorOf, nextRecurringActionOn, recurringTermsOf } from './facts.ts'
import type { Loaded } from './load.ts'
import { AFTER_ISSUE } from '../money/after-issue.ts'
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
}

export interface RecurringContext {
  today: IsoDate
  /** Days of payment terms of customers that have none of their own. */
  paymentTermDays: number
  taxesAt: (place: Place) => readonly TaxRate[]
}

/** Reads everything that planning needs beside the recurring invoices themselves. */
export async function recurringContext(
  db: Queryable,
  { account, moment }: Pick<IssueContext, 'account' | 'moment'>,
): Promise<RecurringContext> {
  return {
    today: moment.today,
    paymentTermDays: account.paymentTermDays,
    taxesAt: rateMatcher(await listTaxRules(db, account.id)),
  }
}

/** Returns the taxes of a recurring invoice: its own, else those of the tax rules of today. */
export function ratesOf(
  { recurring: r, taxes }: Loaded,
  { taxesAt }: Pick<RecurringContext, 'taxesAt'>,
): readonly TaxRate[] {
  if (r.hasOwnTaxes) return taxes.map(({ name, rate }) => ({ name, rate, taxNumber: null }))
  if (r.isWaiveTaxes) return []
  const place = {
    countryId: r.countryId === null ? null : Number(r.countryId),
    countryStateId: r.countryStateId === null ? null : Number(r.countryStateId),
  }
  return taxesAt(place)
}

export const recurringAmounts = (loaded: Loaded, context: Pick<RecurringContext, 'taxesAt'>): LineAmounts =>
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
  const { recurring: r } = loaded
  const { periods, cursor } = planRecurringDue(recurringTermsOf(r), recurringCursorOf(r), dueBy, context.today)
  return planOf(loaded, periods, cursor, context, dueBy)
}

/** Plans the return of a customer that was not billed since `gapFrom`. Rule: periods that began since then are not billed. */
export function planRecurringReturn(loaded: Loaded, gapFrom: IsoDate, context: RecurringContext): RecurringPlan {
  const { recurring: r } = loaded
  const { today } = context
  const terms = recurringTermsOf(r)
  const before = planRecurringBeforeGap(terms, recurringCursorOf(r), gapFrom, today)
  const due = planRecurringDue(terms, resumeRecurring(terms, before.cursor, today), today)
  return planOf(loaded, [...before.periods, ...due.periods], due.cursor, context, today)
}

function planOf(
  loaded: Loaded,
  periods: readonly PlannedPeriod[],
  cursor: RecurringCursor,
  context: RecurringContext,
  dueBy: IsoDate,
): RecurringPlan {
  const { recurring: r } = loaded
  const terms = recurringTermsOf(r)
  const hasEnded = !r.isEndRecorded && terms.endDate !== null && terms.endDate <= dueBy
  const isEndRecorded = r.isEndRecorded || hasEnded
  const dueOn = nextRecurringActionOn(terms, cursor, isEndRecorded)
  assert(dueOn === null || dueOn > dueBy, `nothing is left due on recurring invoice ${r.id} by ${dueBy}`)
  const amounts = periods.length === 0 ? undefined : checkedAmounts(loaded, context)
  const invoices = periods.map((period) => composePeriod(loaded, period, amounts as LineAmounts, context))
  return {
    id: r.id,
    recurring: loaded,
    invoices,
    state: {
      id: r.id,
      wasNextFrom: r.nextFrom,
      wasDueOn: r.dueOn,
      ...cursor,
      lastInvoiceDate: later(invoices.at(-1)?.invoiceDate ?? '', r.lastInvoiceDate ?? '') || null,
      dueOn,
      isEndRecorded,
    },
    ended: hasEnded ? 'expired' : null,
    renewals: periods.filter(({ period }) => period.from !== r.startDate).length,
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
  const invoices = plans.flatMap((plan) => plan.invoices)
  await issue(tx, context, invoices, { afterIssue: AFTER_ISSUE })
}

/** Invoices what is due today on one recurring invoice, as the billing run would. */
export async function billRecurring(tx: Transaction, context: IssueContext, loaded: Loaded): Promise<void> {
  const { recurring: r } = loaded
  if (r.pausedOn !== null || r.dueOn === null || r.dueOn > context.moment.today) return
  await applyRecurringPlans(tx, context, [planRecurring(loaded, await recurringContext(tx, context))])
}
