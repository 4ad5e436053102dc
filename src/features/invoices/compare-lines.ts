import { equals } from '../../kernel/decimal.ts'
import type { TaxReason } from '../../kernel/tax.ts'
import type { InvoiceBody } from './manual-wire.ts'
import { lineOf } from './lines.ts'
import type { InvoiceParts } from './wire.ts'

/** Whether what was sent is what there is: records are read, changed in one place and sent back. */

type SentTax = NonNullable<InvoiceBody['Taxes']>[number]

/** Compares a tax. Rule: category and reason count only where they are sent, since older programs know name and rate alone. */
const isSameTax = (sent: SentTax, tax: InvoiceParts['taxes'][number]): boolean =>
  tax.name === sent.Name &&
  equals(tax.rate, sent.Perc) &&
  (sent.Category == null || sent.Category === tax.category) &&
  (sent.ReasonCode == null || sent.ReasonCode === tax.reasonCode) &&
  (sent.Reason == null || isSameReason(sent.Reason, tax.reason))

/** Compares reasons without regard to the order of their languages. */
const isSameReason = (sent: TaxReason, stored: TaxReason | null): boolean =>
  stored !== null &&
  Object.keys(sent).length === Object.keys(stored).length &&
  Object.entries(sent).every(([language, sentence]) => stored[language] === sentence)

export const hasSameTaxes = (
  sent: NonNullable<InvoiceBody['Taxes']>,
  { taxes }: Pick<InvoiceParts, 'taxes'>,
): boolean => sent.length === taxes.length && taxes.every((tax, index) => isSameTax(sent[index]!, tax))

export const hasSameLines = (sent: InvoiceBody['Charges'], { charges }: Pick<InvoiceParts, 'charges'>): boolean =>
  sent.length === charges.length &&
  charges.every((charge, index) => {
    const line = lineOf(sent[index]!)
    return (
      line.name === charge.name &&
      line.description === charge.description &&
      equals(line.quantity, charge.quantity) &&
      equals(line.unitPrice, charge.unitPrice)
    )
  })
