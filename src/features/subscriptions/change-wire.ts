import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { addDays } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { date, flag, longText, reference, text, whole } from '../../platform/wire/fields.ts'
import {
  type BodyOf,
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
  outDay,
  outId,
  outList,
  outNumber,
  outObject,
  outText,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import type { Moment, Writing } from '../../kernel/context.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { DAYS_MAX, TERM_TYPES } from '../packages/wire.ts'
import { UNTOUCHED } from '../invoices/queries.ts'
import { type InvoiceParts, invoicePreviewShape, invoiceShape } from '../invoices/wire.ts'
import type { MadeCreditNote } from '../money/credit-notes.ts'
import { answeredBeside, type PresentedSubscription, subscriptionShape } from './wire.ts'

const changeInputs = {
  packageID: optional(
    reference(),
    identifies('package'),
    'Left out, packageVersionID or packageRateTermID names it, else the package stays.',
  ),
  packageCode: optional(
    text({ takesNumbers: true }),
    SHARED.packageCode,
    'Left out, packageID or a version or rate term names it, else the package stays.',
  ),
  packageVersionID: optional(
    reference(),
    identifies('package version'),
    'Left out, packageVersionNumber names the version, else it is the default one.',
  ),
  packageVersionNumber: optional(
    whole(1, 2_147_483_647),
    'The number of the package version that is taken.',
    'Left out, packageVersionID names the version, else it is the default one.',
    ['PackageVersionNumber'],
  ),
  packageRateTermID: optional(
    reference(),
    identifies('price of one term'),
    'Left out, Term and TermType choose among the terms.',
  ),
  Term: optional(
    described(whole(1, DAYS_MAX), 'Given together with TermType'),
    SHARED.Term,
    'Left out, packageRateTermID chooses among the terms.',
  ),
  TermType: optional(word(TERM_TYPES), SHARED.TermType, 'Left out with Term.'),
  When: optional(
    word(['renewal', 'now'] as const, { anyCase: true }),
    'Whether the change takes effect now or at the next renewal.',
    'Left out, it is `renewal`.',
  ),
} satisfies Properties

export const ChangePackageIn = objectOf(changeInputs, { name: 'SubscriptionChange' })
export type ChangeBody = BodyOf<typeof changeInputs>

export const ChangeStartDateIn = objectOf(
  { StartDate: required(date(), 'The new first day that is billed.') },
  { name: 'SubscriptionStart' },
)
export const ChangeEndDateIn = objectOf(
  { EndDate: requiredOrNull(date(), 'The first day that is not billed any more; null lets it go on.') },
  { name: 'SubscriptionEnd' },
)
export const ReactivateIn = objectOf(
  {
    StartDate: optional(
      date(),
      'The day on which it starts again.',
      'Left out, it is today; not taken where only a pending cancellation is dropped.',
    ),
    EndDate: optional(date(), 'The day on which it ends again.', LEFT_OUT.endless),
  },
  { name: 'SubscriptionReactivation' },
)
export const CancelIn = objectOf(
  {
    Reason: optional(longText(), 'Why it is cancelled; the subscription answers it as CancelReason.', LEFT_OUT.none),
  },
  { name: 'SubscriptionCancellation' },
)
export const PreviewQuery = objectOf({
  preview: optional(flag(), 'With true nothing is changed, and the answer shows what would be.'),
})

const detailInputs = {
  numDaysBeforeToInv: optional(
    whole(0, 90),
    SHARED.numDaysBeforeToInv,
    'Left out, it stays as it is; null takes those of the account.',
  ),
  poNumber: optional(
    text({ takesNumbers: true }),
    'The purchase order number of the customer; it stands on the invoice.',
    LEFT_OUT.keptOrCleared,
  ),
  Reference: optional(text({ takesNumbers: true }), SHARED.Reference, LEFT_OUT.keptOrCleared),
  CollectionMethod: optional(
    word(COLLECTION_METHODS),
    'The way in which its invoices are collected.',
    LEFT_OUT.keptOrCleared,
  ),
  gatewayID: optional(reference(), identifies('gateway'), LEFT_OUT.keptOrCleared),
  customerPaymentMethodID: optional(reference(), identifies('payment method'), LEFT_OUT.keptOrCleared),
} satisfies Properties

export const SubscriptionDetailsIn = objectOf(detailInputs, {
  name: 'SubscriptionEdit',
  ignored: answeredBeside(detailInputs),
})
export type DetailsBody = BodyOf<typeof detailInputs>

const day = () => outDay()

/** Shape of a credit note that a change would make: it has no identifier and no number. */
const CreditNotePreviewOut = outObject(
  {
    creditNoteID: orNull(outId(identifies('credit note'))),
    CreditNumber: orNull(outText(SHARED.CreditNumber)),
    invoiceID: outId('The invoice that is credited'),
    Date: described(day(), 'The day of the note.'),
    CurrencyCode: outText(SHARED.CurrencyCode),
    Amount: outNumber(SHARED.NoteAmount),
    Net: outNumber('The amount without taxes.'),
    Memo: outText('Why the note would be made, as it is printed.'),
    Lines: outList(
      outObject({
        chargeID: outId(identifies('charge, a line of an invoice')),
        Line: outText(SHARED.LineName),
        From: described(orNull(day()), 'The first day that is given back; null for a line without days.'),
        To: orNull(outDate('Last unused day')),
        AmountEx: outNumber(SHARED.AmountEx),
      }),
      'The lines that would be given back.',
    ),
    Taxes: outList(
      outObject({
        Name: outText(SHARED.TaxName),
        Perc: outNumber(SHARED.Perc),
        Amount: outNumber('What is given back of the tax.'),
      }),
      SHARED.Taxes,
    ),
  },
  'CreditNotePreview',
)

/** Shape of the preview of a change: the invoices and credit notes that it would make. */
export const ChangePreviewOut = outObject(
  {
    Invoices: described(
      { schema: invoicePreviewShape.list.schema, write: String },
      'The invoices that the change would make.',
    ),
    CreditNotes: outList(CreditNotePreviewOut, 'The credit notes that the change would make.'),
  },
  'ChangePreview',
)

/** Shape of what a change has made: the documents of its preview with their identifiers, and the subscription as it is now. */
export const ChangeMadeOut = outObject(
  {
    Invoices: described({ schema: invoiceShape.list.schema, write: String }, 'The invoices that the change has made.'),
    CreditNotes: outList(CreditNotePreviewOut, 'The credit notes that the change has made.'),
    Subscription: described(
      { schema: subscriptionShape.schema, write: String },
      'The subscription as it is after the change.',
    ),
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
