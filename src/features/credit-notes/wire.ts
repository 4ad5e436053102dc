import { LEFT_OUT, whenLeftOut } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { type CreditExplanation, explainCredit } from '../../engine/explain.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { amountIn } from '../../platform/wire/amounts.ts'
import { currencyCode, date, flag, longText, requiredReference, text } from '../../platform/wire/fields.ts'
import { type BodyOf, objectOf, optional, type Properties, required } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  minorDigits,
  orNull,
  outDate,
  outDay,
  outId,
  outInteger,
  outList,
  outNumber,
  outObject,
  outText,
  outWord,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import {
  allocationsIn,
  creditedInvoice,
  creditReason,
  positiveAmount,
  withoutListWhereAutoApply,
} from '../money/allocation-wire.ts'
import type { NegativeEdit } from '../money/negative-adjustments.ts'
import type { ExplainedNote } from '../money/note-paper.ts'

const editing = {
  customerID: required(requiredReference(), identifies('customer')),
  Amount: required(positiveAmount(), SHARED.NoteAmount),
  CurrencyCode: required(currencyCode(), SHARED.CurrencyCode),
  Date: required(date(), SHARED.BookedDate),
  CreditNumber: required(text(), SHARED.CreditNumber, ['Ref']),
  Memo: optional(longText(), 'A note of your own. Where the credit note has no Reason it is printed.', LEFT_OUT.none),
  AutoApply: optional(flag(), SHARED.AutoApply, LEFT_OUT.false, ['isAutoApply']),
  Reason: leftOut(creditReason(), LEFT_OUT.none),
  Allocations: optional(allocationsIn(), SHARED.Allocations, undefined, ['allocations', 'LinkedAllocations']),
} satisfies Properties

const adding = { ...editing, invoiceID: creditedInvoice() } satisfies Properties

/** Computed fields, ignored where a note that was read is sent back. */
const computed = [
  'creditNoteID',
  'Status',
  'TotalEx',
  'TotalTax',
  'Taxes',
  'Lines',
  'Unsettled',
  'invoiceNum',
  'isClosed',
  'isSent',
  'DateSent',
]

export const CreditNoteIn = withoutListWhereAutoApply(objectOf(adding, { name: 'CreditNoteInput', ignored: computed }))
/** Body of an edit, which does not change what a note corrects: one for the wrong invoice is deleted and added again. */
export const CreditNoteEdit = withoutListWhereAutoApply(
  objectOf(
    whenLeftOut(editing, {
      Memo: 'Left out, it is cleared; that of a note that was sent stays.',
      Reason: LEFT_OUT.kept,
    }),
    { name: 'CreditNoteEdit', ignored: [...computed, 'invoiceID'] },
  ),
)
export type CreditNoteBody = BodyOf<typeof editing>

/** Fields of a credit note as a body has them. */
export type SentNote = NegativeEdit & { customerId: CustomerId; kind: 'credit_note' }

/** Reads a credit note from a body; undefined while something that it needs is missing or wrong. */
export function creditNoteFromWire(body: Partial<CreditNoteBody>, problems: Problems): SentNote | undefined {
  const amountMinor = amountIn(problems, 'Amount', body.Amount, body.CurrencyCode)
  const { customerID, CurrencyCode, Date: dated, CreditNumber } = body
  if (customerID === undefined || CurrencyCode === undefined || dated === undefined || CreditNumber === undefined)
    return undefined
  if (amountMinor === undefined) return undefined
  return {
    customerId: customerID,
    kind: 'credit_note',
    dated,
    currency: CurrencyCode,
    amountMinor,
    ref: CreditNumber,
    memo: body.Memo,
    reason: body.Reason,
  }
}

const day = () => outDay()
const invoiceNum = () => orNull(outId(SHARED.invoiceNum))

