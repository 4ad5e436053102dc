import type { IsoDate } from '../../kernel/calendar.ts'
import { type Cursor, type PlannedInvoice, planStep, type SubscriptionTerms } from './renewal.ts'

/**
 * Plans everything due of a package alone on or before today, oldest first: the short way, with which tests compare plans of subscriptions
 * that have no components.
 */
export function planDue(
  terms: SubscriptionTerms,
  cursor: Cursor,
  today: IsoDate,
): { invoices: PlannedInvoice[]; cursor: Cursor } {
  const invoices: PlannedInvoice[] = []
  let reached = cursor
  for (;;) {
    const step = planStep(terms, reached, today)
    if (step === undefined) return { invoices, cursor: reached }
    invoices.push(step.invoice)
    reached = step.cursor
  }
}
