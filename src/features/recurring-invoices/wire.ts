import { nextRecurringRenewal, resumeRecurring } from '../../engine/recurring.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { listQuery } from '../../platform/http/query.ts'
import { currencyCode, date, longText, requiredReference, text, whole } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required, word } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  minorDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import { chargesIn, collectionIn, taxesIn } from '../invoices/manual-wire.ts'
import type { LineAmounts } from '../invoices/lines.ts'
import { COLLECTION_METHODS } from '../invoices/check-collection.ts'
import { DAYS_MAX } from '../packages/wire.ts'
import { TERM_TYPES } from '../subscriptions/wire.ts'
import { cursorOf, statusOf, termsOf } from './facts.ts'
import type { Loaded } from './load.ts'
import type { RecurringInvoice } from './queries.ts'

const STATUSES = ['Active', 'Future', 'Cancelled', 'Expired'] as const
const LEAD_DAYS_MAX = 90

const day = () => outDate('Calendar date')

export const RecurringOut = outObject(
  {
    recurInvoiceID: outId(),
    customerID: outId(),
    CurrencyCode: outText(),
    Reference: outText(),
    Term: outInteger(),
    TermType: outWord(TERM_TYPES),
    StartDate: day(),
    EndDate: orNull(day()),
    lastInvDate: orNull(day()),
    lastRenewDate: orNull(day()),
    nextRenewDate: orNull(day()),
    isExpired: outFlag(),
    isCancelled: outFlag(),
    numDaysBeforeToInv: outInteger(),
    LastModified: outDate('Instant'),
    SuspendedDate: orNull(outDate('Instant: since when its customer is suspended')),
    comp_Status: outWord(STATUSES),
    CollectionMethod: orNull(outWord(COLLECTION_METHODS)),
    gatewayID: orNull(outId()),
    customerPaymentMethodID: orNull(outId()),
    InvoiceTerms: orNull(outText()),
    InvoiceNotes: orNull(outText()),
    Taxes: orNull(
      outList(
        outObject({
          recurringinvoiceTaxID: outId(),
          recurringinvoiceID: outId(),
          Name: outText(),
          Perc: outNumber('A fraction from 0 to 1'),
        }),
      ),
    ),
    RecurInvoiceCharges: outList(
      outObject({
        recurInvoiceChargeID: outId(),
        recurInvoiceID: outId(),
        Line: orNull(outText()),
        Descrip: orNull(outText()),
        Qty: outNumber(),
        UnitCostEx: outNumber('Excluding tax'),
        AmountEx: outNumber('UnitCostEx × Qty, rounded'),
        AmountInc: outNumber('AmountEx and its taxes: its own, else those that match today'),
        DisplayOrder: outInteger(),
      }),
    ),
  },
  'RecurringInvoice',
)
export const RecurringsOut = outList(RecurringOut)

/**
 * Returns the start of the next period that will be invoiced; null once the recurring invoice has ended. While its customer is not billed,
 * this is the period at which it would resume today.
 */
function nextRenewal(r: RecurringInvoice, status: string, today: IsoDate): IsoDate | null {
  if (status === 'Cancelled' || status === 'Expired') return null
  const terms = termsOf(r)
  return nextRecurringRenewal(terms, r.pausedOn === null ? cursorOf(r) : resumeRecurring(terms, cursorOf(r), today))
}

export function recurringToWire(
  { recurring: r, charges, taxes }: Loaded,
  amounts: LineAmounts,
  { timeZone, today }: { timeZone: string; today: IsoDate },
): ShapeOf<typeof RecurringOut> {
  const shown = (value: IsoDate) => dateWithOffset(value, timeZone)
  const shownOrNull = (value: IsoDate | null) => (value === null ? null : shown(value))
  const digits = digitsOf(r.currency)
  const status = statusOf(r, today)
  return {
    recurInvoiceID: r.id,
    customerID: r.customerId,
    CurrencyCode: r.currency,
    Reference: r.reference,
    Term: r.term,
    TermType: r.termType,
    StartDate: shown(r.startDate),
    EndDate: shownOrNull(r.endDate),
    lastInvDate: shownOrNull(r.lastInvoiceDate),
    lastRenewDate: shownOrNull(r.lastFrom),
    nextRenewDate: shownOrNull(nextRenewal(r, status, today)),
    isExpired: status === 'Expired',
    isCancelled: status === 'Cancelled',
    numDaysBeforeToInv: r.leadDays,
    LastModified: r.lastModified,
    SuspendedDate: r.suspendedAt,
    comp_Status: status,
    CollectionMethod: r.collectionMethod,
    gatewayID: r.gatewayId,
    customerPaymentMethodID: r.paymentMethodId,
    InvoiceTerms: r.terms,
    InvoiceNotes: r.notes,
    Taxes: r.hasOwnTaxes
      ? taxes.map(({ id, name, rate }) => ({
          recurringinvoiceTaxID: id,
          recurringinvoiceID: r.id,
          Name: name,
          Perc: decimalDigits(rate),
        }))
      : null,
    RecurInvoiceCharges: charges.map((charge, index) => ({
      recurInvoiceChargeID: charge.id,
      recurInvoiceID: r.id,
      Line: charge.name,
      Descrip: charge.description,
      Qty: decimalDigits(charge.quantity),
      UnitCostEx: decimalDigits(charge.unitPrice),
      AmountEx: minorDigits(amounts.netMinor[index] ?? 0n, digits),
      AmountInc: minorDigits(amounts.grossMinor[index] ?? 0n, digits),
      DisplayOrder: index + 1,
    })),
  }
}

/** Returns the ETag, which changes with everything that a PUT would replace, and with a cancellation. */
export const recurringEtag = ({ recurring: r, charges, taxes }: Loaded): string =>
  etagOf(
    r.id,
    r.customerId,
    r.reference,
    r.currency,
    r.term,
    r.termType,
    r.startDate,
    r.endDate,
    r.leadDays,
    r.collectionMethod,
    r.gatewayId,
    r.paymentMethodId,
    r.notes,
    r.terms,
    r.cancelledOn,
    r.hasOwnTaxes,
    charges.map(({ name, description, quantity, unitPrice }) => [name, description, quantity, unitPrice]),
    taxes.map(({ name, rate }) => [name, rate]),
  )

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

export const RecurringQuery = listQuery({})
