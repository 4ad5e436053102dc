import { LEFT_OUT } from '../../platform/wire/left-out.ts'
import { described, leftOut } from '../../platform/wire/described.ts'
import { SHARED, identifies } from '../../platform/wire/shared-sentences.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import { TAX_CATEGORIES } from '../../kernel/tax.ts'
import {
  currencyCode,
  date,
  decimalField,
  flag,
  longText,
  rate,
  reference,
  requiredReference,
  text,
} from '../../platform/wire/fields.ts'
import {
  type BodyOf,
  type Field,
  listOf,
  objectOf,
  optional,
  type Properties,
  required,
  word,
} from '../../platform/wire/read.ts'
import { taxReason } from '../../platform/wire/tax-reason.ts'
import { COLLECTION_METHODS } from '../collection-terms/types.ts'
import { reasonCode } from '../tax-settings/rule-wire.ts'
import { plainIn } from './fields-wire.ts'

/** Bodies of manual invoices; recurring invoices have the same lines and taxes. */

const CHARGES_MAX = 1000
const TAXES_MAX = 100
const FINE_DECIMALS = 8

const fine = (description: string): Field<Decimal> => decimalField({ decimalsMax: FINE_DECIMALS, description })

export const chargeInputs = {
  UnitCostEx: required(fine('Price of one, without tax')),
  Qty: optional(fine('How many of it, by default 1; negative for a discount')),
  Line: leftOut(optional(text({ takesNumbers: true, description: 'A short heading' })), LEFT_OUT.none),
  Descrip: leftOut(
    optional(longText({ description: 'The longer text of the line, at most 100 lines' })),
    LEFT_OUT.none,
  ),
} satisfies Properties

export const chargesIn = () =>
  listOf(
    objectOf(chargeInputs, {
      name: 'ChargeInput',
      ignored: [
        'chargeID',
        'invoiceID',
        'recurInvoiceChargeID',
        'recurInvoiceID',
        'AmountEx',
        'AmountInc',
        'DisplayOrder',
      ],
    }),
    { min: 1, max: CHARGES_MAX, what: 'charges' },
  )

export const taxInputs = {
  Name: required(text(), 'The name of the tax; it stands on the invoice.'),
  Perc: required(rate(), SHARED.Perc),
  Category: optional(word(TAX_CATEGORIES, { anyCase: true }), SHARED.Category, 'Left out, none is stated.'),
  ReasonCode: optional(reasonCode(), SHARED.ReasonCode, LEFT_OUT.none),
  Reason: leftOut(optional(taxReason()), LEFT_OUT.none),
} satisfies Properties

export const taxesIn = () =>
  listOf(
    objectOf(taxInputs, {
      name: 'TaxInput',
      ignored: ['invoiceTaxID', 'invoiceID', 'recurringinvoiceTaxID', 'recurringinvoiceID', 'Base', 'TaxAmount'],
    }),
    { max: TAXES_MAX, what: 'taxes' },
  )

export const collectionIn = {
  CollectionMethod: optional(
    word(COLLECTION_METHODS),
    'The way in which its invoices are collected.',
    LEFT_OUT.customerPays,
  ),
  gatewayID: optional(reference(), identifies('gateway'), LEFT_OUT.primaryGateway),
  customerPaymentMethodID: optional(reference(), identifies('payment method'), LEFT_OUT.primaryMethod),
} satisfies Properties

export const invoiceInputs = {
  customerID: required(requiredReference(), identifies('customer')),
  Charges: required(chargesIn(), 'The lines of the invoice.'),
  InvoiceDate: optional(
    date(),
    'The day of the invoice.',
    'Left out, it is today; of a draft the day on which it is issued.',
  ),
  DueDate: optional(
    date(),
    SHARED.DueDate,
    'Left out, it is the payment term of the customer, or of the account, after InvoiceDate.',
  ),
  SupplyDate: leftOut(
    optional(
      described(date(), 'The day of the supply, at most a year after InvoiceDate, which it is where none is given'),
    ),
    'Left out, it is InvoiceDate.',
  ),
  CurrencyCode: optional(
    currencyCode(),
    SHARED.CurrencyCode,
    'Left out, it is that of the customer; an edit leaves it as it is.',
  ),
  Reference: optional(text(), SHARED.Reference, LEFT_OUT.given),
  isDraft: optional(
    flag(),
    'Whether it stays a draft: without a number, owed by nobody, and open for edits.',
    'Left out, it is false; an edit leaves it as it is.',
  ),
  ...collectionIn,
  isCollectionHold: optional(
    flag(),
    'While it is true nothing is collected automatically.',
    'Left out, it is false; an edit leaves it as it is.',
  ),
  ...plainIn,
  Taxes: optional(
    taxesIn(),
    'The taxes of all its lines; an empty list means none.',
    'Left out, the tax settings decide; an edit leaves taxes that were given as they are.',
  ),
} satisfies Properties

const COMPUTED = [
  'invoiceID',
  'invoiceNum',
  'Customer',
  'DateSent',
  'LastUpdated',
  'isCancelled',
  'Source',
  'NumTries',
  'NextTryDate',
  'Name',
  'LastName',
  'Status',
  'Total',
  'TotalEx',
  'TotalTax',
  'TotalActualPaid',
  'TotalPendingPaid',
  'TotalNegativeAdjs',
  'Credited',
  'WrittenOff',
  'isWrittenOff',
  'Balance',
  'ActualBalance',
  'PaymentsApplied',
  'NegativeAdjustmentsApplied',
  'subscriptionID',
  'recurInvoiceID',
  'SupplyFrom',
  'SupplyTo',
]

export const InvoiceIn = objectOf(invoiceInputs, { name: 'InvoiceInput', ignored: COMPUTED })
export type InvoiceBody = BodyOf<typeof invoiceInputs>

/** Entries of lists come without their fields that had a problem. */
export const hasPrices = (charges: readonly { UnitCostEx?: unknown }[]): boolean =>
  charges.every(({ UnitCostEx }) => UnitCostEx !== undefined)

export const hasRates = (taxes: readonly { Name?: unknown; Perc?: unknown }[] | null | undefined): boolean =>
  taxes?.every(({ Name, Perc }) => Name !== undefined && Perc !== undefined) ?? true
