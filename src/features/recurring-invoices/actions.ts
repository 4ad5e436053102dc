import { resumeRecurring } from '../../engine/recurring.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { billEachReturning } from '../billing-run/failing.ts'
import type { OnReturn } from '../customers/actions.ts'
import type { Customer } from '../customers/queries.ts'
import { applyRecurringPlans, billRecurring, planRecurringReturn, recurringContext } from './bill.ts'
import { type ResolvedRecurring, composeRecurring } from './resolve.ts'
import { billRecurringBefore, RECURRING_CHARGED_ONCE } from './failing.ts'
import { recurringCursorOf, nextRecurringActionOn, recurringStatusOf, recurringTermsOf } from './facts.ts'
import { type Loaded, loadRecurring } from './load.ts'
import {
  deleteRecurringLines,
  insertRecurring,
  insertRecurringCharges,
  insertRecurringTaxes,
  listOpenRecurring,
  type RecurringInvoice,
  type RecurringTaxRow,
  updateRecurring,
  updateRecurringCancelled,
  updateRecurringReactivated,
} from './queries.ts'
import { recordRecurringEvent, loadRecurringInvoice } from './record.ts'
import type { TaxRate } from '../invoices/lines.ts'
import type { RecurringBody, ShownRecurring } from './wire.ts'

/**
 * Changes of recurring invoices. Each locks the customer first, invoices what is due today as the billing run would, then does its own
 * work.
 */

function checkBilled(customer: Pick<Customer, 'id' | 'pausedOn' | 'archivedAt'>): void {
  if (customer.pausedOn === null) return
  const state = customer.archivedAt === null ? 'suspended' : 'archived'
  throw conflict(
    `customer_${state}`,
    `Customer ${customer.id} is ${state}, so its recurring invoices cannot be added, started again or charged.`,
    'customerID',
  )
}

const referenceTaken = (reference: string | null) => () =>
  conflict('reference_taken', `Another recurring invoice has the Reference ${JSON.stringify(reference)}.`, 'Reference')

async function writeLines(tx: Transaction, id: Id, { lines, ownTaxes }: ResolvedRecurring): Promise<void> {
  const charges = lines.map((line, index) => ({
    ...line,
    displayOrder: index + 1,
    quantity: decimalText(line.quantity),
    unitPrice: decimalText(line.unitPrice),
  }))
  await insertRecurringCharges(tx, id, charges)
  const taxes = (ownTaxes ?? []).map(taxRowOf)
  if (taxes.length > 0) await insertRecurringTaxes(tx, id, taxes)
}

const taxRowOf = ({ name, rate, category, reasonCode, reason }: TaxRate): RecurringTaxRow => ({
  name,
  rate: decimalText(rate),
  category,
  reasonCode,
  reason: reason === null ? null : JSON.stringify(reason),
})

/** Adds a recurring invoice and makes every invoice of it that is due today. */
export async function addRecurring(
  tx: Transaction,
  context: RequestContext,
  resolved: ResolvedRecurring,
  body: RecurringBody,
): Promise<ShownRecurring> {
  checkBilled(resolved.customer)
  const fields = composeRecurring(resolved, body, context)
  const id = await refuseOn(insertRecurring(tx, resolved.customer.id, fields, context.moment.now), {
    recurring_invoices_reference_key: referenceTaken(fields.reference),
  })
  await writeLines(tx, id, resolved)
  const added = await recordRecurringEvent(tx, context, 'recurring_invoice.created', id)
  await billRecurring(tx, context, added)
  return loadRecurringInvoice(tx, context, id)
}

/** Invoices what is due today as it was before the change, and returns the recurring invoice. Throws 409 if it has ended. */
async function billedAndRunning(tx: Transaction, context: RequestContext, given: Loaded): Promise<ShownRecurring> {
  await billRecurringBefore(tx, context, given)
  const loaded = await loadRecurringInvoice(tx, context, given.recurring.id)
  const status = recurringStatusOf(loaded.recurring, context.moment.today)
  if (status === 'Cancelled' || status === 'Expired')
    throw conflict(
      'recurring_invoice_ended',
      `Recurring invoice ${loaded.recurring.id} is ${status.toLowerCase()}; start it again before changing it.`,
    )
  return loaded
}

