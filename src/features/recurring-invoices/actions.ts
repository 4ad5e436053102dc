import { resumeRecurring } from '../../engine/recurring.ts'
import { decimalText } from '../../kernel/decimal.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import { refuseOn } from '../../platform/database/failures.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { OnReturn } from '../customers/actions.ts'
import type { Customer } from '../customers/queries.ts'
import { applyRecurringPlans, billRecurring, planRecurringReturn, recurringContext } from './bill.ts'
import { type Chosen, composeRecurring } from './resolve.ts'
import { cursorOf, nextActionOn, statusOf, termsOf } from './facts.ts'
import { type Loaded, loadRecurring } from './load.ts'
import {
  deleteRecurringLines,
  insertRecurring,
  insertRecurringCharges,
  insertRecurringTaxes,
  listOpenRecurring,
  type RecurringInvoice,
  updateRecurring,
  updateRecurringCancelled,
  updateRecurringReactivated,
} from './queries.ts'
import { recordRecurring, reread } from './record.ts'
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

async function writeLines(tx: Transaction, id: Id, { lines, ownTaxes }: Chosen): Promise<void> {
  const charges = lines.map((line, index) => ({
    ...line,
    displayOrder: index + 1,
    quantity: decimalText(line.quantity),
    unitPrice: decimalText(line.unitPrice),
  }))
  await insertRecurringCharges(tx, id, charges)
  const taxes = (ownTaxes ?? []).map(({ name, rate }) => ({ name, rate: decimalText(rate) }))
  if (taxes.length > 0) await insertRecurringTaxes(tx, id, taxes)
}

/** Adds a recurring invoice and makes every invoice of it that is due today. */
export async function addRecurring(
  tx: Transaction,
  context: RequestContext,
  chosen: Chosen,
  body: RecurringBody,
): Promise<ShownRecurring> {
  checkBilled(chosen.customer)
  const fields = composeRecurring(chosen, body, context)
  const id = await refuseOn(insertRecurring(tx, chosen.customer.id, fields, context.moment.now), {
    recurring_invoices_reference_key: referenceTaken(fields.reference),
  })
  await writeLines(tx, id, chosen)
  const added = await recordRecurring(tx, context, 'recurring_invoice.created', id)
  await billRecurring(tx, context, added)
  return reread(tx, context, id)
}

/** Invoices what is due today as it was before the change, and returns the recurring invoice. Throws 409 if it has ended. */
async function billedAndRunning(tx: Transaction, context: RequestContext, given: Loaded): Promise<ShownRecurring> {
  await billRecurring(tx, context, given)
  const loaded = await reread(tx, context, given.recurring.id)
  const status = statusOf(loaded.recurring, context.moment.today)
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
  chosen: Chosen,
  body: RecurringBody,
): Promise<ShownRecurring> {
  const { recurring: present } = await billedAndRunning(tx, context, given)
  const fields = composeRecurring(chosen, body, context, present)
  const { id } = present
  if (fields.startDate !== present.startDate && fields.nextFrom <= context.moment.today) checkBilled(chosen.customer)
  await refuseOn(updateRecurring(tx, id, fields, context.moment.now), {
    recurring_invoices_reference_key: referenceTaken(fields.reference),
  })
  await deleteRecurringLines(tx, id)
  await writeLines(tx, id, chosen)
  await billRecurring(tx, context, await reread(tx, context, id))
  return recordRecurring(tx, context, 'recurring_invoice.updated', id)
}

/** Cancels a recurring invoice today. Invoices that were made stay. */
export async function cancelRecurring(tx: Transaction, context: RequestContext, given: Loaded): Promise<void> {
  const { recurring } = await billedAndRunning(tx, context, given)
  await updateRecurringCancelled(tx, recurring.id, context.moment.today, context.moment.now)
  await recordRecurring(tx, context, 'recurring_invoice.cancelled', recurring.id)
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
  await billRecurring(tx, context, given)
  const { recurring: r } = await reread(tx, context, given.recurring.id)
  const { today, now } = context.moment
  const status = statusOf(r, today)
  if (status !== 'Cancelled' && status !== 'Expired')
    throw conflict(
      'recurring_invoice_running',
      `Recurring invoice ${r.id} is ${status.toLowerCase()}; only an ended one can be started again.`,
    )
  checkBilled({ ...r, id: r.customerId })
  const endDate = endAfterReturn(r, today)
  const terms = { ...termsOf(r), endDate }
  const cursor = resumeRecurring(terms, cursorOf(r), today)
  const to = { endDate, nextFrom: cursor.nextFrom, dueOn: nextActionOn(terms, cursor, false) }
  await updateRecurringReactivated(tx, r.id, to, now)
  await billRecurring(tx, context, await reread(tx, context, r.id))
  return recordRecurring(tx, context, 'recurring_invoice.reactivated', r.id)
}

/** Returns the end date of a recurring invoice that is started again: one that has passed is dropped, one to come stays. */
const endAfterReturn = ({ endDate }: RecurringInvoice, today: string): string | null =>
  endDate !== null && endDate > today ? endDate : null

/** Resumes the recurring invoices of a customer that is billed again from today. */
export const resumeRecurringInvoices: OnReturn = async (tx, context, customer, gapFrom) => {
  const open = await loadRecurring(tx, tx.account, await listOpenRecurring(tx, tx.account, customer.id))
  if (open.length === 0) return
  const plans = await recurringContext(tx, context)
  await applyRecurringPlans(
    tx,
    context,
    open.map((loaded) => planRecurringReturn(loaded, gapFrom, plans)),
  )
}
