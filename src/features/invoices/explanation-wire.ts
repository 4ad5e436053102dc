import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { type ChargeExplanation, explainCharge, explainTax } from '../../engine/explain.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { ZERO } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { described } from '../../platform/wire/described.ts'
import { identifies, SHARED } from '../../platform/wire/shared-sentences.ts'
import { outTaxReason } from '../../platform/wire/tax-reason.ts'
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
import { pricedBy, type Spread } from '../components/bracket-words.ts'
import { SCHEMES } from '../components/wire.ts'
import { factsOf, type InvoiceParts } from './wire.ts'

/** The answer that explains the lines and taxes of an invoice. */

const day = () => outDay()

const BracketOut = outObject({
  QtyFrom: outNumber('The first quantity of the bracket.'),
  QtyTill: orNull(outNumber('The last quantity of the bracket; null in the last bracket, which has no end.')),
  Price: outNumber('The price of the bracket.'),
})

export const ExplanationOut = outObject(
  {
    invoiceID: outId(identifies('invoice')),
    Lines: outList(
      outObject({
        chargeID: outId(identifies('charge, a line of an invoice')),
        Kind: outWord(CHARGE_KINDS, 'What kind of charge it is.'),
        Facts: described(
          outObject({
            From: described(orNull(day()), 'The first day that the line covers; null for a line without days.'),
            To: orNull(outDate('Last covered day')),
            WholeFrom: described(orNull(day()), 'The first day of the whole period.'),
            WholeTo: orNull(outDate('Last day of the whole period')),
            Days: orNull(outInteger('How many days the line covers; null for a line without days.')),
            WholeDays: orNull(outInteger('How many days the whole period has.')),
            Price: outNumber('The price of one unit, or of the whole period.'),
            Quantity: outNumber('The quantity that is charged.'),
            TotalQuantity: orNull(outNumber('All units of the cycle, of which this line may be a part')),
            QuantityBefore: orNull(outNumber('What had been charged, where the line is a difference')),
            Scheme: orNull(outWord(SCHEMES, 'How brackets make the price: by unit, volume, tiered or stairstep.')),
            Brackets: described(
              orNull(outList(BracketOut)),
              'The brackets by which the quantity was priced; null where one price holds for all.',
            ),
            subscriptionID: orNull(outId(identifies('subscription'))),
            Stretch: orNull(
              outInteger('The stretch of the subscription in which the line lies: it counts each start of it.'),
            ),
            Part: orNull(outInteger('Which part of the line it is, where a change cut the period into several.')),
          }),
          'The facts from which the amount follows.',
        ),
        Formula: outText('The computation in figures.'),
        Sentence: outText('The same in plain words.'),
      }),
      'The lines, each with the facts of its price.',
    ),
    Taxes: outList(
      outObject({
        Name: outText(SHARED.TaxName),
        Perc: outNumber(SHARED.Perc),
        TaxNumber: orNull(outText(SHARED.TaxNumber)),
        Category: orNull(outWord(TAX_CATEGORIES, SHARED.Category)),
        ReasonCode: orNull(outText(SHARED.ReasonCode)),
        Reason: orNull(outTaxReason()),
        Base: outNumber('The amount that the tax is computed from.'),
        Amount: outNumber('The amount of the tax.'),
        Formula: outText('The computation in figures.'),
        Sentence: outText('The same in plain words.'),
      }),
      SHARED.Taxes,
    ),
  },
  'InvoiceExplanation',
)

function explainedToWire(explained: ChargeExplanation, timeZone: string) {
  const { facts } = explained
  const shownDay = (value: IsoDate | null) => (value === null ? null : dateWithOffset(value, timeZone))
  return {
    From: shownDay(facts.from),
    To: shownDay(facts.to),
    WholeFrom: shownDay(facts.wholeFrom),
    WholeTo: shownDay(facts.wholeTo),
    Days: facts.days,
    WholeDays: facts.wholeDays,
    Price: decimalDigits(facts.price),
    Quantity: decimalDigits(facts.quantity),
    TotalQuantity: facts.totalQuantity && decimalDigits(facts.totalQuantity),
    QuantityBefore: facts.quantityBefore && decimalDigits(facts.quantityBefore),
    Scheme: facts.priceList?.scheme ?? null,
    Brackets:
      facts.priceList?.list.map(({ from, till, price }) => ({
        QtyFrom: decimalDigits(from ?? ZERO),
        QtyTill: till === null ? null : decimalDigits(till),
        Price: decimalDigits(price),
      })) ?? null,
  }
}

export function explanationToWire(
  { invoice, charges, taxes }: Omit<InvoiceParts, 'customer'>,
  spreads: ReadonlyMap<Id, Spread>,
  timeZone: string,
): ShapeOf<typeof ExplanationOut> {
  const { currency } = invoice
  const digits = digitsOf(currency)
  return {
    invoiceID: invoice.id,
    Lines: charges.map((charge) => {
      const spread = spreads.get(charge.id)
      const explained = explainCharge({ ...factsOf(charge, currency), spread })
      const by = pricedBy(charge, spread, 'en')
      const facts = {
        ...explainedToWire(explained, timeZone),
        subscriptionID: charge.subscriptionId,
        Stretch: charge.stretch,
        Part: charge.part,
      }
      const Sentence = by === null ? explained.sentence : explained.sentence.replace(/\.$/, `; ${by}.`)
      return { chargeID: charge.id, Kind: charge.kind, Facts: facts, Formula: explained.formula, Sentence }
    }),
    Taxes: taxes.map((tax) => ({
      Name: tax.name,
      Perc: decimalDigits(tax.rate),
      TaxNumber: tax.taxNumber,
      Category: tax.category,
      ReasonCode: tax.reasonCode,
      Reason: tax.reason,
      Base: minorDigits(tax.baseMinor, digits),
      Amount: minorDigits(tax.amountMinor, digits),
      Formula: explainTax({ ...tax, digits, currency }).formula,
      Sentence: explainTax({ ...tax, digits, currency }).sentence,
    })),
  }
}
