import { changedCycle, countRecurringDue, type RecurringCursor } from '../../engine/recurring.ts'
import { type Cycle, cycleFrom } from '../../engine/subscription/period.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { conflict, invalid, type Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { PERIODS_MAX } from '../billing-run/due-kind.ts'
import { chooseCollection, type CollectionOf } from '../collection-terms/choose.ts'
import { checkCustomerReference } from '../customers/record.ts'
import type { Customer } from '../customers/queries.ts'
import { hasPrices, hasRates } from '../invoices/manual-wire.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import {
  amountsOf,
  checkAmounts,
  checkTaxes,
  checkTexts,
  foundRates,
  givenRate,
  lineOf,
  ownRateOf,
  type TaxRate,
  type WrittenLine,
} from '../invoices/lines.ts'
import { recurringCursorOf, nextRecurringActionOn, recurringTermsOf } from './facts.ts'
import type { Loaded } from './load.ts'
import type { RecurringFields, RecurringInvoice } from './queries.ts'
import type { RecurringBody } from './wire.ts'

/** Resolves a body to a recurring invoice. Problems (400) are gathered; conflicts (409) are thrown after them. */

export interface ResolvedRecurring {
  customer: Customer
  currency: string
  lines: WrittenLine[]
  /** Null if the tax rules are to find the taxes of each invoice. */
  ownTaxes: TaxRate[] | null
  /** Facts that stand against its collection details. */
}

const MONTHS_MAX = 1200

/** Finds the records that a body names and notes problems of it. `present` is the recurring invoice that it edits. */
export async function resolveRecurring(
  tx: Transaction,
  context: RequestContext,
  body: Partial<RecurringBody>,
  problems: Problems,
  present?: Loaded,
): Promise<ResolvedRecurring | undefined> {
  const r = present?.recurring
  checkDates(context, body, problems, r)
  checkTexts(body.RecurInvoiceCharges, present?.charges, 'RecurInvoiceCharges', problems)
  checkTaxes(body.Taxes, problems)
  const customer = await checkCustomerReference(tx, body.customerID, problems)
  const currency = body.CurrencyCode ?? r?.currency ?? customer?.currency
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  const charges = body.RecurInvoiceCharges
  const hasCollection = await checkCollection(tx, body, { customer, currency }, problems, r)
  if (!customer || !currency || !hasCollection || !charges || !hasPrices(charges) || !hasRates(body.Taxes))
    return undefined
  const lines = charges.map(lineOf)
  const ownTaxes = ownTaxesOf(body, present)
  const rates = ownTaxes ?? foundRates(await listTaxRules(tx, tx.account), customer)
  checkAmounts(amountsOf(lines, rates, digitsOf(currency)), currency, 'RecurInvoiceCharges', problems)
  return { customer, currency, lines, ownTaxes }
}

/** Checks the collection details of a body; those that the recurring invoice has already are not checked again. Returns whether they are whole. */
async function checkCollection(
  tx: Transaction,
  body: Partial<RecurringBody>,
  of: CollectionOf,
  problems: Problems,
  present?: RecurringInvoice,
): Promise<boolean> {
  const isKept =
    (body.CollectionMethod ?? null) === present?.collectionMethod &&
    (body.gatewayID ?? null) === present.gatewayId &&
    (body.customerPaymentMethodID ?? null) === present.paymentMethodId
  return isKept || (await chooseCollection(tx, body, of, problems)) !== undefined
}

/** Returns the taxes of its own. Rule: absent keeps them, null leaves them to the tax rules, an empty list means no taxes. */
function ownTaxesOf(body: Partial<RecurringBody>, present?: Loaded): TaxRate[] | null {
  if (body.Taxes !== undefined) return body.Taxes?.map(givenRate) ?? null
  return present?.recurring.hasOwnTaxes ? present.taxes.map(ownRateOf) : null
}

function checkDates(
  { moment }: RequestContext,
  body: Partial<RecurringBody>,
  problems: Problems,
  present?: RecurringInvoice,
): void {
  const termType = body.TermType ?? present?.termType ?? 'months'
  if (termType === 'months' && body.Term != null && body.Term > MONTHS_MAX)
    problems.add('out_of_range', 'Term', `Term may be at most ${MONTHS_MAX} months; ${body.Term} was sent.`)
  const start = body.StartDate ?? present?.startDate ?? moment.today
  if (body.EndDate != null && body.EndDate <= start)
    problems.add('date_order', 'EndDate', `EndDate ${body.EndDate} must be after StartDate ${start}.`)
}

