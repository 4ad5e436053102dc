import { addDays, addMonths, type IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { chooseCollection } from '../collection-terms/choose.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import { checkCustomerReference } from '../customers/record.ts'
import type { Customer } from '../customers/queries.ts'
import { hasSameTaxes } from './compare-lines.ts'
import { hasPrices, hasRates, type InvoiceBody } from './manual-wire.ts'
import { listTaxRules } from '../tax-settings/queries.ts'
import {
  amountsOf,
  checkAmounts,
  checkTaxes,
  checkTexts,
  foundRates,
  givenRate,
  lineOf,
  type TaxRate,
} from './lines.ts'
import { plainFromWire } from './fields-wire.ts'
import type { Invoice } from './queries.ts'
import type { ManualRecord } from './record.ts'
import type { Draft } from './draft-queries.ts'
import { type NewInvoice, UNDRAWN } from './issue.ts'

/** Resolves the body of an add or edit to the invoice that it asks for. Problems (400) are gathered; conflicts (409) are found by the write. */

/** Invoice that the body of an add or edit asks for, with its customer and amounts. */
export interface Wanted extends Draft {
  customer: Customer
  invoice: NewInvoice
}

/** Finds the records that the body refers to, and adds to `problems`. `present` is the draft that the body edits. */
export async function resolveInvoice(
  tx: Transaction,
  context: RequestContext,
  body: Partial<InvoiceBody>,
  problems: Problems,
  present?: ManualRecord,
): Promise<Wanted | undefined> {
  checkTexts(body.Charges, present?.charges, 'Charges', problems)
  checkTaxes(body.Taxes, problems)
  const dates = resolveDates(context, body, present)
  const customer = await checkCustomerReference(tx, body.customerID, problems)
  if (dates.isDueDateGiven && body.DueDate && body.DueDate < dates.invoiceDate)
    problems.add(
      'date_order',
      'DueDate',
      `DueDate ${body.DueDate} must not be before InvoiceDate ${dates.invoiceDate}.`,
    )
  checkSupplyDate(body, dates, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  const currency = body.CurrencyCode ?? present?.invoice.currency ?? customer?.currency
  const of = { customer, currency, present: present?.invoice }
  const collection = await chooseCollection(tx, body, of, problems)
  if (!customer || !currency || !collection || !isComplete(body)) return undefined
  const taxes = await resolveTaxes(tx, body, customer, present)
  const lines = body.Charges.map(lineOf)
  const amounts = amountsOf(lines, taxes.rates, digitsOf(currency))
  checkAmounts(amounts, currency, 'Charges', problems)
  return {
    customer,
    ...dates,
    hasOwnTaxes: taxes.isOwn,
    invoice: {
      ...datesOf(context, body, customer, dates),
      id: present?.invoice.id ?? UNDRAWN,
      customerId: customer.id,
      customerVersion: customer.version,
      customerCountryId: customer.countryId,
      customerStateId: customer.countryStateId,
      customerVatNumber: customer.vatNumber,
      subscriptionId: null,
      recurringInvoiceId: null,
      period: null,
      reference: referenceOf(body, present?.invoice),
      currency,
      supplyDate: supplyDateOf(body, present?.invoice),
      source: 'App',
      ...plainFromWire(body),
      collectionMethod: collection.collectionMethod,
      gatewayId: collection.gatewayId,
      paymentMethodId: collection.paymentMethodId,
      isMethodRequested: collection.isMethodRequested,
      isCollectionHold: holdOf(body, present?.invoice),
      nextTryDate: null,
      lines,
      amounts,
      totalMinor: amounts.totalMinor,
    },
  }
}

const isComplete = (body: Partial<InvoiceBody>): body is Partial<InvoiceBody> & Pick<InvoiceBody, 'Charges'> =>
  body.Charges !== undefined && hasPrices(body.Charges) && hasRates(body.Taxes)

type ResolvedDates = Pick<Draft, 'isInvoiceDateGiven' | 'isDueDateGiven'> & { invoiceDate: IsoDate }

/** Rule: a date that is sent back as it was stays the default that it was. */
function resolveDates({ moment }: RequestContext, body: Partial<InvoiceBody>, present?: ManualRecord): ResolvedDates {
  const isGiven = (sent: IsoDate | null | undefined, before: IsoDate | undefined, wasGiven: boolean | undefined) =>
    sent != null && (sent !== before || (wasGiven ?? true))
  const { invoice, draft } = present ?? {}
  const isInvoiceDateGiven = isGiven(body.InvoiceDate, invoice?.invoiceDate, draft?.isInvoiceDateGiven)
  return {
    isInvoiceDateGiven,
    isDueDateGiven: isGiven(body.DueDate, invoice?.dueDate, draft?.isDueDateGiven),
    invoiceDate: isInvoiceDateGiven ? (body.InvoiceDate as IsoDate) : moment.today,
  }
}

/** Rule: a DueDate that is not given is payment-term days after InvoiceDate. */
function datesOf(
  { account }: RequestContext,
  body: Partial<InvoiceBody>,
  customer: Customer,
  { invoiceDate, isDueDateGiven }: ResolvedDates,
): { invoiceDate: IsoDate; dueDate: IsoDate } {
  const termDays = customer.paymentTermDays ?? account.paymentTermDays
  return { invoiceDate, dueDate: isDueDateGiven ? (body.DueDate as IsoDate) : addDays(invoiceDate, termDays) }
}

const SUPPLY_AHEAD_MONTHS_MAX = 12

/** Refuses a day of the supply that is most likely a slip: what is paid in advance is supplied within a year. */
function checkSupplyDate(
  { SupplyDate }: Partial<InvoiceBody>,
  { invoiceDate }: ResolvedDates,
  problems: Problems,
): void {
  const latest = addMonths(invoiceDate, SUPPLY_AHEAD_MONTHS_MAX)
  if (SupplyDate && SupplyDate > latest)
    problems.add(
      'out_of_range',
      'SupplyDate',
      `SupplyDate ${SupplyDate} may be at most a year after InvoiceDate ${invoiceDate}.`,
    )
}

/** Rule: a day that is sent back as it was stays the default that it was. */
const supplyDateOf = ({ SupplyDate }: Partial<InvoiceBody>, present?: Invoice): IsoDate | null =>
  SupplyDate == null || (present?.supplyDate === null && SupplyDate === present.invoiceDate) ? null : SupplyDate

/** Rule: given taxes are used as they are, an empty list means none; null goes to the rules; absent keeps. Found ones sent back stay found. */
async function resolveTaxes(
  tx: Transaction,
  body: Partial<InvoiceBody>,
  customer: Customer,
  present?: ManualRecord,
): Promise<{ isOwn: boolean; rates: readonly TaxRate[] }> {
  const found = async () => ({ isOwn: false, rates: foundRates(await listTaxRules(tx, tx.account), customer) })
  if (body.Taxes === null) return found()
  const wasOwn = present?.draft?.hasOwnTaxes ?? false
  if (body.Taxes === undefined) return wasOwn && present ? { isOwn: true, rates: [...present.taxes] } : found()
  const isSentBack = present !== undefined && !wasOwn && hasSameTaxes(body.Taxes, present)
  return isSentBack ? found() : { isOwn: true, rates: body.Taxes.map(givenRate) }
}

/** Rule: absent keeps the hold, null lifts it. */
export const holdOf = (
  body: Pick<InvoiceBody, 'isCollectionHold'>,
  present?: Pick<Invoice, 'isCollectionHold'>,
): boolean =>
  body.isCollectionHold === undefined ? (present?.isCollectionHold ?? false) : (body.isCollectionHold ?? false)

/** Rule: blank is not given, and what is not given keeps what there is. The service's own reference of the invoice is none of the caller's. */
function referenceOf(body: Partial<InvoiceBody>, present?: Invoice): string | null {
  const reference = body.Reference ?? present?.reference ?? null
  return present && reference === `I${present.id}` ? null : reference
}
