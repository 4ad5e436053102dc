import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { Paper } from '../../platform/pdf/sheet.ts'

/** What documents say, as plain data: what is drawn from it needs no database, and depends on nothing else. */

/** Who sends a document, or gets it: as it was when the document was issued. */
export interface Party {
  name: string
  /** The address, a line each. */
  address: readonly string[]
  registrationNumber: string | null
  vatNumber: string | null
  tel: string | null
  email: string | null
  webPage: string | null
}

/** What every document has. */
export interface DocumentHead {
  /** BCP 47: the customer's, else the account's. */
  locale: string
  paper: Paper
  account: Party
  /** A PNG or JPEG image. */
  logo: Buffer | null
  customer: Party
  /** When it is made, by the account's clock. */
  createdAt: Instant
}

export interface DocumentLine {
  name: string | null
  description: string | null
  quantity: Decimal
  unitPrice: Decimal
  netMinor: bigint
}

export interface DocumentTax {
  name: string
  /** A fraction of 1. */
  rate: Decimal
  taxNumber: string | null
  baseMinor: bigint
  amountMinor: bigint
}

/** What was paid or credited of an invoice so far. */
export interface Applied {
  date: IsoDate
  kind: 'payment' | 'credit_note' | 'adjustment'
  /** The payment's reference or method, the credit note's number. */
  reference: string | null
  /** Not received yet. */
  isPending: boolean
  amountMinor: bigint
}

export interface InvoiceDocument extends DocumentHead {
  state: 'draft' | 'issued' | 'cancelled'
  /** Null for a draft. */
  number: string | null
  reference: string
  poNumber: string | null
  invoiceDate: IsoDate
  dueDate: IsoDate
  currency: string
  lines: readonly DocumentLine[]
  taxes: readonly DocumentTax[]
  totalMinor: bigint
  applied: readonly Applied[]
  balanceMinor: bigint
  notes: string | null
  terms: string | null
  bankDetails: string | null
}

export interface CreditNoteDocument extends DocumentHead {
  number: string
  date: IsoDate
  currency: string
  /** The number of the invoice that it credits. */
  invoiceNumber: string | null
  /** Net; none where a caller gave an amount alone. */
  lines: readonly { name: string; description: string | null; netMinor: bigint }[]
  /** Given back; where there are no lines they are contained in the total. */
  taxes: readonly { name: string; rate: Decimal; amountMinor: bigint }[]
  totalMinor: bigint
  /** What it pays. */
  applied: readonly { date: IsoDate; reference: string; amountMinor: bigint }[]
  unallocatedMinor: bigint
  memo: string | null
}

export const MOVEMENT_TYPES = [
  'invoice',
  'payment',
  'credit_note',
  'refund',
  'bad_debt',
  'interest',
  'opening_balance',
  'invoice_cancelled',
  'payment_returned',
] as const

export interface Movement {
  date: IsoDate
  type: (typeof MOVEMENT_TYPES)[number]
  number: string | null
  description: string | null
  isPending: boolean
  debitMinor: bigint | null
  creditMinor: bigint | null
  /** After it. */
  balanceMinor: bigint
}

/** What a customer owes by days after the due date. */
export interface Ageing {
  currentMinor: bigint
  days1To30Minor: bigint
  days31To60Minor: bigint
  days61To90Minor: bigint
  days91To120Minor: bigint
  daysOver120Minor: bigint
}

export interface StatementSection {
  currency: string
  openingMinor: bigint
  movements: readonly Movement[]
  debitsMinor: bigint
  creditsMinor: bigint
  closingMinor: bigint
  ageing: Ageing
  unallocatedMinor: bigint
}

export interface StatementDocument extends DocumentHead {
  customerReference: string
  from: IsoDate
  to: IsoDate
  /** One a currency. */
  sections: readonly StatementSection[]
  bankDetails: string | null
}
