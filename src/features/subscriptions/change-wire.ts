import { addDays } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { date, flag, longText, reference, text, whole } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  described,
  objectOf,
  optional,
  type Properties,
  required,
  requiredOrNull,
  word,
} from '../../platform/wire/read.ts'
import {
  decimalDigits,
  minorDigits,
  orNull,
  outDate,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { Moment, Writing } from '../../kernel/context.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { DAYS_MAX } from '../packages/wire.ts'
import { UNTOUCHED } from '../invoices/queries.ts'
import { type InvoiceParts, invoicePreviewShape, invoiceShape } from '../invoices/wire.ts'
import type { MadeCreditNote } from '../money/credit-notes.ts'
import { answeredBeside, type PresentedSubscription, subscriptionShape, TERM_TYPES } from './wire.ts'

const changeInputs = {
  packageID: optional(reference()),
  packageCode: optional(text({ takesNumbers: true })),
  packageVersionID: optional(reference()),
  packageVersionNumber: optional(whole(1, 2_147_483_647), 'PackageVersionNumber'),
  packageRateTermID: optional(reference()),
  Term: optional(described(whole(1, DAYS_MAX), 'Given together with TermType')),
  TermType: optional(word(TERM_TYPES)),
  When: optional(word(['renewal', 'now'] as const, { anyCase: true })),
} satisfies Properties

export const ChangePackageIn = objectOf(changeInputs, { name: 'SubscriptionChange' })
export type ChangeBody = BodyOf<typeof changeInputs>

export const ChangeStartDateIn = objectOf({ StartDate: required(date()) }, { name: 'SubscriptionStart' })
export const ChangeEndDateIn = objectOf({ EndDate: requiredOrNull(date()) }, { name: 'SubscriptionEnd' })
export const ReactivateIn = objectOf(
  { StartDate: optional(date()), EndDate: optional(date()) },
  { name: 'SubscriptionReactivation' },
)
export const CancelIn = objectOf({ Reason: optional(longText()) }, { name: 'SubscriptionCancellation' })
export const PreviewQuery = objectOf({ preview: optional(flag()) })

const detailInputs = {
  numDaysBeforeToInv: optional(whole(0, 90)),
  poNumber: optional(text({ takesNumbers: true })),
  Reference: optional(text({ takesNumbers: true })),
  CollectionMethod: optional(word(COLLECTION_METHODS)),
  gatewayID: optional(reference()),
  customerPaymentMethodID: optional(reference()),
} satisfies Properties

export const SubscriptionDetailsIn = objectOf(detailInputs, {
  name: 'SubscriptionEdit',
  ignored: answeredBeside(detailInputs),
})
export type DetailsBody = BodyOf<typeof detailInputs>

const day = () => outDate('Calendar date')

/** Shape of a credit note that a change would make: it has no identifier and no number. */
const CreditNotePreviewOut = outObject(
  {
    creditNoteID: orNull(outId()),
    CreditNumber: orNull(outText()),
    invoiceID: outId('The invoice that is credited'),
    Date: day(),
    CurrencyCode: outText(),
    Amount: outNumber(),
    Net: outNumber(),
    Memo: outText(),
    Lines: outList(
      outObject({
        chargeID: outId(),
        Line: outText(),
        From: orNull(day()),
        To: orNull(outDate('Last unused day')),
        AmountEx: outNumber(),
      }),
    ),
    Taxes: outList(outObject({ Name: outText(), Perc: outNumber(), Amount: outNumber() })),
  },
  'CreditNotePreview',
)

/** Shape of the preview of a change: the invoices and credit notes that it would make. */
export const ChangePreviewOut = outObject(
  { Invoices: { schema: invoicePreviewShape.list.schema, write: String }, CreditNotes: outList(CreditNotePreviewOut) },
  'ChangePreview',
)

/** Shape of what a change has made: the documents of its preview with their identifiers, and the subscription as it is now. */
export const ChangeMadeOut = outObject(
  {
    Invoices: { schema: invoiceShape.list.schema, write: String },
    CreditNotes: outList(CreditNotePreviewOut),
    Subscription: { schema: subscriptionShape.schema, write: String },
  },
  'ChangeMade',
)

interface Made {
  invoices: readonly InvoiceParts[]
  creditNotes: readonly MadeCreditNote[]
  currency: string
}

type Clock = Pick<Moment, 'today'> & { timeZone: string }

/**
 * Returns the preview of a change from the documents that a trial run of it made. They are shown without identifiers and numbers, and as if
 * nothing had been applied to them.
 */
export const changePreviewToWire = (made: Made, clock: Clock): ShapeOf<typeof ChangePreviewOut> => ({
  Invoices: invoicePreviewShape.list.write(
    made.invoices.map((parts) => ({
      ...parts,
      applied: [],
      invoice: { ...parts.invoice, isDraft: true, ...UNTOUCHED },
    })),
    clock,
  ),
  CreditNotes: made.creditNotes.map((note) => ({
    ...creditNoteToWire(note, made.currency, clock),
    creditNoteID: null,
    CreditNumber: null,
  })),
})

export const changeMadeToWire = (
  made: Made,
  subscription: PresentedSubscription,
  writing: Writing,
): ShapeOf<typeof ChangeMadeOut> => ({
  Invoices: invoiceShape.list.write(made.invoices, writing),
  CreditNotes: made.creditNotes.map((note) => creditNoteToWire(note, made.currency, writing)),
  Subscription: subscriptionShape.write(subscription, writing),
})

function creditNoteToWire({ id, number, planned, memo }: MadeCreditNote, currency: string, clock: Clock) {
  const digits = digitsOf(currency)
  const shown = (value: string | null) => (value === null ? null : dateWithOffset(value, clock.timeZone))
  return {
    creditNoteID: id,
    CreditNumber: number,
    invoiceID: planned.invoiceId,
    Date: dateWithOffset(clock.today, clock.timeZone),
    CurrencyCode: currency,
    Amount: minorDigits(planned.totalMinor, digits),
    Net: minorDigits(planned.netMinor, digits),
    Memo: memo,
    Lines: planned.lines.map((line) => ({
      chargeID: line.chargeId,
      Line: line.name,
      From: shown(line.from),
      To: shown(line.until === null ? null : addDays(line.until, -1)),
      AmountEx: minorDigits(line.netMinor, digits),
    })),
    Taxes: planned.taxes.map((tax) => ({
      Name: tax.name,
      Perc: decimalDigits(tax.rate),
      Amount: minorDigits(tax.amountMinor, digits),
    })),
  }
}
