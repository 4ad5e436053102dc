import { digitsOf } from '../../kernel/currencies.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import type { Moment } from '../../platform/http/context.ts'
import { decimalDigits } from '../../platform/wire/write.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import type { CustomerView } from '../customers/queries.ts'
import { customerToWire } from '../customers/wire.ts'
import { collectionMethodOf } from '../invoices/issue.ts'
import { balancesOf, chargeToWire, InvoicePreviewOut } from '../invoices/wire.ts'
import type { WrittenInvoice } from '../invoices/write.ts'
import { composeNext, type RecurringContext } from './bill.ts'
import type { Loaded } from './load.ts'

/** The next invoice of a recurring invoice as it would be made, with today's facts; nothing is stored. */

interface PreviewFacts {
  loaded: Loaded
  customer: CustomerView
  account: AccountSettings
  moment: Moment
  context: RecurringContext
}

const notYet = { invoiceID: null, invoiceNum: null, Reference: null, DateSent: null, NextTryDate: null, NumTries: 0 }
const nothingApplied = { PaymentsApplied: [], NegativeAdjustmentsApplied: [] }

export function writeRecurringPreview({ loaded, customer, account, moment, context }: PreviewFacts): string {
  const { recurring: r } = loaded
  const composed = composeNext(loaded, context)
  const clock = { timeZone: account.timeZone, today: moment.today }
  const shown = (day: IsoDate | undefined) => (day === undefined ? null : dateWithOffset(day, account.timeZone))
  return InvoicePreviewOut.write({
    ...notYet,
    ...nothingApplied,
    Customer: customerToWire(customer, clock),
    poNumber: null,
    CurrencyCode: r.currency,
    InvoiceDate: shown(composed?.invoiceDate),
    DueDate: shown(composed?.dueDate),
    LastUpdated: moment.now,
    isDraft: true,
    isCancelled: false,
    Source: 'Auto',
    CollectionMethod: r.collectionMethod ?? collectionMethodOf(r.paymentMethod),
    gatewayID: null,
    customerPaymentMethodID: null,
    Notes: r.notes ?? account.notes,
    Terms: r.terms ?? account.terms,
    customerID: customer.id,
    Name: customer.name,
    LastName: customer.lastName,
    ...balancesOf(
      {
        currency: r.currency,
        totalMinor: composed?.amounts.totalMinor ?? 0n,
        paidMinor: 0n,
        pendingMinor: 0n,
        negativeMinor: 0n,
        dueDate: composed?.dueDate ?? moment.today,
        isDraft: true,
        isCancelled: false,
      },
      moment.today,
    ),
    Taxes: (composed?.amounts.taxes ?? []).map(({ name, rate }) => ({
      invoiceTaxID: null,
      invoiceID: null,
      Name: name,
      Perc: decimalDigits(rate),
    })),
    Charges: composed ? linesToWire(composed) : [],
    subscriptionID: null,
    recurInvoiceID: r.id,
  })
}

const linesToWire = ({ lines, amounts, period, currency }: WrittenInvoice) =>
  lines.map((line, index) => {
    const facts = {
      ...line,
      kind: 'manual' as const,
      netMinor: amounts.netMinor[index] ?? 0n,
      grossMinor: amounts.grossMinor[index] ?? 0n,
      from: period?.from ?? null,
      until: period?.until ?? null,
      wholeFrom: period?.from ?? null,
      wholeUntil: period?.until ?? null,
      price: line.unitPrice,
      brackets: null,
      subscriptionId: null,
      stretch: null,
      itemId: null,
      part: null,
    }
    return { chargeID: null, invoiceID: null, ...chargeToWire(facts, index + 1, digitsOf(currency)) }
  })
