import { equals } from '../../kernel/decimal.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { formatsOf } from '../../platform/locale/format.ts'
import { type ExplainedTax, explainNote } from '../money/explain-credit-note.ts'
import type { NegativeRecord } from '../money/records.ts'
import { listInvoiceNumbers } from '../money/open-queries.ts'
import type { CreditNoteDocument } from './document.ts'
import { daysText, loadHead } from './load-head.ts'
import { getFrozenPartiesOfNote, listUses } from './queries.ts'
import { wordsOf } from './words.ts'

/**
 * Loads a credit note as its document shows it: names and addresses as they were when it was made, what it was used for as it is now. One
 * of the service shows its lines and their taxes; one of a caller its amount, and the taxes that this contains by what it is allocated to.
 */
export async function loadCreditNoteDocument(
  db: Queryable,
  context: RequestContext,
  note: NegativeRecord,
): Promise<CreditNoteDocument> {
  const { account } = context
  const [head, explained, applied, [credited]] = await Promise.all([
    getFrozenPartiesOfNote(db, account.id, note.id).then((frozen) => loadHead(db, context, note.customerId, frozen)),
    explainNote(db, account.id, note),
    listUses(db, account.id, note.id),
    note.invoiceId === null ? [] : listInvoiceNumbers(db, account.id, [note.invoiceId]),
  ])
  const { bankDetails: _none, ...letter } = head
  const words = wordsOf(formatsOf(letter.locale).language)
  return {
    ...letter,
    number: note.ref ?? '',
    date: note.dated,
    currency: note.currency,
    invoiceNumber: credited?.number?.toString() ?? null,
    lines: explained.lines.map((line) => ({
      name: line.kind === 'setup' ? words.setup : line.kind === 'trial' ? words.trial : line.name,
      description: daysText(line, letter.locale),
      netMinor: line.netMinor,
    })),
    taxes: byTax(explained.taxes),
    totalMinor: note.amountMinor,
    applied,
    unallocatedMinor: note.amountMinor - note.appliedMinor,
    memo: note.memo,
  }
}

/** Sums each tax over all invoices that it was taken back of. */
function byTax(taxes: readonly ExplainedTax[]): CreditNoteDocument['taxes'] {
  const sums: { name: string; rate: ExplainedTax['rate']; amountMinor: bigint }[] = []
  for (const { name, rate, amountMinor } of taxes) {
    const known = sums.find((sum) => sum.name === name && equals(sum.rate, rate))
    if (known) known.amountMinor += amountMinor
    else sums.push({ name, rate, amountMinor })
  }
  return sums
}