const OWN_REFERENCE = /^RI[1-9]\d*$/

/**
 * Returns the reference. One in the form that the service gives itself is refused, because it is, or will be, that of another record. A
 * blank one counts as not given and keeps the present one.
 */
function referenceOf(body: RecurringBody, present?: RecurringInvoice): string | null {
  const reference = body.Reference ?? present?.reference ?? null
  if (present && reference === `RI${present.id}`) return null
  if (reference !== null && OWN_REFERENCE.test(reference) && reference !== present?.reference)
    throw conflict(
      'reference_taken',
      `Reference ${reference} is of the form that the service gives to its own recurring invoices; choose another.`,
      'Reference',
    )
  return reference
}

/** Returns the cycle and its cursor after an edit. Rule: a new StartDate is the anchor; another term counts from the next renewal. */
function cycleOf(
  body: RecurringBody,
  startDate: IsoDate,
  present: RecurringInvoice | undefined,
): { cycle: Cycle; cursor: RecurringCursor } {
  const term = body.Term ?? present?.term ?? 1
  const termType = body.TermType ?? present?.termType ?? 'months'
  if (!present || startDate !== present.startDate)
    return { cycle: cycleFrom(startDate, term, termType), cursor: { nextFrom: startDate, lastFrom: null } }
  const { cycle } = recurringTermsOf(present)
  const cursor = recurringCursorOf(present)
  if (term === present.term && termType === present.termType) return { cycle, cursor }
  return { cycle: changedCycle(cycle, present.nextFrom, { term, termType }), cursor }
}

/** Composes a recurring invoice as it would be written. Throws 400 or 409 if it cannot be written. */
export function composeRecurring(
  resolved: ResolvedRecurring,
  body: RecurringBody,
  context: RequestContext,
  present?: RecurringInvoice,
): RecurringFields {
  const { today } = context.moment
  const startDate = body.StartDate ?? present?.startDate ?? today
  const endDate = body.EndDate ?? null
  if (present) checkEdit(present, { startDate, endDate, customerId: body.customerID }, today)
  const { cycle, cursor } = cycleOf(body, startDate, present)
  const leadDays = body.numDaysBeforeToInv ?? context.account.leadDays
  const terms = { cycle, endDate, leadDays }
  if (countRecurringDue(terms, cursor, today, PERIODS_MAX) > PERIODS_MAX)
    throw invalid(
      'too_many_periods',
      `StartDate ${startDate} would bill more than ${PERIODS_MAX} periods at once.`,
      'StartDate',
    )
  return {
    reference: referenceOf(body, present),
    currency: resolved.currency,
    term: cycle.term,
    termType: cycle.termType,
    startDate,
    endDate,
    anchor: cycle.anchor,
    anchorDay: cycle.dayOfMonth,
    leadDays,
    nextFrom: cursor.nextFrom,
    dueOn: nextRecurringActionOn(terms, cursor, false),
    hasOwnTaxes: resolved.ownTaxes !== null,
    collectionMethod: body.CollectionMethod ?? null,
    gatewayId: body.gatewayID ?? null,
    paymentMethodId: body.customerPaymentMethodID ?? null,
    notes: body.InvoiceNotes ?? null,
    terms: body.InvoiceTerms ?? null,
  }
}

function checkEdit(
  present: RecurringInvoice,
  to: { startDate: IsoDate; endDate: IsoDate | null; customerId: bigint },
  today: IsoDate,
): void {
  const { id } = present
  if (to.customerId !== present.customerId)
    throw conflict(
      'customer_fixed',
      `Recurring invoice ${id} is of customer ${present.customerId} and cannot move to another.`,
      'customerID',
    )
  if (to.startDate !== present.startDate && present.lastFrom !== null)
    throw conflict(
      'start_date_fixed',
      `Recurring invoice ${id} has been invoiced since ${present.startDate}, so its StartDate cannot change.`,
      'StartDate',
    )
  if (to.endDate !== null && to.endDate !== present.endDate && to.endDate < today)
    throw conflict('end_date_past', `EndDate ${to.endDate} is before today, ${today}.`, 'EndDate')
}
