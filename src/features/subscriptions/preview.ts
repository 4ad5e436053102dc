import { planNextInvoice } from '../../engine/plan.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { decimalDigits } from '../../platform/wire/write.ts'
import type { Moment } from '../../platform/http/context.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import type { CustomerView } from '../customers/queries.ts'
import { customerToWire } from '../customers/wire.ts'
import { type ComposedInvoice, collectionMethodOf } from '../invoices/issue.ts'
import { balancesOf, chargeToWire, InvoicePreviewOut } from '../invoices/wire.ts'
import { digitsOf } from '../../kernel/currencies.ts'
import { composePlanned, type PlanContext } from './bill.ts'
import { cursorOf, nextInvoiceWithLines, termsOf } from './facts.ts'
import type { Subscription } from './queries.ts'
import { stateOf } from './state.ts'

/** The next invoice of a subscription as it would be made, with today's facts; nothing is stored. */

export interface PreviewFacts {
  subscription: Subscription
  customer: CustomerView
  account: AccountSettings
  moment: Moment
  plans: PlanContext
}

/** While the customer is suspended or archived nothing is billed, so nothing is shown. */
function nextComposed({ subscription, plans, moment }: PreviewFacts): ComposedInvoice | undefined {
  if (subscription.pausedOn !== null) return undefined
  const offer = plans.offers.get(subscription.id)
  const components = plans.components.get(subscription.id) ?? []
  const planned =
    offer || components.length > 0
      ? planNextInvoice({ state: stateOf(subscription, offer), components }, moment.today)
      : nextInvoiceWithLines(termsOf(subscription), cursorOf(subscription), moment.today)
  return planned && composePlanned(subscription, planned, plans)
}

export function writePreview(facts: PreviewFacts): string {
  const { subscription, customer, account, moment } = facts
  const composed = nextComposed(facts)
  const clock = { timeZone: account.timeZone, today: moment.today }
  const digits = digitsOf(subscription.currency)
  const shown = (day: IsoDate | undefined) => (day === undefined ? null : dateWithOffset(day, account.timeZone))
  const totalMinor = composed?.totalMinor ?? 0n
  const amounts = {
    currency: subscription.currency,
    totalMinor,
    paidMinor: 0n,
    pendingMinor: 0n,
    negativeMinor: 0n,
    dueDate: composed?.dueDate ?? moment.today,
    isDraft: true,
    isCancelled: false,
  }
  return InvoicePreviewOut.write({
    invoiceID: null,
    invoiceNum: null,
    Customer: customerToWire(customer, clock),
    Reference: null,
    poNumber: subscription.poNumber,
    CurrencyCode: subscription.currency,
    InvoiceDate: shown(composed?.invoiceDate),
    DueDate: shown(composed?.dueDate),
    DateSent: null,
    LastUpdated: moment.now,
    isDraft: true,
    isCancelled: false,
    Source: 'Auto',
    CollectionMethod: subscription.collectionMethod ?? collectionMethodOf(subscription.paymentMethod),
    gatewayID: null,
    customerPaymentMethodID: null,
    NumTries: 0,
    NextTryDate: null,
    Notes: account.notes,
    Terms: account.terms,
    customerID: customer.id,
    Name: customer.name,
    LastName: customer.lastName,
    ...balancesOf(amounts, moment.today),
    Taxes: (composed?.taxes ?? []).map(({ rule }) => ({
      invoiceTaxID: null,
      invoiceID: null,
      Name: rule.settingName,
      Perc: decimalDigits(rule.rate),
    })),
    Charges: (composed?.charges ?? []).map((charge, line) => {
      const facts = {
        ...charge,
        description: null,
        grossMinor: composed?.grossMinor[line] ?? 0n,
        brackets: null,
        subscriptionId: null,
      }
      return { chargeID: null, invoiceID: null, ...chargeToWire(facts, line + 1, digits) }
    }),
    PaymentsApplied: [],
    NegativeAdjustmentsApplied: [],
    subscriptionID: subscription.id === 0n ? null : subscription.id,
    recurInvoiceID: null,
  })
}
