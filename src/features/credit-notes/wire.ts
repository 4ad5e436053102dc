import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { type CreditExplanation, explainCredit } from '../../engine/explain.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Problems } from '../../kernel/fault.ts'
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
import type { NewNegative } from '../money/adjustment-queries.ts'
import { allocationsIn, positiveAmount, withoutListWhereAutoApply } from '../money/allocation-wire.ts'
import type { ExplainedNote } from '../money/explain-credit-note.ts'

const inputs = {
  customerID: required(requiredReference()),
  Amount: required(positiveAmount()),
  CurrencyCode: required(currencyCode()),
  Date: required(date()),
  CreditNumber: required(text(), 'Ref'),
  Memo: optional(longText()),
  AutoApply: optional(flag(), 'isAutoApply'),
  Allocations: optional(allocationsIn(), 'allocations', 'LinkedAllocations'),
} satisfies Properties

export const CreditNoteIn = withoutListWhereAutoApply(
  objectOf(inputs, { name: 'CreditNoteInput', ignored: ['creditNoteID', 'Status'] }),
)
export type CreditNoteBody = BodyOf<typeof inputs>

/** Reads a credit note from a body; undefined while something that it needs is missing or wrong. */
export function creditNoteFromWire(body: Partial<CreditNoteBody>, problems: Problems): NewNegative | undefined {
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
    memo: body.Memo ?? null,
    invoiceId: null,
    subscriptionId: null,
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
  { note, netMinor, taxes, lines, sentence }: ExplainedNote,
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
      const explained = explainCredit(line, digits, note.currency)
      return {
        chargeID: line.chargeId,
        Kind: line.kind,
        Facts: factsToWire(explained, digits, timeZone),
        Formula: explained.formula,
        Sentence: explained.sentence,
      }
    }),
    Sentence: sentence,
  }
}
