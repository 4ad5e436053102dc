import type { IsoDate } from '../kernel/calendar.ts'

/** Statuses are computed from dates and amounts whenever they are read, so nothing has to wake up at midnight to change them. */

export type SubscriptionStatus = 'Cancelled' | 'Expired' | 'Future' | 'Trial' | 'Active'

/** Rule: Cancelled, else Expired, else Future, else Trial, else Active. Of EndDate and the day of a cancellation the earlier wins. */
export function subscriptionStatus(facts: {
  today: IsoDate
  startDate: IsoDate
  trialEndDate: IsoDate | null
  /** EndDate alone. */
  endDate: IsoDate | null
  /** The day on which a cancellation took, or will take, effect. */
  cancelledOn: IsoDate | null
}): SubscriptionStatus {
  const { today, endDate, cancelledOn } = facts
  const hasExpired = endDate !== null && endDate <= today
  // A cancellation that has taken effect sets EndDate to its day, so on a tie it is the cancellation that ended it.
  const isOvertaken = hasExpired && cancelledOn !== null && endDate < cancelledOn
  if (cancelledOn !== null && cancelledOn <= today && !isOvertaken) return 'Cancelled'
  if (hasExpired) return 'Expired'
  if (today < facts.startDate) return 'Future'
  if (facts.trialEndDate !== null && today < facts.trialEndDate) return 'Trial'
  return 'Active'
}

/** Computes what is owed of an invoice: when pending payments are counted, and when they are not. */
export const invoiceBalances = (
  invoice: Readonly<Record<'totalMinor' | 'negativeMinor' | 'paidMinor' | 'pendingMinor', bigint>>,
): { balanceMinor: bigint; actualBalanceMinor: bigint } => {
  const actualBalanceMinor = invoice.totalMinor - invoice.negativeMinor - invoice.paidMinor
  return { actualBalanceMinor, balanceMinor: actualBalanceMinor - invoice.pendingMinor }
}

/** Rule: an invoice is written off when nothing is left to pay of it, pending payments not counted, and bad debt is part of why. */
export const isWrittenOff = (
  invoice: Readonly<Record<'totalMinor' | 'negativeMinor' | 'paidMinor' | 'pendingMinor' | 'writtenOffMinor', bigint>>,
): boolean => invoice.writtenOffMinor > 0n && invoiceBalances(invoice).actualBalanceMinor <= 0n

export type InvoiceStatus = 'Cancelled' | 'Draft' | 'Paid' | 'Pending' | 'Past Due' | 'Due'

/** Rule: Cancelled; Draft; Paid when nothing is owed; Pending when pending payments cover it; Past Due after its due date; else Due. */
export function invoiceStatus(facts: {
  isCancelled: boolean
  isDraft: boolean
  dueDate: IsoDate
  today: IsoDate
  /** Amount owed when pending payments are counted, in minor units. */
  balanceMinor: bigint
  /** Amount owed when pending payments are not counted, in minor units. */
  actualBalanceMinor: bigint
}): InvoiceStatus {
  if (facts.isCancelled) return 'Cancelled'
  if (facts.isDraft) return 'Draft'
  if (facts.actualBalanceMinor <= 0n) return 'Paid'
  if (facts.balanceMinor <= 0n) return 'Pending'
  return facts.dueDate < facts.today ? 'Past Due' : 'Due'
}

export type PositiveStatus = 'Paid' | 'Past Due' | 'Partially Paid' | 'Unpaid'

/** Rule for positive adjustments: Paid when what is not pending covers it; Past Due after its due date, partly paid too; else by how much is paid. */
export function positiveStatus(facts: {
  amountMinor: bigint
  /** Amount allocated to it, without pending payments. */
  coveredMinor: bigint
  dueDate: IsoDate
  today: IsoDate
}): PositiveStatus {
  if (facts.coveredMinor >= facts.amountMinor) return 'Paid'
  if (facts.dueDate < facts.today) return 'Past Due'
  return facts.coveredMinor > 0n ? 'Partially Paid' : 'Unpaid'
}

export type CustomerStatus = 'Archived' | 'Suspended' | 'Active'

/** Rule: Archived, else Suspended, else Active. */
export function customerStatus(facts: { isArchived: boolean; isSuspended: boolean }): CustomerStatus {
  if (facts.isArchived) return 'Archived'
  return facts.isSuspended ? 'Suspended' : 'Active'
}
