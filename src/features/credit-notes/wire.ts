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
import type { ExplainedNote } from '../money/explain-credit-note.ts'

const editing = {
  customerID: required(requiredReference()),
  Amount: required(positiveAmount()),
  CurrencyCode: required(currencyCode()),
  Date: required(date()),
  CreditNumber: required(text(), 'Ref'),
  Memo: optional(longText()),
  AutoApply: optional(flag(), 'isAutoApply'),
  Reason: creditReason(),
  Allocations: optional(allocationsIn(), 'allocations', 'LinkedAllocations'),
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
  'isClosed',
  'isSent',
  'DateSent',
]

export const CreditNoteIn = withoutListWhereAutoApply(objectOf(adding, { name: 'CreditNoteInput', ignored: computed }))
/** Body of an edit, which does not change what a note corrects: one for the wrong invoice is deleted and added again. */
export const CreditNoteEdit = withoutListWhereAutoApply(
  objectOf(editing, { name: 'CreditNoteEdit', ignored: [...computed, 'invoiceID'] }),
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

const day = () => outDate('Calendar date')

export const CreditExplanationOut = outObject(
  {
    creditNoteID: outId(),
    Net: outNumber('What is given back beside taxes'),
    Taxes: outList(outObject({ Name: outText(), Perc: outNumber(), Amount: outNumber(), invoiceID: outId() })),
    Lines: outList(
      outObject({
        chargeID: outId(),
        Kind: outWord(CHARGE_KINDS),
        Facts: outObject({
          From: orNull(day()),
          To: orNull(outDate('Last unused day')),
          WholeFrom: orNull(day()),
          WholeTo: orNull(outDate('Last day of the whole period')),
          UnusedDays: orNull(outInteger()),
          WholeDays: orNull(outInteger()),
          Price: outNumber(),
          CreditedBefore: outNumber(),
        }),
        Formula: outText(),
        Sentence: outText(),
      }),
    ),
    Settlements: outList(
      outObject({
        invoiceID: outId(),
        Gross: outNumber('What of the invoice is credited, taxes included'),
        CreditedBefore: orNull(outNumber('Gross credited of it before; null for a note of before this was kept')),
        NetBefore: orNull(outNumber()),
        TaxBefore: orNull(outNumber()),
        Formula: outText({ description: 'How its taxes follow, one after the other; empty without taxes' }),
        Sentence: outText(),
      }),
    ),
    Sentence: outText(),
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
    Taxes: taxes.map(({ name, rate, amountMinor, invoiceId }) => ({
      Name: name,
      Perc: decimalDigits(rate),
      Amount: minorDigits(amountMinor, digits),
      invoiceID: invoiceId,
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
