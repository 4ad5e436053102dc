import { takeFree } from '../../engine/money/allocating.ts'
import { allocationDay } from '../../engine/money/allocation-effects.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { CustomerId, Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { IssueContext } from '../invoices/issue.ts'
import { listAllocationsOfGiven } from './allocation-queries.ts'
import { type AppliedState, writeApplied } from './apply-unallocated.ts'
import { listOpenRefunds, listReceivedOfCharge, type OpenRefund } from './cover-queries.ts'
import { type GivenDocument, listFree, listFreeNotesOf } from './open-queries.ts'

/**
 * Covers what was refunded at a gateway's console and is open (§33) with unallocated money: of the received payments of its charge, the oldest first, then of
 * the notes that are settled for invoices which these payments pay, by their day. No other money goes to it, and what the account does with unallocated money
 * does not matter. The customer is locked; whatever makes money unallocated calls this behind its writes, in its transaction. Nothing is dated before
 * `notBefore`, the day on which the money was freed. Returns whether there was any.
 */
export async function coverRefunds(
  tx: Transaction,
  context: IssueContext,
  customerId: CustomerId,
  notBefore: IsoDate | null = null,
): Promise<boolean> {
  let isCovered = false
  for (const refund of await listOpenRefunds(tx, customerId)) {
    const money = await moneyFor(tx, customerId, refund)
    const taken = takeFree(money, [{ kind: 'positive_adjustment', id: refund.adjustmentId, ...refund }], 'payments')
    if (taken.length === 0) continue
    await writeApplied(
      tx,
      context,
      taken.map(({ givenKind, givenId, amountMinor }): AppliedState => {
        const given = money.find(({ kind, id }) => kind === givenKind && id === givenId) as GivenDocument
        const day = allocationDay(given.dated, refund.dated, context.account.lockDate)
        return {
          id: null,
          currency: refund.currency,
          customerId,
          givenKind,
          givenId,
          owedKind: 'positive_adjustment',
          owedId: refund.adjustmentId,
          invoiceNumber: null,
          amountMinor,
          dated: notBefore === null ? day : later(day, notBefore),
          isServiceMade: true,
          endedOn: null,
          counts: given.counts,
        }
      }),
    )
    isCovered = true
  }
  return isCovered
}

/** Lists the unallocated money that a refund is taken from. */
async function moneyFor(tx: Transaction, customerId: CustomerId, refund: OpenRefund): Promise<GivenDocument[]> {
  const free = (await listFree(tx, [customerId])).filter(({ currency }) => currency === refund.currency)
  if (free.length === 0) return []
  const payments = await listReceivedOfCharge(tx, refund)
  const notes = await notesOf(tx, payments)
  return free.filter(({ kind, id }) => (kind === 'payment' ? payments : notes).includes(id))
}

async function notesOf(tx: Transaction, payments: readonly Id[]): Promise<Id[]> {
  const paid = await listAllocationsOfGiven(tx, tx.account, 'payment', payments)
  const invoices = paid.filter(({ owedKind }) => owedKind === 'invoice').map(({ owedId }) => owedId)
  return invoices.length === 0 ? [] : (await listFreeNotesOf(tx, invoices)).map(({ id }) => id)
}
