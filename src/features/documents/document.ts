import type { Ageing, MovementsStatement } from '../../engine/money/statement.ts'
import type { Supply } from '../../engine/supply.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { TaxCategory, TaxReason } from '../../kernel/tax.ts'
import type { MandateDrawing } from '../emandates/document.ts'
import type { PlainFields } from '../invoices/fields.ts'
import type { PaymentMethodWord } from '../money/payment-queries.ts'
import type { Paper } from '../../platform/pdf/sheet.ts'

/** Contents of documents as plain data: drawing needs nothing else, no database either. */

/** Sender or receiver of a document, as it was when the document was issued. */
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

/** Fields that every document has. */
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
  /** Warnings of the fields of both parties that have a character which no font has; left out: none. */
  glyphsMissing?: readonly string[]
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
  /** Why it is none, where it is one of 0 %: in words of the document, or of the rule that made it none. */
  category: TaxCategory | null
  reason: TaxReason | null
}

/** A payment, credit note or bad debt that was applied to an invoice so far. */
export interface Applied {
  date: IsoDate
  kind: 'payment' | 'credit_note' | 'bad_debt'
  /** The payment's reference, the credit note's number. */
  reference: string | null
  /** A payment's. */
  method: PaymentMethodWord | null
  /** Not received yet. */
  isPending: boolean
  amountMinor: bigint
}

/** The plain fields of the invoice stand on paper where invoice-pdf.ts draws them. */
export interface InvoiceDocument extends DocumentHead, Partial<PlainFields> {
  state: 'draft' | 'issued' | 'cancelled'
  /** Null for a draft. */
  number: string | null
  reference: string
  invoiceDate: IsoDate
  dueDate: IsoDate
  supply: Supply
  currency: string
  lines: readonly DocumentLine[]
  taxes: readonly DocumentTax[]
  totalMinor: bigint
  applied: readonly Applied[]
  /** The sum of what was applied after these and is not listed; 0 where all is. */
  appliedAfterMinor: bigint
  balanceMinor: bigint
  /** Bad debt on it. */
  writtenOffMinor: bigint
  bankDetails: string | null
}

/** Invoice that a credit note corrects, and what of the note it is settled for. */
export interface CorrectedInvoice {
  number: string | null
  date: IsoDate
  /** Net and gross, in minor units. */
  netMinor: bigint
  grossMinor: bigint
}

export interface CreditNoteDocument extends DocumentHead {
  number: string
  date: IsoDate
  currency: string
  /** False: its texts may still change, and what it corrects may too. */
  isSent: boolean
  invoices: readonly CorrectedInvoice[]
  /** Net; none where a part of the total is credited. */
  lines: readonly { name: string; description: string | null; netMinor: bigint }[]
  taxes: readonly DocumentTax[]
  /** Part of its total that corrects no invoice, in minor units. */
  unsettledMinor: bigint
  totalMinor: bigint
  reason: string | null
}

/** Section of a statement for one currency. */
export interface StatementSection extends MovementsStatement {
  currency: string
  ageing: Ageing
  unallocatedMinor: bigint
  /** Debits that were to be submitted by now: what they were to pay is open. */
  pendingPassedMinor: bigint
}

export interface StatementDocument extends DocumentHead {
  customerReference: string
  from: IsoDate
  to: IsoDate
  /** A section for each currency, the customer's own currency first. */
  sections: readonly StatementSection[]
  bankDetails: string | null
}

/** A document with its kind: what is handed to whoever draws it. */
export type Drawable =
  | { kind: 'invoice'; document: InvoiceDocument }
  | { kind: 'credit_note'; document: CreditNoteDocument }
  | { kind: 'statement'; document: StatementDocument }

/** Whatever the thread of documents draws: a mandate comes with the key of its seal. */
export type Drawn = Drawable | ({ kind: 'emandate' } & MandateDrawing)
