import { addDays } from '../../kernel/calendar.ts'
import { listDunned } from '../dunning/queries.ts'
import { replan } from '../dunning/save.ts'
import { applyUnallocated } from '../money/apply-unallocated.ts'
import type { LinesOfService } from '../batches/hooks.ts'
import { leaveLapsed, lineGone, linesSubmitted, reviewLines } from './lines.ts'
import { announceMoved } from './notice.ts'
import { lineKnown, lineNeverSent } from './outcome.ts'
import { listLineTries } from './try-queries.ts'

/** Follows what happens to lines that this room has made: batches call it. */
export const linesOfService: LinesOfService = {
  async submitting(tx, context, batch) {
    const customers = new Set((await listLineTries(tx, batch.id)).map(({ customerId }) => customerId))
    for (const customerId of customers) await reviewLines(tx, context, customerId)
    const left = (await listLineTries(tx, batch.id)).map(({ invoice }) => invoice.id)
    const invoices = await listDunned(tx, tx.account, left)
    await applyUnallocated(tx, context, { invoices, unapplied: invoices, isManual: false })
  },
  async moved(tx, context, deps, to) {
    await leaveLapsed(tx, context, to)
    await announceMoved(tx, context, deps, to)
  },
  submitted: linesSubmitted,
  gone: (tx, context, paymentId) => lineGone(tx, context, paymentId, addDays(context.moment.today, 1)),
  known: lineKnown,
  async ended(tx, context, invoiceIds) {
    await replan(tx, context, invoiceIds, ({ dunning }) => ({ dunning: { ...dunning, isStopped: true } }))
  },
  neverSent: lineNeverSent,
}
