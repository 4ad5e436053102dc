import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import { afterLock } from '../../engine/money/postings.ts'
import { assert } from '../../kernel/assert.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listAllocationsOfOwed } from './allocation-queries.ts'
import { loadPayment } from './payments.ts'
import { recordMoneyEvent } from './records.ts'
import { paymentShape } from './shapes.ts'
import { writeMoney } from './write.ts'
import type { WantedState } from './types.ts'

/** Payments that give way on an invoice to a credit note, as an event of a day: what they paid until then stays as history. */

export interface Freeing {
  invoiceId: InvoiceId
  customerId: CustomerId
  currency: string
  /** Sum to be freed, as far as payments reach, in minor units. */
  amountMinor: bigint
  /** No allocation ends before its own day. */
  on: IsoDate
  reason: string
}

/**
 * Frees payments of an invoice of a locked customer, the newest allocation first. Throws a conflict where a pending one would have to give way;
 * lines that give way on their own are left to `withRoom`.
 */
export async function freePayments(tx: Transaction, context: RequestContext, freeing: Freeing): Promise<void> {
  let left = freeing.amountMinor
  const allocations = await listAllocationsOfOwed(tx, tx.account, 'invoice', [freeing.invoiceId])
  const ofPayments = allocations.filter(({ givenKind }) => givenKind === 'payment')
  for (const allocation of ofPayments.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
    if (left <= 0n) return
    if (allocation.counts === 'pending' && (await givesWay(tx, allocation))) continue
    const cutMinor = left < allocation.amountMinor ? left : allocation.amountMinor
    left -= cutMinor
    await free(tx, context, freeing, { allocation, cutMinor })
  }
}

async function givesWay(tx: Transaction, { givenId, owedId }: AllocationState): Promise<boolean> {
  const payment = await loadPayment(tx, tx.account, givenId)
  assert(payment, `payment ${givenId} exists`)
  if (payment.givesWay) return true
  throw conflict(
    'payment_pending',
    `Payment ${givenId} of invoice ${owedId} is pending; it cannot be freed before its outcome is known.`,
    'isFreePayments',
  )
}

async function free(
  tx: Transaction,
  context: RequestContext,
  { customerId, currency, on, reason }: Freeing,
  { allocation, cutMinor }: { allocation: AllocationState; cutMinor: bigint },
): Promise<void> {
  const isWhole = cutMinor === allocation.amountMinor
  // A lock moves both parts, and the reverse of what they were, to one day.
  const dated = isWhole ? allocation.dated : afterLock(allocation.dated, context.account.lockDate)
  const kept: WantedState[] = isWhole ? [] : [{ ...allocation, dated, amountMinor: allocation.amountMinor - cutMinor }]
  const ended: WantedState = {
    ...allocation,
    id: isWhole ? allocation.id : null,
    dated,
    amountMinor: cutMinor,
    endedOn: later(on, dated),
  }
  await writeMoney(tx, context, {
    customerId,
    currency,
    allocations: { before: [allocation], after: [...kept, ended] },
  })
  const payment = await loadPayment(tx, tx.account, allocation.givenId)
  assert(payment, `payment ${allocation.givenId} exists`)
  await recordMoneyEvent(tx, context, paymentShape, 'payment.updated', payment, reason)
}
