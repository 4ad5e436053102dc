import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { date, flag, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, listOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import { positiveAmount } from '../money/allocation-wire.ts'

/** Body of a credit of an invoice. */

/** An invoice by hand has no more lines. */
const LINES_MAX = 1000

const line = {
  chargeID: required(requiredReference(), identifies('charge, a line of an invoice')),
  AmountEx: required(positiveAmount(), SHARED.AmountEx),
} satisfies Properties

const refund = {
  Ref: required(text(), 'A reference of your own for the refund, as the number of the transfer.'),
  Date: optional(
    described(date(), 'Default: the Date of the credit note; not before the InvoiceDate, not after today'),
  ),
  Memo: optional(longText(), 'A note of your own for the refund.', LEFT_OUT.none),
} satisfies Properties

const credit = {
  Amount: leftOut(
    optional(described(positiveAmount(), 'Gross amount; exactly one of Amount, Lines and isWhole is sent')),
    'Left out, Lines or isWhole says what is credited.',
  ),
  Lines: leftOut(
    optional(
      described(
        listOf(objectOf(line, { name: 'InvoiceCreditLine' }), { min: 1, max: LINES_MAX, what: 'lines' }),
        'Net amounts of lines of the invoice; their taxes come on top',
      ),
    ),
    'Left out, Amount or isWhole says what is credited.',
  ),
  isWhole: leftOut(
    optional(described(flag(), 'Credits all that can be credited')),
    'Left out, Amount or Lines says what is credited.',
  ),
  Reason: required(text({ description: 'Why it is credited, as the document shows it' })),
  Date: optional(described(date(), 'Default: today; not before the InvoiceDate, not after today')),
  CreditNumber: optional(text({ description: 'Default: CN- and the next number of the account' })),
  Memo: optional(longText(), SHARED.Memo, LEFT_OUT.none),
  AutoApply: leftOut(
    optional(described(flag(), 'What the invoice does not take goes on to other open invoices'), undefined, undefined, [
      'isAutoApply',
    ]),
    LEFT_OUT.false,
  ),
  isFreePayments: leftOut(
    optional(described(flag(), 'Payments of the invoice give way, the newest first, and can then be refunded')),
    LEFT_OUT.false,
  ),
  Refund: optional(
    described(
      objectOf(refund, { name: 'InvoiceCreditRefund' }),
      'What is left of the note becomes a refund: money that was handed over already. Not with isFreePayments or AutoApply',
    ),
    'Money that was handed over for the note already: what is left of it becomes a refund adjustment. Not with isFreePayments or AutoApply.',
    'Left out, what is left waits unallocated.',
  ),
} satisfies Properties

export const InvoiceCreditIn = objectOf(credit, { name: 'InvoiceCreditInput', ignored: ['invoiceNum'] })
export type InvoiceCreditBody = BodyOf<typeof credit>
