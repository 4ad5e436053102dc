import { search } from '../../platform/wire/search.ts'
import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { pricedBy } from './bracket-words.ts'
import { type ChargeExplanation, describeCharge, explainCharge, explainTax } from '../../engine/explain.ts'
import { invoiceBalances, invoiceStatus, isWrittenOff } from '../../engine/status.ts'
import { type Supply, supplyOf } from '../../engine/supply.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { Writing } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { ZERO } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { sumMinor } from '../../kernel/money.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import {
  amountIn,
  arrivingColumn,
  type Column,
  columnIn,
  type Columns,
  optionalDayColumn,
  own,
  ownAmount,
  ownDay,
  ownDecimal,
  recordColumn,
  recordsColumn,
  recordShape,
} from '../../platform/wire/columns.ts'
import { currencyCode, date, flag, reference, text } from '../../platform/wire/fields.ts'
import { namesOfInputs, optional, type Properties, word } from '../../platform/wire/read.ts'
import { outTaxReason } from '../../platform/wire/tax-reason.ts'
import {
  decimalDigits,
  type Digits,
  listBytes,
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
  type Portions,
  type ShapeOf,
} from '../../platform/wire/write.ts'
import { SCHEMES } from '../components/wire.ts'
import type { CustomerView } from '../customers/queries.ts'
import type { FrozenCustomer } from '../customers/fields.ts'
import { customerShape, FrozenCustomerOut, frozenCustomerToWire } from '../customers/wire.ts'
import { plainColumns } from './fields-wire.ts'
import { chargeInputs, invoiceInputs, taxInputs } from './manual-wire.ts'
import {
  type AppliedMoney,
  type Charge,
  type Invoice,
  INVOICE_STATUSES,
  type InvoiceTaxRow,
  type Spread,
} from './queries.ts'

const day = () => outDate('Calendar date')

export interface InvoiceParts {
  invoice: Invoice
  customer: CustomerView
  charges: readonly Charge[]
  taxes: readonly InvoiceTaxRow[]
  /** Payments, credit notes and other negative adjustments that are applied to it; none where left out. */
  applied?: readonly AppliedMoney[]
}

/** An invoice to which so much is applied that it is read in portions, of one kind after the other. */
export interface LongInvoiceParts extends Omit<InvoiceParts, 'applied'> {
  appliedOf(kind: AppliedMoney['givenKind']): Portions<AppliedMoney>
}

/** An invoice that does not exist: no identifiers, no number, nothing applied. Dates are null when nothing will follow. */
export interface PreviewParts {
  invoice: Omit<Invoice, 'id' | 'number' | 'reference' | 'invoiceDate' | 'dueDate'> & {
    invoiceDate: IsoDate | null
    dueDate: IsoDate | null
  }
  customer: CustomerView
  charges: readonly ShownCharge['charge'][]
  taxes: readonly PreviewedTax[]
}

type PreviewedTax = Omit<InvoiceTaxRow, 'id' | 'invoiceId'>

/** Returns the description that was written, else one made from the days and units of the charge. */
export const shownDescription = (
  charge: Pick<Charge, 'description' | 'kind' | 'brackets' | 'from' | 'until' | 'wholeFrom' | 'wholeUntil'>,
): string | null => charge.description ?? (describeCharge(charge) || null)

interface ShownCharge {
  charge: Pick<Charge, 'name' | 'quantity' | 'unitPrice' | 'netMinor' | 'grossMinor' | 'displayOrder'> &
    Parameters<typeof shownDescription>[0]
  digits: number
}

interface StoredCharge extends ShownCharge {
  charge: Charge
}

const chargeColumns = {
  Line: columnIn('charge', own(orNull(outText()), 'name')),
  Descrip: [orNull(outText()), ({ charge }) => shownDescription(charge)],
  Qty: columnIn('charge', ownDecimal('quantity')),
  UnitCostEx: columnIn('charge', ownDecimal('unitPrice', 'Excluding tax')),
  AmountEx: amountIn('charge', 'netMinor', 'UnitCostEx × Qty, rounded'),
  AmountInc: amountIn('charge', 'grossMinor', 'AmountEx and its taxes'),
  DisplayOrder: columnIn('charge', own(outInteger(), 'displayOrder')),
} satisfies Columns<ShownCharge>

