import { nextRecurringRenewal, resumeRecurring } from '../../engine/recurring.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { amountColumn, dayColumn, optionalDayColumn, recordsColumn, recordShape } from '../../platform/wire/columns.ts'
import { currencyCode, date, longText, requiredReference, text, whole } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  namesOfInputs,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import { outTaxReason } from '../../platform/wire/tax-reason.ts'
import {
  decimalDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { chargeInputs, chargesIn, collectionIn, taxesIn, taxInputs } from '../invoices/manual-wire.ts'
import type { LineAmounts } from '../invoices/lines.ts'
import { DAYS_MAX } from '../packages/wire.ts'
import { TERM_TYPES } from '../subscriptions/wire.ts'
import { recurringCursorOf, recurringStatusOf, recurringTermsOf } from './facts.ts'
import type { Loaded } from './load.ts'
import type { RecurringCharge, RecurringInvoice, RecurringTax } from './queries.ts'

const STATUSES = ['Active', 'Future', 'Cancelled', 'Expired'] as const
const LEAD_DAYS_MAX = 90

/** A recurring invoice as answers show it: with its amounts by the tax rules of today. */
export interface ShownRecurring extends Loaded {
  amounts: LineAmounts
}

interface ShownCharge extends RecurringCharge {
  index: number
  currency: string
  amounts: LineAmounts
}

const chargesOf = ({ recurring: { currency }, charges, amounts }: ShownRecurring): ShownCharge[] =>
  charges.map((charge, index) => ({ ...charge, index, currency, amounts }))

const taxShape = recordShape<RecurringTax>()(undefined, {
  recurringinvoiceTaxID: [outId(), (tax) => tax.id],
  recurringinvoiceID: [outId(), (tax) => tax.recurringInvoiceId],
  Name: [outText(), (tax) => tax.name],
  Perc: [outNumber('A fraction from 0 to 1'), (tax) => decimalDigits(tax.rate)],
  Category: [orNull(outWord(TAX_CATEGORIES)), (tax) => tax.category],
  ReasonCode: [orNull(outText()), (tax) => tax.reasonCode],
  Reason: [orNull(outTaxReason()), (tax) => tax.reason],
})

const chargeShape = recordShape<ShownCharge>()(undefined, {
  recurInvoiceChargeID: [outId(), (charge) => charge.id],
  recurInvoiceID: [outId(), (charge) => charge.recurringInvoiceId],
  Line: [orNull(outText()), (charge) => charge.name],
  Descrip: [orNull(outText()), (charge) => charge.description],
  Qty: [outNumber(), (charge) => decimalDigits(charge.quantity)],
  UnitCostEx: [outNumber('Excluding tax'), (charge) => decimalDigits(charge.unitPrice)],
  AmountEx: amountColumn(({ amounts, index }) => amounts.netMinor[index]!, 'UnitCostEx × Qty, rounded'),
  AmountInc: amountColumn(
    ({ amounts, index }) => amounts.grossMinor[index]!,
    'AmountEx and its taxes: its own, else those that match today',
  ),
  DisplayOrder: [outInteger(), ({ index }) => index + 1],
})

/** The record of the event that a recurring invoice has expired. */
export const RecurringExpiredOut = outObject({
  recurInvoiceID: outId(),
  EndDate: orNull(outDate()),
  isExpired: outFlag(),
})

export const recurringShape = recordShape<ShownRecurring>()('RecurringInvoice', {
  recurInvoiceID: [outId(), ({ recurring: r }) => r.id],
  customerID: [outId(), ({ recurring: r }) => r.customerId],
  CurrencyCode: [outText(), ({ recurring: r }) => r.currency],
  Reference: [outText(), ({ recurring: r }) => r.reference],
  Term: [outInteger(), ({ recurring: r }) => r.term],
  TermType: [outWord(TERM_TYPES), ({ recurring: r }) => r.termType],
  StartDate: dayColumn(({ recurring: r }) => r.startDate),
  EndDate: optionalDayColumn(({ recurring: r }) => r.endDate),
  lastInvDate: optionalDayColumn(({ recurring: r }) => r.lastInvoiceDate),
  lastRenewDate: optionalDayColumn(({ recurring: r }) => r.lastFrom),
  nextRenewDate: optionalDayColumn(({ recurring: r }, { today }) => nextRenewal(r, today)),
  isExpired: [outFlag(), ({ recurring: r }, { today }) => recurringStatusOf(r, today) === 'Expired'],
  isCancelled: [outFlag(), ({ recurring: r }, { today }) => recurringStatusOf(r, today) === 'Cancelled'],
  numDaysBeforeToInv: [outInteger(), ({ recurring: r }) => r.leadDays],
  LastModified: [outDate('Instant'), ({ recurring: r }) => r.lastModified],
  SuspendedDate: [
    orNull(outDate('Instant: since when its customer is suspended')),
    ({ recurring: r }) => r.suspendedAt,
  ],
  comp_Status: [outWord(STATUSES), ({ recurring: r }, { today }) => recurringStatusOf(r, today)],
  CollectionMethod: [orNull(outWord(COLLECTION_METHODS)), ({ recurring: r }) => r.collectionMethod],
  gatewayID: [orNull(outId()), ({ recurring: r }) => r.gatewayId],
  customerPaymentMethodID: [orNull(outId()), ({ recurring: r }) => r.paymentMethodId],
  InvoiceTerms: [orNull(outText()), ({ recurring: r }) => r.terms],
  InvoiceNotes: [orNull(outText()), ({ recurring: r }) => r.notes],
  Taxes: [
    orNull({ schema: taxShape.list.schema, write: String }),
    ({ recurring: r, taxes }, writing) => (r.hasOwnTaxes ? taxShape.list.write(taxes, writing) : null),
  ],
  RecurInvoiceCharges: recordsColumn(chargeShape, chargesOf),
})

/**
 * Returns the start of the next period that will be invoiced; null once the recurring invoice has ended. While its customer is not billed,
 * this is the period at which it would resume today.
 */
function nextRenewal(r: RecurringInvoice, today: IsoDate): IsoDate | null {
  const status = recurringStatusOf(r, today)
  if (status === 'Cancelled' || status === 'Expired') return null
  const terms = recurringTermsOf(r)
  return nextRecurringRenewal(
    terms,
    r.pausedOn === null ? recurringCursorOf(r) : resumeRecurring(terms, recurringCursorOf(r), today),
  )
}

const inputs = {
  customerID: required(requiredReference()),
  RecurInvoiceCharges: required(chargesIn(), 'RecurInvoiceCharge'),
  CurrencyCode: optional(currencyCode()),
  Reference: optional(text(), 'reference'),
  Term: optional(whole(1, DAYS_MAX)),
  TermType: optional(word(TERM_TYPES)),
  StartDate: optional(date()),
  EndDate: optional(date()),
  numDaysBeforeToInv: optional(whole(0, LEAD_DAYS_MAX)),
  ...collectionIn,
  InvoiceTerms: optional(longText()),
  InvoiceNotes: optional(longText()),
  Taxes: optional(taxesIn()),
} satisfies Properties

const COMPUTED = [
  'recurInvoiceID',
  'lastInvDate',
  'lastRenewDate',
  'nextRenewDate',
  'isExpired',
  'isCancelled',
  'LastModified',
  'SuspendedDate',
  'comp_Status',
]

export const RecurringIn = objectOf(inputs, { name: 'RecurringInvoiceInput', ignored: COMPUTED })
export type RecurringBody = BodyOf<typeof inputs>

const textOfSet = recurringShape.writerOf(namesOfInputs(inputs, 'RecurInvoiceCharges', 'Taxes'))
const textOfCharge = chargeShape.writerOf(namesOfInputs(chargeInputs))
const textOfTax = taxShape.writerOf(namesOfInputs(taxInputs))

/** Returns the ETag, which changes with everything that a PUT would replace, and with a cancellation. */
export const recurringEtag = (row: ShownRecurring): string =>
  etagOf(
    row.recurring.id,
    row.recurring.cancelledOn,
    row.recurring.hasOwnTaxes,
    textOfSet(row),
    chargesOf(row).map(textOfCharge),
    row.taxes.map(textOfTax),
  )

export const recurringFilters = {
  Reference: optional(text({ takesNumbers: true })),
  comp_Status: optional(word(STATUSES, { anyCase: true }), 'comp_status'),
} satisfies Properties
