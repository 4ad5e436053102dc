import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { countCreditNotes, listCreditNotes } from './adjustment-queries.ts'
import { completeGiven } from './allocation-queries.ts'
import { completeNotes } from './corrected.ts'
import { creditFilterOf, creditFilters, paymentFilterOf, paymentFilters } from './filters.ts'
import { countPayments, COUNTED_PAYMENTS, listPayments, type Payment } from './payment-queries.ts'
import { creditNoteShape, paymentShape } from './shapes.ts'
import type { NegativeAdjustment } from './types.ts'

/** Lists of payments and of credit notes: what they are filtered by, their rows, and how these are completed and written, some at a time. */

export const PAYMENT_LIST = {
  out: paymentShape,
  filters: paymentFilters,
  filterOf: paymentFilterOf,
  knowsUpdates: true,
  blocks: COUNTED_PAYMENTS,
  rows: listPayments,
  count: countPayments,
  pieces: (db: Queryable, context: RequestContext, rows: Payment[]) =>
    paymentShape.list.bytePieces(completeGiven(db, context.account.id, 'payment', rows), writingOf(context)),
} as const

export const CREDIT_NOTE_LIST = {
  out: creditNoteShape,
  filters: creditFilters,
  filterOf: creditFilterOf,
  knowsUpdates: true,
  rows: listCreditNotes,
  count: countCreditNotes,
  pieces: (db: Queryable, context: RequestContext, rows: NegativeAdjustment[]) =>
    creditNoteShape.list.pieces(completeNotes(db, context.account.id, rows), writingOf(context)),
} as const
