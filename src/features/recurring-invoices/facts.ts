import {
  nextRecurringInvoice,
  type RecurringCursor,
  recurringStatus,
  type RecurringTerms,
} from '../../engine/recurring.ts'
import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import type { RecurringInvoice } from './queries.ts'

/** Returns the terms of a recurring invoice, as the engine sees them. */
export const recurringTermsOf = (
  r: Pick<RecurringInvoice, 'anchor' | 'anchorDay' | 'term' | 'termType' | 'endDate' | 'leadDays'>,
): RecurringTerms => ({
  cycle: { anchor: r.anchor, dayOfMonth: r.anchorDay, term: r.term, termType: r.termType },
  endDate: r.endDate,
  leadDays: r.leadDays,
})

export const recurringCursorOf = ({
  nextFrom,
  lastFrom,
}: Pick<RecurringInvoice, 'nextFrom' | 'lastFrom'>): RecurringCursor => ({
  nextFrom,
  lastFrom,
})

/** Returns the next day on which the billing run has to invoice it or to record its end. */
export const nextRecurringActionOn = (
  terms: RecurringTerms,
  cursor: RecurringCursor,
  isEndRecorded: boolean,
): IsoDate | null => (isEndRecorded ? null : earliest(nextRecurringInvoice(terms, cursor), terms.endDate))

export const recurringStatusOf = (r: RecurringInvoice, today: IsoDate) => recurringStatus({ ...r, today })
