import { equals } from '../../kernel/decimal.ts'
import type { InvoiceBody } from './manual-wire.ts'
import { lineOf } from './lines.ts'
import type { InvoiceParts } from './wire.ts'

/** Whether what was sent is what there is: records are read, changed in one place and sent back. */

export const hasSameTaxes = (
  sent: NonNullable<InvoiceBody['Taxes']>,
  { taxes }: Pick<InvoiceParts, 'taxes'>,
): boolean =>
  sent.length === taxes.length &&
  taxes.every((tax, index) => tax.name === sent[index]?.Name && equals(tax.rate, sent[index].Perc))

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
