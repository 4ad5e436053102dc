import type { Decimal } from '../../kernel/decimal.ts'
import type { TaxCategory } from '../../kernel/tax.ts'
import type { CustomerId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import type { ApplyOrder, OpenDocument, OwedRef, WantedAllocation } from '../../engine/money/allocating.ts'
import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { NegativeKind, SettlementBasis, TaxAmount } from '../../engine/money/postings.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'

/** Records of money given and owed, and the allocations that are asked for, as the files of this room and its doors hand them on. */

/** Statuses of money given; of a credit note only three of them ever come about. */
export const GIVEN_STATUSES = ['Pending', 'Allocated', 'Partial', 'Unallocated', 'Failed'] as const

export type GivenStatus = (typeof GIVEN_STATUSES)[number]

/** Document that money can be allocated to, in whatever state; a draft has no `order`. */
export interface OwedDocument extends OpenDocument {
  customerId: CustomerId
  currency: string
  state: 'open' | 'draft' | 'cancelled'
  /** Of `openMinor`, what is held by lines that give way. */
  givesWayMinor: bigint
}

/** Entry of a list as sent, whichever door it came through. */
export interface AskedEntry {
  allocationId: Id | null
  invoiceId: Id | null
  invoiceNumber: Id | null
  positiveAdjustmentId: Id | null
  amount: Decimal
}

/** Names of the fields at one door, for problems that name them. */
export interface EntryNames {
  list: string
  amount: string
  invoice: string
  number: string | null
  positive: string
}

/** Allocations asked for: a caller's list; AutoApply over open documents in some order; or the present ones, kept. */
export type Asked =
  | {
      list: readonly WantedAllocation[]
      /** Documents of the list, where they were read after the customer was locked: they are not read again. */
      owed?: readonly OwedDocument[]
      /** Names the field of the entry that names a document, for refusals. */
      fieldOf?: (target: OwedRef) => string
      /** Names the list itself. */
      field?: string
      /** True where added allocations are the service's. */
      isServiceMade?: boolean
    }
  | { auto: ApplyOrder }
  | { keep: true }

export type MoneyContext = Pick<RequestContext, 'account' | 'moment'>

/** Allocation as it is to be; without an identifier it is made. */
export type WantedState = Omit<AllocationState, 'id'> & { id: Id | null }

/** Row of a record with what is allocated of it, or to it. */
export type Allocated<Row> = Row & { allocations: readonly AllocationState[] }

export interface NegativeAdjustment {
  id: Id
  customerId: CustomerId
  kind: NegativeKind
  dated: IsoDate
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  /** The number of a credit note. */
  ref: string | null
  memo: string | null
  /** Why a credit note was made. */
  reason: string | null
  /** The invoice that a credit note of the service credits; null for one of a caller. */
  invoiceId: InvoiceId | null
  subscriptionId: SubscriptionId | null
  createdAt: Instant
  /** The day of the relief of a bad debt that stands, of several the newest; null without one, and of any other kind. */
  reliefDate: IsoDate | null
  /** Since then what it corrects is fixed: from the beginning where it was made for an invoice, else since it was sent. Null while it is open. */
  closedAt: Instant | null
  /** When it was first handed to the customer; null before. */
  sentAt: Instant | null
}

export type NegativeRecord = Allocated<NegativeAdjustment> & Corrected

/** Line of an invoice that a note gives back, net, in minor units. */
export interface CorrectedLine {
  chargeId: Id
  name: string
  netMinor: bigint
}

export interface Corrected {
  /** Oldest first. */
  settlements: readonly Settlement[]
  lines: readonly CorrectedLine[]
}

/** A settled tax: what the settlement takes back of it, what was settled of it before, and the day of its entry. */
export interface SettledTax extends TaxAmount {
  /** Null for an old settlement. */
  settledBeforeMinor: bigint | null
  dated: IsoDate
  /** As the invoice froze it; null where that is not known. */
  category: TaxCategory | null
}

export interface Settlement {
  id: Id
  customerId: CustomerId
  /** The credit note, or of a relief the bad debt. */
  noteId: Id
  invoiceId: InvoiceId
  invoiceNumber: bigint | null
  basis: SettlementBasis
  amountMinor: bigint
  /** Gross settled for the invoice before; null for an old one. */
  settledBeforeMinor: bigint | null
  /** From before there were settlements. */
  isOld: boolean
  oldAllocationId: Id | null
  dated: IsoDate
  /** The day on which an event took it away; it then counts nowhere and stays as history. */
  endedOn: IsoDate | null
  taxes: readonly SettledTax[]
}
