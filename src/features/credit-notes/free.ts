import { conflict } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import { addReceivable, addUnapplied } from '../customers/queries.ts'
import type { OnCancel } from '../invoices/by-hand.ts'
import { addNegative } from '../invoices/issue-queries.ts'
import { deleteCreditAllocations, listAllocationsTo, listNotesFor } from './free-queries.ts'

/**
 * Before an invoice is cancelled: what the service allocated to it is free again, the customer's to use elsewhere. Rule: what a caller
 * allocated, and a note that the service made for the invoice, stand against cancelling; they are named.
 */
export const freeCredits: OnCancel = async (tx, { moment }, invoice) => {
  const notes = await listNotesFor(tx, tx.account, invoice.id)
  if (notes.length > 0)
    throw conflict(
      'invoice_credited',
      `Invoice ${invoice.id} has the credit note ${sentenceList(notes)}; it cannot be cancelled until that is deleted.`,
    )
  const allocations = await listAllocationsTo(tx, invoice.id)
  const given = allocations.filter(({ isServiceMade, givenKind }) => !isServiceMade || givenKind === 'payment')
  if (given.length > 0)
    throw conflict(
      'invoice_allocated',
      `Invoice ${invoice.id} has the allocation ${sentenceList(given.map(({ id }) => String(id)))}; take it off before cancelling.`,
    )
  if (allocations.length === 0) return
  const freedMinor = allocations.reduce((sum, { appliedMinor }) => sum + appliedMinor, 0n)
  await deleteCreditAllocations(tx, allocations)
  const negative = { invoiceIds: `{${invoice.id}}`, amountsMinor: `{${-freedMinor}}` }
  await addNegative(tx, tx.account, negative, moment.now)
  const owed = { customerIds: `{${invoice.customerId}}`, currencies: `{${invoice.currency}}` }
  await addReceivable(tx, tx.account, { ...owed, amountsMinor: `{${freedMinor}}` })
  await addUnapplied(tx, tx.account, invoice.customerId, invoice.currency, freedMinor)
}
