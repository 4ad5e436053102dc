import { equals, ZERO } from '../../kernel/decimal.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { AccountId } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { formatsOf } from '../../platform/locale/format.ts'
import { listInvoiceTaxes } from '../invoices/queries.ts'
import { linesOfNote, paperReason, takenTaxes, type TaxOfNote, unsettledMinor } from '../money/note-paper.ts'
import type { NegativeRecord } from '../money/types.ts'
import type { CorrectedInvoice, CreditNoteDocument, DocumentTax } from './document.ts'
import { daysText, loadHead } from './load-head.ts'
import { type FrozenParties, getFrozenPartiesOfNote, listInvoiceHeads } from './queries.ts'
import { wordsOf } from './words.ts'

/**
 * Loads a credit note as its document shows it: names and addresses as they were when it was sent, before that as they are now, and what it
 * corrects. Where its money goes is not on it, so that a note that was sent is the same for ever.
 */
export async function loadCreditNoteDocument(
  db: Queryable,
  context: RequestContext,
  note: NegativeRecord,
): Promise<CreditNoteDocument> {
  const { account } = context
  const taken = takenTaxes(note.settlements)
  const [head, lines, invoices, taxes] = await Promise.all([
    loadFrozen(db, account.id, note).then((frozen) => loadHead(db, context, note.customerId, frozen)),
    linesOfNote(db, account.id, note),
    loadCorrected(db, context, note),
    withReasons(db, account.id, taken),
  ])
  const { bankDetails: _none, ...letter } = head
  const words = wordsOf(formatsOf(letter.locale).language)
  return {
    ...letter,
    createdAt: note.sentAt ?? letter.createdAt,
    number: note.ref ?? '',
    date: note.dated,
    currency: note.currency,
    isSent: note.sentAt !== null,
    invoices,
    lines: lines.map((line) => ({
      name: line.kind === 'setup' ? words.setup : line.kind === 'trial' ? words.trial : line.name,
      description: daysText(line, letter.locale),
      netMinor: line.netMinor,
    })),
    taxes,
    unsettledMinor: unsettledMinor(note),
    totalMinor: note.amountMinor,
    reason: paperReason(note, lines, letter.locale),
  }
}

const loadFrozen = (db: Queryable, account: AccountId, { id, sentAt }: NegativeRecord): Promise<FrozenParties | null> =>
  sentAt === null ? Promise.resolve(null) : getFrozenPartiesOfNote(db, account, id)

/** Gives taxes of 0 % the reasons that their invoices froze. */
async function withReasons(db: Queryable, account: AccountId, taken: readonly TaxOfNote[]): Promise<DocumentTax[]> {
  const untaxed = taken.filter(({ rate }) => equals(rate, ZERO)).map(({ invoiceId }) => invoiceId)
  const frozen = untaxed.length === 0 ? [] : await listInvoiceTaxes(db, account, [...new Set(untaxed)])
  return taken.map((tax) => {
    const own = frozen.find(
      ({ invoiceId, name, rate, category }) =>
        invoiceId === tax.invoiceId && name === tax.name && equals(rate, tax.rate) && category === tax.category,
    )
    return { ...tax, reason: own?.reason ?? null }
  })
}

/** Sums what is settled for each invoice, in the order of the settlements. */
async function loadCorrected(
  db: Queryable,
  { account }: RequestContext,
  { settlements }: NegativeRecord,
): Promise<CorrectedInvoice[]> {
  const ids = [...new Set(settlements.map(({ invoiceId }) => invoiceId))]
  const heads = ids.length === 0 ? [] : await listInvoiceHeads(db, account.id, ids)
  return ids.flatMap((id) => {
    const head = heads.find((one) => one.id === id)
    const own = settlements.filter(({ invoiceId }) => invoiceId === id)
    const grossMinor = sumMinor(own)
    const taxMinor = own.reduce((sum, { taxes }) => sum + sumMinor(taxes), 0n)
    return head ? [{ number: head.number, date: head.date, grossMinor, netMinor: grossMinor - taxMinor }] : []
  })
}