export const CreditExplanationOut = outObject(
  {
    creditNoteID: outId(identifies('credit note')),
    Net: outNumber('What is given back beside taxes'),
    Taxes: outList(
      outObject({
        Name: outText(SHARED.TaxName),
        Perc: outNumber(SHARED.Perc),
        Amount: outNumber('What is given back of the tax.'),
        invoiceID: outId(identifies('invoice')),
        invoiceNum: invoiceNum(),
      }),
      SHARED.Taxes,
    ),
    Lines: outList(
      outObject({
        chargeID: outId(identifies('charge, a line of an invoice')),
        Kind: outWord(CHARGE_KINDS, 'What kind of charge is given back.'),
        Facts: described(
          outObject({
            From: described(orNull(day()), 'The first day that is given back; null for a line without days.'),
            To: orNull(outDate('Last unused day')),
            WholeFrom: described(orNull(day()), 'The first day of the whole period.'),
            WholeTo: orNull(outDate('Last day of the whole period')),
            UnusedDays: orNull(outInteger('How many days of the period are given back.')),
            WholeDays: orNull(outInteger('How many days the whole period has.')),
            Price: outNumber('The net price of the line that is given back.'),
            CreditedBefore: outNumber("What of the line's net had been given back before."),
          }),
          'The facts from which the amount follows.',
        ),
        Formula: outText('The computation in figures.'),
        Sentence: outText('What the whole note gives back, in plain words.'),
      }),
      'The lines that are given back, each with its facts.',
    ),
    Settlements: outList(
      outObject({
        invoiceID: outId(identifies('invoice')),
        invoiceNum: invoiceNum(),
        Gross: outNumber('What of the invoice is credited, taxes included'),
        CreditedBefore: orNull(outNumber('Gross credited of it before; null for a note from before this was kept')),
        NetBefore: orNull(
          outNumber('What of the net had been credited before; null for a note from before this was kept.'),
        ),
        TaxBefore: orNull(
          outNumber('What of the taxes had been given back before; null for a note from before this was kept.'),
        ),
        Formula: outText('How its taxes follow, one after the other; empty without taxes'),
        Sentence: outText('What the whole note gives back, in plain words.'),
      }),
      'What the note corrects, invoice by invoice.',
    ),
    Sentence: outText('What the whole note gives back, in plain words.'),
  },
  'CreditExplanation',
)

const factsToWire = ({ facts }: CreditExplanation, digits: number, timeZone: string) => {
  const shown = (value: IsoDate | null) => (value === null ? null : dateWithOffset(value, timeZone))
  return {
    From: shown(facts.from),
    To: shown(facts.to),
    WholeFrom: shown(facts.wholeFrom),
    WholeTo: shown(facts.wholeTo),
    UnusedDays: facts.unusedDays,
    WholeDays: facts.wholeDays,
    Price: decimalDigits(facts.price),
    CreditedBefore: minorDigits(facts.creditedBeforeMinor, digits),
  }
}

export function creditExplanationToWire(
  { note, netMinor, taxes, lines, settlements, sentence }: ExplainedNote,
  timeZone: string,
): ShapeOf<typeof CreditExplanationOut> {
  const digits = digitsOf(note.currency)
  return {
    creditNoteID: note.id,
    Net: minorDigits(netMinor, digits),
    Taxes: taxes.map(({ name, rate, amountMinor, invoiceId, invoiceNumber }) => ({
      Name: name,
      Perc: decimalDigits(rate),
      Amount: minorDigits(amountMinor, digits),
      invoiceID: invoiceId,
      invoiceNum: invoiceNumber,
    })),
    Lines: lines.map((line) => {
      const explained = explainCredit(line, digits, note.currency, note.invoiceId === null)
      return {
        chargeID: line.chargeId,
        Kind: line.kind,
        Facts: factsToWire(explained, digits, timeZone),
        Formula: explained.formula,
        Sentence: explained.sentence,
      }
    }),
    Settlements: settlements.map((one) => ({
      invoiceID: one.invoiceId,
      invoiceNum: one.invoiceNumber,
      Gross: minorDigits(one.grossMinor, digits),
      CreditedBefore: orNullDigits(one.creditedBeforeMinor, digits),
      NetBefore: orNullDigits(one.netBeforeMinor, digits),
      TaxBefore: orNullDigits(one.taxBeforeMinor, digits),
      Formula: one.formula,
      Sentence: one.sentence,
    })),
    Sentence: sentence,
  }
}

const orNullDigits = (amountMinor: bigint | null, digits: number) =>
  amountMinor === null ? null : minorDigits(amountMinor, digits)
