import { filter, LEFT_OUT, searchOfCustomers } from '../../platform/wire/left-out.ts'
import { described } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import { describeCharge } from '../../engine/explain.ts'
import { invoiceBalances, invoiceStatus, isWrittenOff } from '../../engine/status.ts'
import { type Supply, supplyOf } from '../../engine/supply.ts'
import { type IsoDate, later } from '../../kernel/calendar.ts'
import type { Writing } from '../../kernel/context.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { sumMinor } from '../../kernel/money.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
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
import { currencyCode, flag, reference, text } from '../../platform/wire/fields.ts'
import { namesOfInputs, optional, type Properties, word } from '../../platform/wire/read.ts'
import { outTaxReason } from '../../platform/wire/tax-reason.ts'
import {
  type Digits,
  listBytes,
  minorDigits,
  orNull,
  outDate,
  outFlag,
  outId,
  outInstant,
  outInteger,
  outNumber,
  outText,
  outWord,
  type Portions,
} from '../../platform/wire/write.ts'
import type { CustomerView } from '../customers/queries.ts'
import type { FrozenCustomer } from '../customers/fields.ts'
import { customerShape, FrozenCustomerOut, frozenCustomerToWire } from '../customers/wire.ts'
import { plainColumns } from './fields-wire.ts'
import { chargeInputs, invoiceInputs, taxInputs } from './manual-wire.ts'
import { type AppliedMoney, type Charge, type Invoice, INVOICE_STATUSES, type InvoiceTaxRow } from './queries.ts'
import { dayFilter } from '../../platform/http/query.ts'

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
  Line: columnIn('charge', own(orNull(outText(SHARED.LineName)), 'name')),
  Descrip: [orNull(outText('The longer text of the line.')), ({ charge }) => shownDescription(charge)],
  Qty: columnIn('charge', ownDecimal('quantity', 'The quantity of the line.')),
  UnitCostEx: columnIn('charge', ownDecimal('unitPrice', 'Excluding tax')),
  AmountEx: amountIn('charge', 'netMinor', 'UnitCostEx × Qty, rounded'),
  AmountInc: amountIn('charge', 'grossMinor', 'AmountEx and its taxes'),
  DisplayOrder: columnIn('charge', own(outInteger('The place of the line on the document.'), 'displayOrder')),
} satisfies Columns<ShownCharge>

interface ShownTax {
  tax: PreviewedTax
  digits: number
}

interface StoredTax extends ShownTax {
  tax: InvoiceTaxRow
}

const taxColumns = {
  Name: columnIn('tax', own(outText(SHARED.TaxName), 'name')),
  Perc: columnIn('tax', ownDecimal('rate', SHARED.PercAnswered)),
  Base: amountIn('tax', 'baseMinor', 'What the rate applies to, without tax'),
  TaxAmount: amountIn('tax', 'amountMinor', 'Base × Perc, rounded'),
  Category: columnIn('tax', own(orNull(outWord(TAX_CATEGORIES, SHARED.Category)), 'category')),
  ReasonCode: columnIn('tax', own(orNull(outText(SHARED.ReasonCode)), 'reasonCode')),
  Reason: columnIn('tax', own(orNull(outTaxReason()), 'reason')),
} satisfies Columns<ShownTax>

const chargeShape = recordShape<StoredCharge>()(undefined, {
  chargeID: columnIn('charge', own(outId(identifies('charge, a line of an invoice')), 'id')),
  invoiceID: columnIn('charge', own(outId(identifies('invoice')), 'invoiceId')),
  ...chargeColumns,
})

const taxShape = recordShape<StoredTax>()(undefined, {
  invoiceTaxID: columnIn('tax', own(outId(identifies('tax of the invoice')), 'id')),
  invoiceID: columnIn('tax', own(outId(identifies('invoice')), 'invoiceId')),
  ...taxColumns,
})

const NONE: Column<unknown, bigint | null> = [orNull(outId()), () => null]

const previewedChargeShape = recordShape<ShownCharge>()(undefined, {
  chargeID: described(NONE, identifies('charge, a line of an invoice')),
  invoiceID: described(NONE, identifies('invoice')),
  ...chargeColumns,
})

const previewedTaxShape = recordShape<ShownTax>()(undefined, {
  invoiceTaxID: described(NONE, identifies('tax of the invoice')),
  invoiceID: described(NONE, identifies('invoice')),
  ...taxColumns,
})

interface ShownApplied {
  money: AppliedMoney
  digits: number
}

const amountApplied = amountIn('money', 'appliedMinor')