interface ShownTax {
  tax: PreviewedTax
  digits: number
}

interface StoredTax extends ShownTax {
  tax: InvoiceTaxRow
}

const taxColumns = {
  Name: columnIn('tax', own(outText(), 'name')),
  Perc: columnIn('tax', ownDecimal('rate', 'A fraction from 0 to 1')),
  Base: amountIn('tax', 'baseMinor', 'What the rate applies to, without tax'),
  TaxAmount: amountIn('tax', 'amountMinor', 'Base × Perc, rounded'),
  Category: columnIn('tax', own(orNull(outWord(TAX_CATEGORIES)), 'category')),
  ReasonCode: columnIn('tax', own(orNull(outText()), 'reasonCode')),
  Reason: columnIn('tax', own(orNull(outTaxReason()), 'reason')),
} satisfies Columns<ShownTax>

const chargeShape = recordShape<StoredCharge>()(undefined, {
  chargeID: columnIn('charge', own(outId(), 'id')),
  invoiceID: columnIn('charge', own(outId(), 'invoiceId')),
  ...chargeColumns,
})

const taxShape = recordShape<StoredTax>()(undefined, {
  invoiceTaxID: columnIn('tax', own(outId(), 'id')),
  invoiceID: columnIn('tax', own(outId(), 'invoiceId')),
  ...taxColumns,
})

const NONE: Column<unknown, bigint | null> = [orNull(outId()), () => null]

const previewedChargeShape = recordShape<ShownCharge>()(undefined, {
  chargeID: NONE,
  invoiceID: NONE,
  ...chargeColumns,
})

const previewedTaxShape = recordShape<ShownTax>()(undefined, {
  invoiceTaxID: NONE,
  invoiceID: NONE,
  ...taxColumns,
})

interface ShownApplied {
  money: AppliedMoney
  digits: number
}

const amountApplied = amountIn('money', 'appliedMinor')

const appliedPaymentShape = recordShape<ShownApplied>()(undefined, {
  allocationID: columnIn('money', own(outId(), 'id')),
  invoiceID: columnIn('money', own(outId(), 'invoiceId')),
  paymentID: columnIn('money', own(outId(), 'givenId')),
  amountApplied,
})

const appliedAdjustmentShape = recordShape<ShownApplied>()(undefined, {
  allocationID: columnIn('money', own(outId(), 'id')),
  objectID: columnIn('money', own(outId(), 'invoiceId')),
  NegativeAdjustmentID: columnIn('money', own(outId(), 'givenId')),
  amountApplied,
})

const chargesOf = <C>({ invoice, charges }: { invoice: { currency: string }; charges: readonly C[] }) => {
  const digits = digitsOf(invoice.currency)
  return charges.map((charge) => ({ charge, digits }))
}

const taxesOf = <T>({ invoice, taxes }: { invoice: { currency: string }; taxes: readonly T[] }) => {
  const digits = digitsOf(invoice.currency)
  return taxes.map((tax) => ({ tax, digits }))
}

const appliedOf =
  (kind: AppliedMoney['givenKind']) =>
  ({ invoice, applied = [] }: Pick<InvoiceParts, 'applied'> & Pick<PreviewParts, 'invoice'>) => {
    const digits = digitsOf(invoice.currency)
    return applied.filter(({ givenKind }) => givenKind === kind).map((money) => ({ money, digits }))
  }

const amountOf = (
  minorOf: (parts: Pick<PreviewParts, 'invoice' | 'taxes'>) => bigint,
  description?: string,
): Column<Pick<PreviewParts, 'invoice' | 'taxes'>, Digits> => [
  outNumber(description),
  (parts) => minorDigits(minorOf(parts), digitsOf(parts.invoice.currency)),
]

