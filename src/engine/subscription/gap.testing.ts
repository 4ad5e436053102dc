import type { IsoDate } from '../../kernel/calendar.ts'
import { beginsBefore, type Cursor, type PlannedInvoice, planStep, type SubscriptionTerms } from './renewal.ts'

/**
 * Plans fees and periods that fell due before the service stopped billing a customer and had not been invoiced: they stay due. The short way of a package alone, held against the way that knows components and pending changes (`planReturn`).
 */
export function planBeforeGap(
  terms: SubscriptionTerms,
  cursor: Cursor,
  gapFrom: IsoDate,
  today: IsoDate,
): { invoices: PlannedInvoice[]; cursor: Cursor } {
  const invoices: PlannedInvoice[] = []
  let reached = cursor
  while (beginsBefore(terms, reached, gapFrom)) {
    const step = planStep(terms, reached, today)
    if (step === undefined) break
    invoices.push(step.invoice)
    reached = step.cursor
  }
  return { invoices, cursor: reached }
}
