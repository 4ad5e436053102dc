import { filter, LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
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
  outInstant,
  outInteger,
  outNumber,
  outObject,
  outText,
  outWord,
} from '../../platform/wire/write.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { chargeInputs, chargesIn, collectionIn, taxesIn, taxInputs } from '../invoices/manual-wire.ts'
import type { LineAmounts } from '../invoices/lines.ts'
import { DAYS_MAX, TERM_TYPES } from '../packages/wire.ts'
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
  recurringinvoiceTaxID: [outId(identifies('tax of the recurring invoice')), (tax) => tax.id],
  recurringinvoiceID: [outId(identifies('recurring invoice')), (tax) => tax.recurringInvoiceId],
  Name: [outText(SHARED.TaxName), (tax) => tax.name],
  Perc: [outNumber(SHARED.PercAnswered), (tax) => decimalDigits(tax.rate)],
  Category: [orNull(outWord(TAX_CATEGORIES, SHARED.Category)), (tax) => tax.category],
  ReasonCode: [orNull(outText(SHARED.ReasonCode)), (tax) => tax.reasonCode],
  Reason: [orNull(outTaxReason()), (tax) => tax.reason],
})

const chargeShape = recordShape<ShownCharge>()(undefined, {
  recurInvoiceChargeID: [outId(identifies('line of the recurring invoice')), (charge) => charge.id],
  recurInvoiceID: [outId(identifies('recurring invoice')), (charge) => charge.recurringInvoiceId],
  Line: [orNull(outText(SHARED.LineName)), (charge) => charge.name],
  Descrip: [orNull(outText('The longer text of the line.')), (charge) => charge.description],
  Qty: [outNumber('The quantity of the line.'), (charge) => decimalDigits(charge.quantity)],
  UnitCostEx: [outNumber('Excluding tax'), (charge) => decimalDigits(charge.unitPrice)],
  AmountEx: amountColumn(({ amounts, index }) => amounts.netMinor[index]!, 'UnitCostEx × Qty, rounded'),
  AmountInc: amountColumn(
    ({ amounts, index }) => amounts.grossMinor[index]!,
    'AmountEx and its taxes: its own, else those that match today',
  ),
  DisplayOrder: [outInteger('The place of the line on the document.'), ({ index }) => index + 1],
})

/** The record of the event that a recurring invoice has expired. */
export const RecurringExpiredOut = outObject({
  recurInvoiceID: outId(),
  EndDate: orNull(outDate()),
  isExpired: outFlag(),
})

