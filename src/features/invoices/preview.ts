import type { Moment } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { AccountSettings } from '../accounts/queries.ts'
import type { CustomerView } from '../customers/queries.ts'
import { type GivenFields, withAllPlain } from './fields.ts'
import type { NewInvoice } from './issue.ts'
import { UNTOUCHED } from './queries.ts'
import { invoicePreviewShape } from './wire.ts'

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
  dateSent: null,
  isDraft: true,
  isCancelled: false,
  source: 'Auto' as const,
  gatewayId: null,
  paymentMethodId: null,
  tries: 0,
  supplyDate: null,
  nextTryDate: null,
  isMethodRequested: false,
  isCollectionHold: false,
  ...UNTOUCHED,
}

const linesOf = ({ lines, period, amounts }: NewInvoice) =>
  lines.map((line, index) => {
    const { from = null, until = null } = period ?? {}
    const written = { kind: 'manual' as const, brackets: null, from, until, wholeFrom: from, wholeUntil: until }
    const [netMinor, grossMinor] = [amounts.netMinor[index]!, amounts.grossMinor[index]!]
    return { description: null, ...written, ...line, netMinor, grossMinor, displayOrder: index + 1 }
  })

/** Writes the invoice that would be made. */
export function writePreviewed({ customer, account, moment, composed, ...about }: Preview): string {
  const invoice = {
    ...NOT_YET,
    ...withAllPlain(about),
    customerId: customer.id,
    invoiceDate: composed?.invoiceDate ?? null,
    dueDate: composed?.dueDate ?? null,
    lastUpdated: moment.now,
    totalMinor: composed?.totalMinor ?? 0n,
  }
  const [charges, taxes] = composed ? [linesOf(composed), composed.amounts.taxes] : [[], []]
  return invoicePreviewShape.write(
    { invoice, customer, charges, taxes },
    { timeZone: account.timeZone, today: moment.today },
  )
}