const sum = <Name extends string>(name: Name, description: string) => columnIn('invoice', ownAmount(name, description))

const amount = (
  minorOf: (invoice: PreviewParts['invoice']) => bigint,
  description?: string,
): Column<Pick<PreviewParts, 'invoice'>, Digits> => [
  outNumber(description),
  ({ invoice }) => minorDigits(minorOf(invoice), digitsOf(invoice.currency)),
]

/** Returns the word of the interface for how an invoice stands on a day. Its facts are named one by one, because a copy of a row costs more. */
export const shownStatus = (invoice: PreviewParts['invoice'], today: IsoDate) => {
  const { isCancelled, isDraft, dueDate } = invoice
  const { balanceMinor, actualBalanceMinor } = invoiceBalances(invoice)
  return invoiceStatus({ isCancelled, isDraft, dueDate: dueDate ?? today, today, balanceMinor, actualBalanceMinor })
}

/** Returns the day of the next try, today where it has passed. Rule: null while held, suspended or archived, and where nothing is left to try for. */
function shownTryDate(invoice: PreviewParts['invoice'], customer: CustomerView, today: IsoDate): IsoDate | null {
  const { nextTryDate, isDraft, isCancelled, isCollectionHold } = invoice
  if (nextTryDate === null || isDraft || isCancelled || isCollectionHold) return null
  if (customer.isCollectionHold || customer.pausedOn !== null) return null
  const { balanceMinor, actualBalanceMinor } = invoiceBalances(invoice)
  const leftMinor = invoice.hasLine ? actualBalanceMinor : balanceMinor
  return leftMinor <= 0n ? null : later(nextTryDate, today)
}

/** Columns that an invoice has whether it exists or would be made, in two stretches. */
const partyColumns = { Customer: recordColumn(customerShape, ({ customer }: PreviewParts) => customer) }
const commonColumns = {
  DateSent: columnIn('invoice', own(orNull(outDate('Instant')), 'dateSent')),
  LastUpdated: columnIn('invoice', own(outDate('Instant'), 'lastUpdated')),
  isDraft: columnIn('invoice', own(outFlag(), 'isDraft')),
  isCancelled: columnIn('invoice', own(outFlag(), 'isCancelled')),
  Source: columnIn('invoice', own(outWord(['Auto', 'App'] as const), 'source')),
  gatewayID: columnIn('invoice', own(orNull(outId()), 'gatewayId')),
  customerPaymentMethodID: columnIn('invoice', own(orNull(outId()), 'paymentMethodId')),
  NumTries: columnIn('invoice', own(outInteger(), 'tries')),
  NextTryDate: optionalDayColumn(({ invoice, customer }, { today }) => shownTryDate(invoice, customer, today)),
  isCollectionHold: columnIn('invoice', own(outFlag(), 'isCollectionHold')),
  ...plainColumns,
  Status: [outWord(INVOICE_STATUSES), ({ invoice }, { today }) => shownStatus(invoice, today)],
  customerID: columnIn('invoice', own(outId(), 'customerId')),
  Name: [outText(), ({ customer }) => customer.name],
  LastName: [orNull(outText()), ({ customer }) => customer.lastName],
  Total: sum('totalMinor', 'With tax'),
  TotalEx: amountOf(({ invoice, taxes }) => invoice.totalMinor - sumMinor(taxes), 'Total without tax'),
  TotalTax: amountOf(({ taxes }) => sumMinor(taxes), 'All taxes together: the sum of the TaxAmount of Taxes'),
  TotalActualPaid: sum('paidMinor', 'Paid and not pending'),
  TotalPendingPaid: sum('pendingMinor', 'Paid but pending'),
  TotalNegativeAdjs: sum('negativeMinor', 'Negative adjustments applied, credit notes included'),
  Credited: sum(
    'creditedMinor',
    'What credit notes correct of it, with tax, wherever their money went: the sum of what is settled for it',
  ),
  WrittenOff: sum('writtenOffMinor', 'Bad debt applied to it, which is part of TotalNegativeAdjs'),
  isWrittenOff: [
    outFlag('True where nothing is left to pay and WrittenOff is over 0; Status is then Paid'),
    ({ invoice }) => isWrittenOff(invoice),
  ],
  Balance: amount((invoice) => invoiceBalances(invoice).balanceMinor, 'Still due when pending payments are counted'),
  ActualBalance: amount((invoice) => invoiceBalances(invoice).actualBalanceMinor, 'Still due when they are not'),
  PaymentsApplied: recordsColumn(appliedPaymentShape, appliedOf('payment')),
  NegativeAdjustmentsApplied: recordsColumn(appliedAdjustmentShape, appliedOf('negative_adjustment')),
  subscriptionID: columnIn('invoice', own(orNull(outId()), 'subscriptionId')),
  recurInvoiceID: columnIn('invoice', own(orNull(outId()), 'recurringInvoiceId')),
} satisfies Columns<PreviewParts>

