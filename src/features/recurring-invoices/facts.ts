import {
  nextRecurringInvoice,
  type RecurringCursor,
  recurringStatus,
  type RecurringTerms,
} from '../../engine/recurring.ts'
import { earliest, type IsoDate } from '../../kernel/calendar.ts'
import type { RecurringInvoice } from './queries.ts'

/** What the engine needs of a recurring invoice. */
export const termsOf = (
  r: Pick<RecurringInvoice, 'anchor' | 'anchorDay' | 'term' | 'termType' | 'endDate' | 'leadDays'>,
): RecurringTerms => ({
  cycle: { anchor: r.anchor, dayOfMonth: r.anchorDay, term: r.term, termType: r.termType },
  endDate: r.endDate,
  leadDays: r.leadDays,
})

export const cursorOf = ({ nextFrom, lastFrom }: Pick<RecurringInvoice, 'nextFrom' | 'lastFrom'>): RecurringCursor => ({
  nextFrom,
  lastFrom,
})

/** The next day on which the run has something to do: an invoice, or writing down the end. */
export const nextActionOn = (terms: RecurringTerms, cursor: RecurringCursor, isEndRecorded: boolean): IsoDate | null =>
  isEndRecorded ? null : earliest(nextRecurringInvoice(terms, cursor), terms.endDate)

export const statusOf = (r: RecurringInvoice, today: IsoDate) => recurringStatus({ ...r, today })
