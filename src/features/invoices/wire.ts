import { CHARGE_KINDS } from '../../engine/subscription/charges.ts'
import { type ChargeExplanation, describeCharge, explainCharge, explainTax } from '../../engine/explain.ts'
import { invoiceStatus, invoiceBalances } from '../../engine/status.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Writing } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { ZERO } from '../../kernel/decimal.ts'
import type { Id } from '../../kernel/ids.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { etagOf } from '../../platform/http/etag.ts'
import { listShape } from '../../platform/wire/columns.ts'
import { date, reference } from '../../platform/wire/fields.ts'
import { optional, type Properties, word } from '../../platform/wire/read.ts'
import {
  decimalDigits,
  listPieces,
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
import { CustomerOut, customerToWire, FrozenCustomerOut } from '../customers/wire.ts'
import { PLAIN_FIELD_NAMES } from './fields.ts'
import { plainOut } from './fields-wire.ts'
import {
  type AppliedMoney,
  type Charge,
  type Invoice,
  INVOICE_STATUSES,
  type InvoiceTaxRow,
  type Spread,
} from './queries.ts'

const day = () => outDate('Calendar date')

const chargeShapes = {
  Line: orNull(outText()),
  Descrip: orNull(outText()),
  Qty: outNumber(),
  UnitCostEx: outNumber('Excluding tax'),
  AmountEx: outNumber('UnitCostEx × Qty, rounded'),
  AmountInc: outNumber('AmountEx and its taxes'),
  DisplayOrder: outInteger(),
}
const taxShapes = { Name: outText(), Perc: outNumber('A fraction from 0 to 1') }

const appliedPayment = outObject({
  allocationID: outId(),
  invoiceID: outId(),
  paymentID: outId(),
  amountApplied: outNumber(),
})
const appliedAdjustment = outObject({
  allocationID: outId(),
  objectID: outId(),
  NegativeAdjustmentID: outId(),
  amountApplied: outNumber(),
})

const invoiceShapes = {
  Customer: CustomerOut,
  Reference: outText(),
  CurrencyCode: outText(),
  InvoiceDate: day(),
  DueDate: day(),
  DateSent: orNull(outDate('Instant')),
  LastUpdated: outDate('Instant'),
  isDraft: outFlag(),
  isCancelled: outFlag(),
  Source: outWord(['Auto', 'App'] as const),
  gatewayID: orNull(outId()),
  customerPaymentMethodID: orNull(outId()),
  NumTries: outInteger(),
  NextTryDate: orNull(day()),
  ...plainOut,
  Status: outWord(INVOICE_STATUSES),
  customerID: outId(),
  Name: outText(),
  LastName: orNull(outText()),
  Total: outNumber(),
  TotalActualPaid: outNumber('Paid and not pending'),
  TotalPendingPaid: outNumber('Paid but pending'),
  TotalNegativeAdjs: outNumber('Negative adjustments applied, credit notes included'),
  Balance: outNumber('Still due when pending payments are counted'),
  ActualBalance: outNumber('Still due when they are not'),
  PaymentsApplied: outList(appliedPayment),
  NegativeAdjustmentsApplied: outList(appliedAdjustment),
  subscriptionID: orNull(outId()),
  recurInvoiceID: orNull(outId()),
}

const issuedShapes = {
  invoiceID: outId(),
  invoiceNum: orNull(outId('Null while a draft')),
  ...invoiceShapes,
  Taxes: outList(outObject({ invoiceTaxID: outId(), invoiceID: outId(), ...taxShapes })),
  Charges: outList(outObject({ chargeID: outId(), invoiceID: outId(), ...chargeShapes })),
}

export const InvoiceOut = outObject(issuedShapes, 'Invoice')

/** The record of the event of an issue: of the customer in it there is what documents freeze. */
export const IssuedOut = outObject({ ...issuedShapes, Customer: FrozenCustomerOut })

/** Returns an invoice that does not exist: no identifiers, no number, nothing applied. Dates are null when nothing will follow. */
const none = <T>(inner: { schema: object; write(value: T): string }) => orNull(inner as ReturnType<typeof outId>)
export const InvoicePreviewOut = outObject(
  {
    invoiceID: none(outId()),
    invoiceNum: none(outId()),
    ...invoiceShapes,
    Reference: orNull(outText()),
    InvoiceDate: orNull(day()),
    DueDate: orNull(day()),
    Taxes: outList(outObject({ invoiceTaxID: none(outId()), invoiceID: none(outId()), ...taxShapes })),
    Charges: outList(outObject({ chargeID: none(outId()), invoiceID: none(outId()), ...chargeShapes })),
  },
  'InvoicePreview',
)

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

/** Returns the amounts and the status that follow from an invoice's total and what is applied to it. */
export function balancesToWire(
  invoice: Pick<
    Invoice,
    'currency' | 'totalMinor' | 'paidMinor' | 'pendingMinor' | 'negativeMinor' | 'dueDate' | 'isDraft' | 'isCancelled'
  >,
  today: IsoDate,
) {
  const digits = digitsOf(invoice.currency)
  const { balanceMinor, actualBalanceMinor } = invoiceBalances(invoice)
  const { isCancelled, isDraft, dueDate } = invoice
  return {
    Status: invoiceStatus({ isCancelled, isDraft, dueDate, today, balanceMinor, actualBalanceMinor }),
    Total: minorDigits(invoice.totalMinor, digits),
    TotalActualPaid: minorDigits(invoice.paidMinor, digits),
    TotalPendingPaid: minorDigits(invoice.pendingMinor, digits),
    TotalNegativeAdjs: minorDigits(invoice.negativeMinor, digits),
    Balance: minorDigits(balanceMinor, digits),
    ActualBalance: minorDigits(actualBalanceMinor, digits),
  }
}

/** Returns the description that was written, else one made from the days and units of the charge. */
export const shownDescription = (
  charge: Pick<Charge, 'description' | 'kind' | 'brackets' | 'from' | 'until' | 'wholeFrom' | 'wholeUntil'>,
): string | null => charge.description ?? (describeCharge(charge) || null)

export const chargeToWire = (
  charge: Pick<Charge, 'name' | 'quantity' | 'unitPrice' | 'netMinor' | 'grossMinor'> &
    Parameters<typeof shownDescription>[0],
  displayOrder: number,
  digits: number,
) => ({
  Line: charge.name,
  Descrip: shownDescription(charge),
  Qty: decimalDigits(charge.quantity),
  UnitCostEx: decimalDigits(charge.unitPrice),
  AmountEx: minorDigits(charge.netMinor, digits),
  AmountInc: minorDigits(charge.grossMinor, digits),
  DisplayOrder: displayOrder,
})

const appliedPaymentToWire = ({ id, invoiceId, givenId, appliedMinor }: AppliedMoney, digits: number) => ({
  allocationID: id,
  invoiceID: invoiceId,
  paymentID: givenId,
  amountApplied: minorDigits(appliedMinor, digits),
})

const appliedAdjustmentToWire = ({ id, invoiceId, givenId, appliedMinor }: AppliedMoney, digits: number) => ({
  allocationID: id,
  objectID: invoiceId,
  NegativeAdjustmentID: givenId,
  amountApplied: minorDigits(appliedMinor, digits),
})

export function invoiceToWire(
  { invoice, customer, charges, taxes, applied = [] }: InvoiceParts,
  clock: { timeZone: string; today: IsoDate },
): ShapeOf<typeof InvoiceOut> {
  const { timeZone, today } = clock
  const digits = digitsOf(invoice.currency)
  const ofKind = (kind: AppliedMoney['givenKind']) => applied.filter(({ givenKind }) => givenKind === kind)
  const balances = balancesToWire(invoice, today)
  // Lists write hundreds, and taking in another object makes a slow one of forty fields: each is named, which the type checks.
  return {
    invoiceID: invoice.id,
    invoiceNum: invoice.number,
    Customer: customerToWire(customer, clock),
    Reference: invoice.reference,
    CurrencyCode: invoice.currency,
    InvoiceDate: dateWithOffset(invoice.invoiceDate, timeZone),
    DueDate: dateWithOffset(invoice.dueDate, timeZone),
    DateSent: invoice.dateSent,
    LastUpdated: invoice.lastUpdated,
    isDraft: invoice.isDraft,
    isCancelled: invoice.isCancelled,
    Source: invoice.source,
    gatewayID: invoice.gatewayId,
    customerPaymentMethodID: invoice.paymentMethodId,
    NumTries: invoice.tries,
    NextTryDate: invoice.nextTryDate === null ? null : dateWithOffset(invoice.nextTryDate, timeZone),
    poNumber: invoice.poNumber,
    CollectionMethod: invoice.collectionMethod,
    Notes: invoice.notes,
    Terms: invoice.terms,
    customerID: invoice.customerId,
    Name: customer.name,
    LastName: customer.lastName,
    Status: balances.Status,
    Total: balances.Total,
    TotalActualPaid: balances.TotalActualPaid,
    TotalPendingPaid: balances.TotalPendingPaid,
    TotalNegativeAdjs: balances.TotalNegativeAdjs,
    Balance: balances.Balance,
    ActualBalance: balances.ActualBalance,
    Taxes: taxes.map((tax) => ({
      invoiceTaxID: tax.id,
      invoiceID: invoice.id,
      Name: tax.name,
      Perc: decimalDigits(tax.rate),
    })),
    Charges: charges.map((charge) => ({
      chargeID: charge.id,
      invoiceID: invoice.id,
      ...chargeToWire(charge, charge.displayOrder, digits),
    })),
    PaymentsApplied: ofKind('payment').map((money) => appliedPaymentToWire(money, digits)),
    NegativeAdjustmentsApplied: ofKind('negative_adjustment').map((money) => appliedAdjustmentToWire(money, digits)),
    subscriptionID: invoice.subscriptionId,
    recurInvoiceID: invoice.recurringInvoiceId,
  }
}

const writeInvoice = (parts: InvoiceParts, writing: Writing): string => InvoiceOut.write(invoiceToWire(parts, writing))

async function* mapped<From, To>(portions: Portions<From>, map: (entry: From) => To): AsyncGenerator<To[]> {
  for await (const entries of portions) yield entries.map(map)
}

/** Writes an invoice, in pieces where it is long. */
export function writeOfAnyLength(
  parts: InvoiceParts | LongInvoiceParts,
  writing: Writing,
): string | AsyncGenerator<string> {
  if (!('appliedOf' in parts)) return writeInvoice(parts, writing)
  const digits = digitsOf(parts.invoice.currency)
  return InvoiceOut.pieces({
    ...invoiceToWire(parts, writing),
    PaymentsApplied: mapped(parts.appliedOf('payment'), (money) => appliedPaymentToWire(money, digits)),
    NegativeAdjustmentsApplied: mapped(parts.appliedOf('negative_adjustment'), (money) =>
      appliedAdjustmentToWire(money, digits),
    ),
  })
}

/** Invoices as answers, lists and events write them. */
export const invoiceShape = {
  schema: InvoiceOut.schema,
  write: writeInvoice,
  list: {
    ...listShape({ schema: InvoiceOut.schema, write: writeInvoice }),
    pieces: (portions: Portions<InvoiceParts | LongInvoiceParts>, writing: Writing) =>
      listPieces(portions, (parts) => writeOfAnyLength(parts, writing)),
  },
}

/** Changes with whatever a PUT would replace, and when a draft is issued: the same request would then mean something else. */
export const invoiceEtag = ({ invoice, charges, taxes }: Omit<InvoiceParts, 'customer'>): string =>
  etagOf(
    invoice.id,
    invoice.isDraft,
    invoice.isCancelled,
    invoice.customerId,
    invoice.reference,
    invoice.currency,
    invoice.invoiceDate,
    invoice.dueDate,
    invoice.gatewayId,
    invoice.paymentMethodId,
    PLAIN_FIELD_NAMES.map((name) => invoice[name]),
    charges.map(({ name, description, quantity, unitPrice }) => [name, description, quantity, unitPrice]),
    taxes.map(({ name, rate }) => [name, rate]),
  )

export const invoiceFilters = {
  startDate: optional(date()),
  endDate: optional(date()),
  status: optional(word(INVOICE_STATUSES, { anyCase: true })),
  customerID: optional(reference()),
  subscriptionID: optional(reference()),
  recurInvoiceID: optional(reference()),
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
      const explained = explainCharge({ ...factsOf(charge, currency), spread: spreads.get(charge.id) })
      const facts = {
        ...explainedToWire(explained, timeZone),
        subscriptionID: charge.subscriptionId,
        Stretch: charge.stretch,
        Part: charge.part,
      }
      return {
        chargeID: charge.id,
        Kind: charge.kind,
        Facts: facts,
        Formula: explained.formula,
        Sentence: explained.sentence,
      }
    }),
    Taxes: taxes.map((tax) => ({
      Name: tax.name,
      Perc: decimalDigits(tax.rate),
      TaxNumber: tax.taxNumber,
      Base: minorDigits(tax.baseMinor, digits),
      Amount: minorDigits(tax.amountMinor, digits),
      Formula: explainTax({ ...tax, digits, currency }).formula,
      Sentence: explainTax({ ...tax, digits, currency }).sentence,
    })),
  }
}