const appliedPaymentShape = recordShape<ShownApplied>()(undefined, {
  allocationID: columnIn('money', own(outId(identifies('allocation')), 'id')),
  invoiceID: columnIn('money', own(outId(identifies('invoice')), 'invoiceId')),
  paymentID: columnIn('money', own(outId(identifies('payment')), 'givenId')),
  amountApplied: described(amountApplied, 'How much of the money goes to this record.'),
})

const appliedAdjustmentShape = recordShape<ShownApplied>()(undefined, {
  allocationID: columnIn('money', own(outId(identifies('allocation')), 'id')),
  objectID: columnIn(
    'money',
    own(
      outId('The record that the allocation is about: an invoice, or a positive adjustment by its identifier.'),
      'invoiceId',
    ),
  ),
  NegativeAdjustmentID: columnIn('money', own(outId(identifies('negative adjustment')), 'givenId')),
  amountApplied: described(amountApplied, 'How much of the money goes to this record.'),
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

/** Columns that an invoice has whether it exists or would be made, in two ranges. */
const partyColumns = {
  Customer: recordColumn(customerShape, ({ customer }: PreviewParts) => customer, 'The customer as it is now.'),
}
const commonColumns = {
  DateSent: columnIn(
    'invoice',
    own(
      orNull(outInstant('When it was sent: an invoice the last time, a credit note the first; null until then.')),
      'dateSent',
    ),
  ),
  LastUpdated: columnIn('invoice', own(outInstant(SHARED.LastUpdated), 'lastUpdated')),
  isDraft: columnIn(
    'invoice',
    own(outFlag('Whether the invoice is a draft: it has no number, owes nothing and can be edited.'), 'isDraft'),
  ),
  isCancelled: columnIn('invoice', own(outFlag(SHARED.isCancelled), 'isCancelled')),
  Source: columnIn(
    'invoice',
    own(
      outWord(['Auto', 'App'] as const, '`Auto` for an invoice that the rules made, `App` for one by hand.'),
      'source',
    ),
  ),
  gatewayID: columnIn('invoice', own(orNull(outId(identifies('gateway'))), 'gatewayId')),
  customerPaymentMethodID: columnIn('invoice', own(orNull(outId(identifies('payment method'))), 'paymentMethodId')),
  NumTries: columnIn('invoice', own(outInteger('How many attempts to collect were made.'), 'tries')),
  NextTryDate: optionalDayColumn(
    ({ invoice, customer }, { today }) => shownTryDate(invoice, customer, today),
    'The day of the next automatic attempt to collect; null where none is planned.',
  ),
  isCollectionHold: columnIn(
    'invoice',
    own(outFlag('While it is true nothing is collected automatically.'), 'isCollectionHold'),
  ),
  ...plainColumns,
  Status: [
    outWord(
      INVOICE_STATUSES,
      'What becomes of the invoice: a draft, cancelled, paid, paid but pending, due, or past its due date.',
    ),
    ({ invoice }, { today }) => shownStatus(invoice, today),
  ],
  customerID: columnIn('invoice', own(outId(identifies('customer')), 'customerId')),
  Name: [outText('The name of the customer, as the invoice has it.'), ({ customer }) => customer.name],
  LastName: [orNull(outText(SHARED.LastName)), ({ customer }) => customer.lastName],
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
  PaymentsApplied: recordsColumn(
    appliedPaymentShape,
    appliedOf('payment'),
    'The payments that are allocated to the invoice.',
  ),
  NegativeAdjustmentsApplied: recordsColumn(
    appliedAdjustmentShape,
    appliedOf('negative_adjustment'),
    'The credit notes and bad debts that are allocated to the invoice.',
  ),
  subscriptionID: columnIn('invoice', own(orNull(outId(identifies('subscription'))), 'subscriptionId')),
  recurInvoiceID: columnIn('invoice', own(orNull(outId(identifies('recurring invoice'))), 'recurringInvoiceId')),
} satisfies Columns<PreviewParts>

const supplied = (name: keyof Supply, sentence: string): Column<PreviewParts, string | null> => {
  const [, dayOf] = optionalDayColumn(({ invoice, charges }: PreviewParts) => supplyOf(invoice, charges)[name])
  return [orNull(outDate(sentence)), dayOf]
}

const supplyColumns = {
  SupplyDate: supplied('on', 'The day of the supply; null where its lines cover days'),
  SupplyFrom: supplied('from', 'The first day that its lines cover; null where SupplyDate stands'),
  SupplyTo: supplied('to', 'The last day that its lines cover; null where SupplyDate stands'),
} satisfies Columns<PreviewParts>

const invoiceColumns = {
  invoiceID: columnIn('invoice', own(outId(identifies('invoice')), 'id')),
  invoiceNum: columnIn('invoice', own(orNull(outId('Null while a draft')), 'number')),
  ...partyColumns,
  Reference: columnIn('invoice', own(outText(SHARED.Reference), 'reference')),
  CurrencyCode: columnIn('invoice', own(outText(SHARED.CurrencyCode), 'currency')),
  InvoiceDate: columnIn('invoice', ownDay('invoiceDate', 'The day of the invoice.')),
  DueDate: columnIn('invoice', ownDay('dueDate', SHARED.DueDate)),
  ...supplyColumns,
  ...commonColumns,
  Taxes: recordsColumn(taxShape, (parts: InvoiceParts) => taxesOf(parts), SHARED.Taxes),
  Charges: recordsColumn(chargeShape, (parts: InvoiceParts) => chargesOf(parts), 'The lines of the invoice.'),
} satisfies Columns<InvoiceParts>

const wholeShape = recordShape<InvoiceParts>()('Invoice', invoiceColumns)

/** The record of the event of an issue: of the customer in it there is what documents freeze. */
export const issuedShape = recordShape<InvoiceParts & { frozen: FrozenCustomer }>()(undefined, {
  ...invoiceColumns,
  NextTryDate: optionalDayColumn(({ invoice }) => invoice.nextTryDate),
  Customer: [FrozenCustomerOut, ({ customer, frozen }) => frozenCustomerToWire(customer.id, frozen)],
})

export const invoicePreviewShape = recordShape<PreviewParts>()('InvoicePreview', {
  invoiceID: described(NONE, identifies('invoice')),
  invoiceNum: described(NONE, 'Always null: a preview has no number.'),
  ...partyColumns,
  Reference: [orNull(outText('Always null: a preview is no record.')), () => null],
  CurrencyCode: columnIn('invoice', own(outText(SHARED.CurrencyCode), 'currency')),
  InvoiceDate: optionalDayColumn(({ invoice }) => invoice.invoiceDate, 'The day of the invoice.'),
  DueDate: optionalDayColumn(({ invoice }) => invoice.dueDate, SHARED.DueDate),
  ...supplyColumns,
  ...commonColumns,
  Status: described(commonColumns.Status, 'What would become of the invoice.'),
  Taxes: recordsColumn(previewedTaxShape, taxesOf<PreviewedTax>, SHARED.Taxes),
  Charges: recordsColumn(previewedChargeShape, chargesOf<ShownCharge['charge']>, 'The lines of the invoice.'),
})

async function* arriving({ invoice, appliedOf: portionsOf }: LongInvoiceParts, kind: AppliedMoney['givenKind']) {
  const digits = digitsOf(invoice.currency)
  for await (const monies of portionsOf(kind)) yield monies.map((money) => ({ money, digits }))
}

const longShape = recordShape<LongInvoiceParts>()('Invoice', {
  ...invoiceColumns,
  PaymentsApplied: arrivingColumn(
    appliedPaymentShape,
    (parts) => arriving(parts, 'payment'),
    'The payments that are allocated to the invoice.',
  ),
  NegativeAdjustmentsApplied: arrivingColumn(
    appliedAdjustmentShape,
    (parts) => arriving(parts, 'negative_adjustment'),
    'The credit notes and bad debts that are allocated to the invoice.',
  ),
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
  q: searchOfCustomers(),
  ...dayFilter,
  status: filter(word(INVOICE_STATUSES, { anyCase: true }), 'records in this state'),
  customerID: optional(reference(), 'Limits the list to records of this customer.', LEFT_OUT.ofAll),
  subscriptionID: optional(reference(), 'Limits the list to records of this subscription.', LEFT_OUT.ofAll),
  recurInvoiceID: optional(reference(), 'Limits the list to records of this recurring invoice.', LEFT_OUT.ofAll),
  CurrencyCode: filter(currencyCode(), 'records in this currency'),
  Reference: filter(text({ takesNumbers: true }), 'records with this reference of yours'),
  poNumber: filter(text({ takesNumbers: true }), 'invoices with this purchase order number'),
  isWrittenOff: optional(
    flag(),
    'With true only invoices of which nothing is left to pay because of bad debt, with false all others.',
    LEFT_OUT.all,
  ),
} satisfies Properties

/** Returns the stored facts of a charge, as the engine explains and recomputes them. */
export const factsOf = (charge: Charge, currency: string) => ({
  ...charge,
  name: charge.name ?? charge.description ?? `Line ${charge.displayOrder}`,
  price: charge.price ?? charge.unitPrice,
  currency,
  digits: digitsOf(currency),
})
