import type { IsoDate } from '../../kernel/calendar.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import type { Id } from '../../kernel/ids.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import type { Moment } from '../../kernel/context.ts'
import { decimalDigits } from '../../platform/wire/write.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import type { CustomerView } from '../customers/queries.ts'
import { customerToWire } from '../customers/wire.ts'
import type { GivenFields } from './fields.ts'
import { plainToWire } from './fields-wire.ts'
import type { NewInvoice } from './issue.ts'
import { balancesToWire, chargeToWire, InvoicePreviewOut } from './wire.ts'

/** An invoice that does not exist, as it would be made: no identifiers, no number, nothing applied. */
export interface Preview extends GivenFields {
  customer: CustomerView
  account: AccountSettings
  moment: Moment
  currency: string
  subscriptionId: Id | null
  recurringInvoiceId: Id | null
  /** Undefined when nothing will follow: no charges, a total of 0 and no dates are shown. */
  composed: NewInvoice | undefined
}

const NOT_YET = {
  invoiceID: null,
  invoiceNum: null,
  Reference: null,
  DateSent: null,
  isDraft: true,
  isCancelled: false,
  Source: 'Auto' as const,
  gatewayID: null,
  customerPaymentMethodID: null,
  NumTries: 0,
  NextTryDate: null,
  PaymentsApplied: [],
  NegativeAdjustmentsApplied: [],
}

const linesToWire = ({ lines, period, amounts, currency }: NewInvoice) =>
  lines.map((line, index) => {
    const { from = null, until = null } = period ?? {}
    const written = { kind: 'manual' as const, brackets: null, from, until, wholeFrom: from, wholeUntil: until }
    const netMinor = amounts.netMinor[index] as bigint
    const shown = { description: null, ...written, ...line, netMinor, grossMinor: amounts.grossMinor[index] as bigint }
    return { chargeID: null, invoiceID: null, ...chargeToWire(shown, index + 1, digitsOf(currency)) }
  })

export function writePreviewed({ customer, account, moment, composed, currency, ...about }: Preview): string {
  const clock = { timeZone: account.timeZone, today: moment.today }
  const shown = (day: IsoDate | undefined) => (day === undefined ? null : dateWithOffset(day, account.timeZone))
  const amounts = {
    currency,
    totalMinor: composed?.totalMinor ?? 0n,
    paidMinor: 0n,
    pendingMinor: 0n,
    negativeMinor: 0n,
    dueDate: composed?.dueDate ?? moment.today,
    isDraft: true,
    isCancelled: false,
  }
  return InvoicePreviewOut.write({
    ...plainToWire(about),
    ...NOT_YET,
    ...balancesToWire(amounts, moment.today),
    Customer: customerToWire(customer, clock),
    CurrencyCode: currency,
    InvoiceDate: shown(composed?.invoiceDate),
    DueDate: shown(composed?.dueDate),
    LastUpdated: moment.now,
    customerID: customer.id,
    Name: customer.name,
    LastName: customer.lastName,
    Taxes: (composed?.amounts.taxes ?? []).map(({ name, rate }) => ({
      invoiceTaxID: null,
      invoiceID: null,
      Name: name,
      Perc: decimalDigits(rate),
    })),
    Charges: composed ? linesToWire(composed) : [],
    subscriptionID: about.subscriptionId,
    recurInvoiceID: about.recurringInvoiceId,
  })
}
