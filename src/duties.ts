import type { OrderOfDay } from './features/billing-run/due-kind.ts'
import { recurringInvoicesDue } from './features/recurring-invoices/due.ts'
import { statementsDue } from './features/statements/due.ts'
import { pausedEndsDue, subscriptionsDue } from './features/subscriptions/due.ts'

/** The wiring of background work: what falls due on a day, in its order. */

/** Every kind of due records, in the order of a day: endings and invoices, then statements. */
export const ORDER_OF_DAY: OrderOfDay = [[pausedEndsDue, subscriptionsDue, recurringInvoicesDue], [statementsDue]]
