import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { conflict } from '../../kernel/fault.ts'
import { sentenceList } from '../../kernel/text.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { OnCancel } from '../invoices/manual.ts'
import { recordAllocations } from './allocation-event.ts'
import { allocationNames } from './allocation-names.ts'
import { listAllocationsOfOwed } from './allocation-queries.ts'
import { coverRefunds } from './cover-refunds.ts'
import { listClosedNotesFor } from './credit-note-queries.ts'
import { leaveInvoice } from './release-pending-lines.ts'
import { listSettlementsOfInvoice } from './settlement-queries.ts'
import { endSettlements } from './settlements.ts'
import { writeMoney } from './write.ts'

/**
 * Releases what the service allocated to an invoice before the invoice is cancelled: the customer can use it elsewhere. Throws a conflict
 * that names what a caller allocated, a pending payment that does not give way, or a closed note that is settled for the invoice: these stand
 * against cancelling. What open notes settle for it is taken away on that day.
 */
export const releaseForCancellation: OnCancel = async (tx, context, invoice) => {
  const notes = await listClosedNotesFor(tx, tx.account, invoice.id)
  if (notes.length > 0)
    throw conflict(
      'invoice_credited',
      `Invoice ${invoice.id} has the credit note${notes.length > 1 ? 's' : ''} ${sentenceList(notes)}; it cannot be cancelled. Delete ${notes.length > 1 ? 'those that were' : 'it if it was'} not sent, or credit the rest of the invoice.`,
    )
  await leaveInvoice(tx, context, invoice.id)
  const before = await listAllocationsOfOwed(tx, tx.account, 'invoice', [invoice.id])
  await refuseWhere(tx, invoice.id, 'invoice_allocated', before, ({ isServiceMade }) => !isServiceMade)
  await refuseWhere(tx, invoice.id, 'invoice_pending', before, ({ counts }) => counts === 'pending')
  const settled = await listSettlementsOfInvoice(tx, tx.account, invoice.id)
  if (before.length + settled.length === 0) return
  const { customerId, currency } = invoice
  const happened = endSettlements(tx, context, settled)
  await writeMoney(tx, context, { customerId, currency, allocations: { before, after: [] }, happened })
  const released = before.map((allocation) => ({ ...allocation, currency }))
  await recordAllocations(tx, context, 'allocation.deleted', released)
  await coverRefunds(tx, context, customerId)
}

async function refuseWhere(
  tx: Transaction,
  invoiceId: bigint,
  code: string,
  allocations: readonly AllocationState[],
  isStanding: (allocation: AllocationState) => boolean,
): Promise<void> {
  const standing = allocations.filter(isStanding)
  if (standing.length > 0)
    throw conflict(
      code,
      `Invoice ${invoiceId} has the allocation ${await allocationNames(tx, standing)}; take it off before cancelling.`,
    )
}
