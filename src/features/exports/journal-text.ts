import type { LedgerEvent } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { DocumentType, MoveRow } from './moves-queries.ts'

/** Texts of journals: numbers, never names. */

const DOCUMENTS: Readonly<Record<DocumentType, string>> = {
  invoice: 'Invoice',
  payment: 'Payment',
  negative_adjustment: 'Credit note',
  positive_adjustment: 'Adjustment',
  allocation: 'Allocation',
  settlement: 'Settlement',
}

/** Names of documents whose type alone is not enough. */
const NAMES: Partial<Record<LedgerEvent, string>> = {
  bad_debt_written_off: 'Bad debt',
  bad_debt_tax_relieved: 'Bad debt',
  bad_debt_recovered: 'Bad debt',
  refund_paid: 'Refund',
  opening_balance_set: 'Opening balance',
  interest_charged: 'Interest',
}

/** Words for what happened to a document, other than that it was made. */
const HAPPENED: Partial<Record<LedgerEvent, string>> = {
  invoice_cancelled: 'cancelled',
  payment_settled: 'settled',
  payment_failed: 'failed',
  payment_returned: 'returned',
  allocation_ended: 'ended',
  tax_taken_back: 'settled',
  bad_debt_tax_relieved: 'tax relieved',
  bad_debt_recovered: 'recovered',
}

const GIVEN = { payment: 'Payment', credit_note: 'Credit note', bad_debt: 'Bad debt' } as const

/** Names the document of a journal; an allocation by what it joins. */
function nameOf({
  event,
  documentType,
  documentId,
  number,
  givenKind,
  givenName,
  owedKind,
  owedName,
}: MoveRow): string {
  if (givenKind !== null && owedKind !== null) return `${GIVEN[givenKind]} ${givenName} for ${owedKind} ${owedName}`
  return `${(event && NAMES[event]) ?? DOCUMENTS[documentType]} ${number ?? documentId}`
}

/** Writes the text of a journal by its first move, with its own day where another one is shown. */
export function journalText(move: MoveRow, shown: IsoDate): string {
  const { event, isReversal, dated } = move
  const happened = event === null ? 'settled' : HAPPENED[event]
  const then = happened === undefined ? '' : ` ${happened}`
  return `${nameOf(move)}${then}${isReversal ? ' reversed' : ''}${dated === shown ? '' : ` of ${dated}`}`
}