const supplied =
  (name: keyof Supply) =>
  ({ invoice, charges }: PreviewParts): IsoDate | null =>
    supplyOf(invoice, charges)[name]

const supplyColumns = {
  SupplyDate: optionalDayColumn(supplied('on'), 'The day of the supply; null where its lines cover days'),
  SupplyFrom: optionalDayColumn(supplied('from'), 'The first day that its lines cover; null where SupplyDate stands'),
  SupplyTo: optionalDayColumn(supplied('to'), 'The last day that its lines cover; null where SupplyDate stands'),
} satisfies Columns<PreviewParts>

const invoiceColumns = {
  invoiceID: columnIn('invoice', own(outId(), 'id')),
  invoiceNum: columnIn('invoice', own(orNull(outId('Null while a draft')), 'number')),
  ...partyColumns,
  Reference: columnIn('invoice', own(outText(), 'reference')),
  CurrencyCode: columnIn('invoice', own(outText(), 'currency')),
  InvoiceDate: columnIn('invoice', ownDay('invoiceDate')),
  DueDate: columnIn('invoice', ownDay('dueDate')),
  ...supplyColumns,
  ...commonColumns,
  Taxes: recordsColumn(taxShape, (parts: InvoiceParts) => taxesOf(parts)),
  Charges: recordsColumn(chargeShape, (parts: InvoiceParts) => chargesOf(parts)),
} satisfies Columns<InvoiceParts>

const wholeShape = recordShape<InvoiceParts>()('Invoice', invoiceColumns)

/** The record of the event of an issue: of the customer in it there is what documents freeze. */
export const issuedShape = recordShape<InvoiceParts & { frozen: FrozenCustomer }>()(undefined, {
  ...invoiceColumns,
  NextTryDate: optionalDayColumn(({ invoice }) => invoice.nextTryDate),
  Customer: [FrozenCustomerOut, ({ customer, frozen }) => frozenCustomerToWire(customer.id, frozen)],
})

export const invoicePreviewShape = recordShape<PreviewParts>()('InvoicePreview', {
  invoiceID: NONE,
  invoiceNum: NONE,
  ...partyColumns,
  Reference: [orNull(outText()), () => null],
  CurrencyCode: columnIn('invoice', own(outText(), 'currency')),
  InvoiceDate: optionalDayColumn(({ invoice }) => invoice.invoiceDate),
  DueDate: optionalDayColumn(({ invoice }) => invoice.dueDate),
  ...supplyColumns,
  ...commonColumns,
  Taxes: recordsColumn(previewedTaxShape, taxesOf<PreviewedTax>),
  Charges: recordsColumn(previewedChargeShape, chargesOf<ShownCharge['charge']>),
})

async function* arriving({ invoice, appliedOf: portionsOf }: LongInvoiceParts, kind: AppliedMoney['givenKind']) {
  const digits = digitsOf(invoice.currency)
  for await (const monies of portionsOf(kind)) yield monies.map((money) => ({ money, digits }))
}

