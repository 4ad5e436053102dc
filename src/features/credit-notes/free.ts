import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { conflict } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import { insertEvents } from '../events/queries.ts'
import type { OnCancel } from '../invoices/by-hand.ts'
import { listAllocationsOfOwed } from '../money/allocation-queries.ts'
import { allocationRecord } from '../money/events.ts'
import { writeMoney } from '../money/write.ts'
import { listNotesFor } from './free-queries.ts'

/**
 * Before an invoice is cancelled: what the service allocated to it is free again, the customer's to use elsewhere. Rule: what a caller
 * allocated, a pending payment, and a note that the service made for the invoice stand against cancelling; they are named.
 */
export const freeCredits: OnCancel = async (tx, context, invoice) => {
  const notes = await listNotesFor(tx, tx.account, invoice.id)
  if (notes.length > 0)
    throw conflict(
      'invoice_credited',
      `Invoice ${invoice.id} has the credit note ${sentenceList(notes)}; it cannot be cancelled until that is deleted.`,
    )
  const before = await listAllocationsOfOwed(tx, tx.account, 'invoice', [invoice.id])
  refuse(
    invoice.id,
    'invoice_allocated',
    before.filter(({ isServiceMade }) => !isServiceMade),
  )
  refuse(
    invoice.id,
    'invoice_pending',
    before.filter(({ counts }) => counts === 'pending'),
  )
  if (before.length === 0) return
  const { customerId, currency } = invoice
  await writeMoney(tx, context, { customerId, currency, allocations: { before, after: [] } })
  const common = { customerId, happenedAt: context.moment.now, actor: context.actor, reason: null }
  await insertEvents(
    tx,
    before.map((allocation) => ({
      ...common,
      type: 'allocation.deleted' as const,
      recordId: allocation.id,
      record: allocationRecord(allocation, currency),
    })),
  )
}

function refuse(invoiceId: bigint, code: string, standing: readonly AllocationState[]): void {
  if (standing.length === 0) return
  const named = standing.map(
    ({ id, givenKind, givenId }) =>
      `${id} of ${givenKind === 'payment' ? 'payment' : 'negative adjustment'} ${givenId}`,
  )
  throw conflict(code, `Invoice ${invoiceId} has the allocation ${sentenceList(named)}; take it off before cancelling.`)
}
