import { dueKind } from '../billing-run/due-kind.ts'
import { applyRecurringPlans, planRecurring, recurringContext } from './bill.ts'
import { RECURRING_CHARGED_ONCE } from './failing.ts'
import { dueRecurringInvoices } from './due-queries.ts'
import { loadRecurring } from './load.ts'
import { listDueRecurring, listRecurringForPlanning } from './queries.ts'

/** The due kind of recurring invoices that have something to bill on a day. */
export const recurringInvoicesDue = dueKind({
  ...dueRecurringInvoices,
  recordType: 'recurring_invoice',
  idField: 'recurInvoiceID',
  onceConstraint: RECURRING_CHARGED_ONCE,
  listDue: listDueRecurring,
  listForecast: listRecurringForPlanning,
  planner: async (db, context, records) => {
    const loaded = new Map((await loadRecurring(db, context.account.id, records)).map((one) => [one.recurring, one]))
    const ids = records.map(({ id }) => id)
    const plans = await recurringContext(db, context, ids)
    return (r, day) => planRecurring(loaded.get(r)!, plans, day)
  },
  apply: applyRecurringPlans,
})
