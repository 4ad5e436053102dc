import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { checkSkip, SkipIn, skipOut, skippedAnswer } from '../billing-run/skip-wire.ts'
import { skipRecurringDue } from './failing.ts'
import { loadRecurringInvoice, recordRecurringEvent, recurringKind } from './record.ts'
import { recurringEtag } from './wire.ts'

const SkippedOut = skipOut(
  ['period'],
  'SkippedPeriods',
  'Always `period`: a recurring invoice is skipped by whole periods.',
)

/** Declares billing what is due at 0.00: the way out where it cannot be billed. */
export const skipRecurringOperation = (): Operation =>
  writeOperation({
    id: 'skipRecurringInvoice',
    method: 'POST',
    path: '/v1/recurring-invoices/{recurInvoiceID}/skip',
    tag: 'Recurring invoices',
    summary: 'Count what is due on a recurring invoice up to a day as billed at 0.00, also where it cannot be billed',
    body: SkipIn,
    success: { status: 201, schema: SkippedOut.schema, headers: ['Perennial-Warning'] },
    record: recurringKind.editing.record,
    etag: recurringEtag,
    references: async (_tx, context, { body }, problems) => checkSkip(body, context, problems),
    write: async (tx, context, { body }, given) => {
      const { id } = given.recurring
      const reload = () => loadRecurringInvoice(tx, context, id)
      const { skipped, isBilled } = await skipRecurringDue(tx, context, given, body.Until, reload)
      if (skipped.length > 0) await recordRecurringEvent(tx, context, 'recurring_invoice.skipped', id, body.Reason)
      const charges = skipped.map(({ period }) => ({ kind: 'period', ...period }))
      return skippedAnswer(SkippedOut, context, charges, isBilled)
    },
  })