const longShape = recordShape<LongInvoiceParts>()('Invoice', {
  ...invoiceColumns,
  PaymentsApplied: arrivingColumn(appliedPaymentShape, (parts) => arriving(parts, 'payment')),
  NegativeAdjustmentsApplied: arrivingColumn(appliedAdjustmentShape, (parts) => arriving(parts, 'negative_adjustment')),
})

/** Writes a long invoice. */
export const longInvoicePieces = (parts: LongInvoiceParts, writing: Writing): AsyncGenerator<string> =>
  longShape.pieces(parts, writing)

/** Invoices as answers, lists and events write them. */
export const invoiceShape = {
  ...wholeShape,
  list: {
    ...wholeShape.list,
    bytePieces: (portions: Portions<InvoiceParts | LongInvoiceParts>, writing: Writing) =>
      listBytes(portions, (parts) =>
        'appliedOf' in parts ? longInvoicePieces(parts, writing) : wholeShape.write(parts, writing),
      ),
  },
}

const textOfSet = wholeShape.writerOf(namesOfInputs(invoiceInputs, 'Charges', 'Taxes'))
const textOfCharge = chargeShape.writerOf(namesOfInputs(chargeInputs))
const textOfTax = taxShape.writerOf(namesOfInputs(taxInputs))

/** Changes with whatever a PUT would replace, and when a draft is issued: the same request would then mean something else. */
export const invoiceEtag = (parts: Omit<InvoiceParts, 'applied'>): string =>
  etagOf(
    parts.invoice.id,
    parts.invoice.isCancelled,
    textOfSet(parts),
    chargesOf(parts).map(textOfCharge),
    taxesOf(parts).map(textOfTax),
  )

export const invoiceFilters = {
  q: optional(search()),
  startDate: optional(date()),
  endDate: optional(date()),
  status: optional(word(INVOICE_STATUSES, { anyCase: true })),
  customerID: optional(reference()),
  subscriptionID: optional(reference()),
  recurInvoiceID: optional(reference()),
  CurrencyCode: optional(currencyCode()),
  Reference: optional(text({ takesNumbers: true })),
  poNumber: optional(text({ takesNumbers: true })),
  isWrittenOff: optional(flag()),
} satisfies Properties

const BracketOut = outObject({ QtyFrom: outNumber(), QtyTill: orNull(outNumber()), Price: outNumber() })

export const ExplanationOut = outObject(
  {
    invoiceID: outId(),
    Lines: outList(
      outObject({
        chargeID: outId(),
        Kind: outWord(CHARGE_KINDS),
        Facts: outObject({
          From: orNull(day()),
          To: orNull(outDate('Last covered day')),
          WholeFrom: orNull(day()),
          WholeTo: orNull(outDate('Last day of the whole period')),
          Days: orNull(outInteger()),
          WholeDays: orNull(outInteger()),
          Price: outNumber(),
          Quantity: outNumber(),
          TotalQuantity: orNull(outNumber('All units of the cycle, of which this line may be a part')),
          QuantityBefore: orNull(outNumber('What had been charged, where the line is a difference')),
          Scheme: orNull(outWord(SCHEMES)),
          Brackets: orNull(outList(BracketOut)),
          subscriptionID: orNull(outId()),
          Stretch: orNull(outInteger()),
          Part: orNull(outInteger()),
        }),
        Formula: outText(),
        Sentence: outText(),
      }),
    ),
    Taxes: outList(
      outObject({
        Name: outText(),
        Perc: outNumber(),
        TaxNumber: orNull(outText()),
        Category: orNull(outWord(TAX_CATEGORIES)),
        ReasonCode: orNull(outText()),
        Reason: orNull(outTaxReason()),
        Base: outNumber(),
        Amount: outNumber(),
        Formula: outText(),
        Sentence: outText(),
      }),
    ),
  },
  'InvoiceExplanation',
)

/** Returns the stored facts of a charge, as the engine explains and recomputes them. */
export const factsOf = (charge: Charge, currency: string) => ({
  ...charge,
  name: charge.name ?? charge.description ?? `Line ${charge.displayOrder}`,
  price: charge.price ?? charge.unitPrice,
  currency,
  digits: digitsOf(currency),
})

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