export const recurringShape = recordShape<ShownRecurring>()('RecurringInvoice', {
  recurInvoiceID: [outId(identifies('recurring invoice')), ({ recurring: r }) => r.id],
  customerID: [outId(identifies('customer')), ({ recurring: r }) => r.customerId],
  CurrencyCode: [outText(SHARED.CurrencyCode), ({ recurring: r }) => r.currency],
  Reference: [outText(SHARED.Reference), ({ recurring: r }) => r.reference],
  Term: [outInteger(SHARED.Term), ({ recurring: r }) => r.term],
  TermType: [outWord(TERM_TYPES, SHARED.TermType), ({ recurring: r }) => r.termType],
  StartDate: dayColumn(({ recurring: r }) => r.startDate, 'The day on which it begins.'),
  EndDate: optionalDayColumn(
    ({ recurring: r }) => r.endDate,
    'The day on which it ends, which is not billed any more; null where it goes on.',
  ),
  lastInvDate: optionalDayColumn(
    ({ recurring: r }) => r.lastInvoiceDate,
    'The day of its newest invoice; null before the first.',
  ),
  lastRenewDate: optionalDayColumn(
    ({ recurring: r }) => r.lastFrom,
    'The day on which the present term began; null before the first.',
  ),
  nextRenewDate: optionalDayColumn(
    ({ recurring: r }, { today }) => nextRenewal(r, today),
    'The day on which the next term begins; null where none does.',
  ),
  isExpired: [
    outFlag('Whether the record has come to its end.'),
    ({ recurring: r }, { today }) => recurringStatusOf(r, today) === 'Expired',
  ],
  isCancelled: [
    outFlag(SHARED.isCancelled),
    ({ recurring: r }, { today }) => recurringStatusOf(r, today) === 'Cancelled',
  ],
  numDaysBeforeToInv: [outInteger(SHARED.numDaysBeforeToInv), ({ recurring: r }) => r.leadDays],
  LastModified: [outInstant(SHARED.LastUpdated), ({ recurring: r }) => r.lastModified],
  SuspendedDate: [
    orNull(outDate('Instant: since when its customer is suspended')),
    ({ recurring: r }) => r.suspendedAt,
  ],
  comp_Status: [
    outWord(STATUSES, 'The state of the recurring invoice.'),
    ({ recurring: r }, { today }) => recurringStatusOf(r, today),
  ],
  CollectionMethod: [
    orNull(outWord(COLLECTION_METHODS, 'The way in which its invoices are collected; null: as the customer pays.')),
    ({ recurring: r }) => r.collectionMethod,
  ],
  gatewayID: [orNull(outId(identifies('gateway'))), ({ recurring: r }) => r.gatewayId],
  customerPaymentMethodID: [orNull(outId(identifies('payment method'))), ({ recurring: r }) => r.paymentMethodId],
  InvoiceTerms: [orNull(outText('The terms of payment that stand on its invoices.')), ({ recurring: r }) => r.terms],
  InvoiceNotes: [orNull(outText('The notes that stand on its invoices.')), ({ recurring: r }) => r.notes],
  Taxes: [
    described(orNull({ schema: taxShape.list.schema, write: String }), SHARED.Taxes),
    ({ recurring: r, taxes }, writing) => (r.hasOwnTaxes ? taxShape.list.write(taxes, writing) : null),
  ],
  RecurInvoiceCharges: recordsColumn(chargeShape, chargesOf, 'The lines of each of its invoices.'),
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
  customerID: required(requiredReference(), identifies('customer')),
  RecurInvoiceCharges: required(chargesIn(), 'The lines of each of its invoices.', ['RecurInvoiceCharge']),
  CurrencyCode: optional(
    currencyCode(),
    SHARED.CurrencyCode,
    'Left out, it is that of the customer; an edit leaves it as it is.',
  ),
  Reference: optional(text(), SHARED.Reference, LEFT_OUT.given, ['reference']),
  Term: optional(whole(1, DAYS_MAX), SHARED.Term, 'Left out, it is 1; an edit leaves it as it is.'),
  TermType: optional(word(TERM_TYPES), SHARED.TermType, 'Left out, it is `months`; an edit leaves it as it is.'),
  StartDate: optional(date(), 'The day on which it begins.', 'Left out, it is today; an edit leaves it as it is.'),
  EndDate: optional(
    date(),
    'The day on which it ends, which is not billed any more; null where it goes on.',
    LEFT_OUT.endless,
  ),
  numDaysBeforeToInv: optional(whole(0, LEAD_DAYS_MAX), SHARED.numDaysBeforeToInv, LEFT_OUT.ofAccount),
  ...collectionIn,
  InvoiceTerms: optional(longText(), 'The terms of payment that stand on its invoices.', LEFT_OUT.ofAccount),
  InvoiceNotes: optional(longText(), 'The notes that stand on its invoices.', LEFT_OUT.ofAccount),
  Taxes: optional(
    taxesIn(),
    'The taxes of all its lines; an empty list means none.',
    'Left out, the tax settings decide for each invoice.',
  ),
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
  Reference: filter(text({ takesNumbers: true }), 'records with this reference of yours'),
  comp_Status: filter(word(STATUSES, { anyCase: true }), 'records in this state', ['comp_status']),
} satisfies Properties