/** Replaces the fields of a recurring invoice, from its next invoice on. */
export async function editRecurring(
  tx: Transaction,
  context: RequestContext,
  given: Loaded,
  resolved: ResolvedRecurring,
  body: RecurringBody,
): Promise<ShownRecurring> {
  const { recurring: present } = await billedAndRunning(tx, context, given)
  const fields = composeRecurring(resolved, body, context, present)
  const { id } = present
  if (fields.startDate !== present.startDate && fields.nextFrom <= context.moment.today) checkBilled(resolved.customer)
  await refuseOn(updateRecurring(tx, id, fields, context.moment.now), {
    recurring_invoices_reference_key: referenceTaken(fields.reference),
  })
  await deleteRecurringLines(tx, id)
  await writeLines(tx, id, resolved)
  await billRecurring(tx, context, await loadRecurringInvoice(tx, context, id))
  return recordRecurringEvent(tx, context, 'recurring_invoice.updated', id)
}

/** Cancels a recurring invoice today. Invoices that were made stay. */
export async function cancelRecurring(tx: Transaction, context: RequestContext, given: Loaded): Promise<void> {
  const { recurring } = await billedAndRunning(tx, context, given)
  await updateRecurringCancelled(tx, recurring.id, context.moment.today, context.moment.now)
  await recordRecurringEvent(tx, context, 'recurring_invoice.cancelled', recurring.id)
}

/**
 * Starts a recurring invoice that has ended again. Rule: it resumes at its first renewal on or after today; periods in between are not
 * billed.
 */
export async function reactivateRecurring(
  tx: Transaction,
  context: RequestContext,
  given: Loaded,
): Promise<ShownRecurring> {
  await billRecurringBefore(tx, context, given)
  const { recurring: r } = await loadRecurringInvoice(tx, context, given.recurring.id)
  const { today, now } = context.moment
  const status = recurringStatusOf(r, today)
  if (status !== 'Cancelled' && status !== 'Expired')
    throw conflict(
      'recurring_invoice_running',
      `Recurring invoice ${r.id} is ${status.toLowerCase()}; only an ended one can be started again.`,
    )
  checkBilled({ ...r, id: r.customerId })
  const endDate = endAfterReturn(r, today)
  const terms = { ...recurringTermsOf(r), endDate }
  const cursor = resumeRecurring(terms, recurringCursorOf(r), today)
  const to = { endDate, nextFrom: cursor.nextFrom, dueOn: nextRecurringActionOn(terms, cursor, false) }
  await updateRecurringReactivated(tx, r.id, to, now)
  await billRecurring(tx, context, await loadRecurringInvoice(tx, context, r.id))
  return recordRecurringEvent(tx, context, 'recurring_invoice.reactivated', r.id)
}

/** Returns the end date of a recurring invoice that is started again: one that has passed is dropped, one to come stays. */
const endAfterReturn = ({ endDate }: RecurringInvoice, today: string): string | null =>
  endDate !== null && endDate > today ? endDate : null

/** Resumes the recurring invoices of a customer that is billed again from today. One that cannot be billed keeps the gap and holds up nothing. */
export const resumeRecurringInvoices: OnReturn = async (tx, context, customer, gapFrom) => {
  const open = await loadRecurring(tx, tx.account, await listOpenRecurring(tx, tx.account, customer.id))
  if (open.length === 0) return
  const ids = open.map(({ recurring: { id } }) => id)
  const plans = await recurringContext(tx, context, ids)
  await billEachReturning(tx, context, {
    type: 'recurring_invoice',
    onceConstraint: RECURRING_CHARGED_ONCE,
    gap: { from: gapFrom, until: context.moment.today },
    records: open.map((loaded) => ({
      id: loaded.recurring.id,
      customerId: customer.id,
      plan: () => planRecurringReturn(loaded, gapFrom, plans),
    })),
    apply: (ready) => applyRecurringPlans(tx, context, ready),
  })
}
