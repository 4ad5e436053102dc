import { introduced } from '../../platform/http/tags.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { sentId } from '../../platform/http/sent-id.ts'
import { checkCurrencyHeld, noteUnknown } from '../currencies/held.ts'
import { type Customer, holdCustomers } from '../customers/queries.ts'
import { checkCustomerReference, ofCustomerInPath } from '../customers/record.ts'
import type { Asked } from '../money/types.ts'
import { entriesFromWire, ENTRY_NAMES } from '../money/allocation-wire.ts'
import { PAYMENT_LIST } from '../money/lists.ts'
import { type DrawnIds, drawPaymentIds, type NewPayment } from '../money/payment-queries.ts'
import {
  addPayment,
  checkFailing,
  editPayment,
  failPayment,
  type OnLineChanged,
  removePayment,
} from '../money/payments.ts'
import { sendReceipt } from '../money/receipt.ts'
import type { PaymentRecord } from '../money/records.ts'
import { resolveAsked } from '../money/resolve.ts'
import { paymentShape } from '../money/shapes.ts'
import { paymentKind as payment } from './record.ts'
import { FailIn, NewPaymentIn, type PaymentBody, paymentFromWire, PaymentIn } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Payments', 'Money that came in, the invoices to which it is allocated, and its refunds.')

const list = { tag, ...PAYMENT_LIST }

const reading: Operation[] = [
  listOperation({
    ...list,
    id: 'listCustomerPayments',
    path: '/v1/customers/{customerID}/payments',
    summary: 'List the payments of a customer',
    parent: ofCustomerInPath,
  }),
  listOperation({ ...list, id: 'listPayments', path: '/v1/payments', summary: 'List payments' }),
  payment.readOperation({ id: 'getPayment', tag, summary: 'Read a payment' }),
]

interface PaymentDeps {
  onLineChanged: OnLineChanged
}

/** Payment and allocations that a body asks for; undefined where they are wrong. */
interface Resolved {
  wanted: NewPayment | undefined
  customer: Customer | undefined
  asked: Asked | undefined
  /** For a payment that is added. */
  ids: DrawnIds | undefined
}

async function resolvePayment(
  tx: Transaction,
  context: RequestContext,
  body: Partial<PaymentBody>,
  problems: Problems,
  present: PaymentRecord | null,
): Promise<Resolved> {
  const wanted = paymentFromWire(body, context.account, problems)
  const wish = {
    isAuto: body.AutoApply === true,
    order: 'invoices_first' as const,
    entries: body.Allocations && entriesFromWire(body.Allocations),
  }
  const record = { currency: body.CurrencyCode, present: present?.allocations ?? null }
  // All in one exchange; what is read waits for the lock of the customer before it.
  const [customer, ids, asked] = await Promise.all([
    checkCustomerReference(tx, body.customerID, problems),
    present
      ? checkCurrencyHeld(tx, body.CurrencyCode, problems).then(() => undefined)
      : drawIds(tx, body.CurrencyCode, wish.isAuto ? 0 : (wish.entries?.length ?? 0), problems),
    resolveAsked(tx, wish, record, ENTRY_NAMES, problems),
  ])
  return { wanted, customer, asked, ids }
}

/** Draws the identifiers of a new payment, and notes a currency that the account does not have. */
async function drawIds(tx: Transaction, currency: string | undefined, count: number, problems: Problems) {
  const drawn = await drawPaymentIds(tx, count, currency)
  if (currency !== undefined && !drawn.isHeld) noteUnknown(problems, currency)
  return drawn
}

const writing = ({ onLineChanged }: PaymentDeps): Operation[] => [
  writeOperation({
    id: 'addPayment',
    method: 'POST',
    path: '/v1/payments',
    tag,
    summary: 'Record a payment that was received elsewhere',
    body: NewPaymentIn,
    success: { status: 201, schema: paymentShape.schema },
    grouping: { recordOf: (_params, body) => sentId(body, 'customerID'), hold: holdCustomers },
    references: (tx, context, { body }, problems) => resolvePayment(tx, context, body, problems, null),
    write: async (tx, context, { body }, _record, { wanted, customer, asked, ids }: Resolved) => {
      const record = await addPayment(tx, context, wanted as NewPayment, asked as Asked, { ...(ids && { drawn: ids }) })
      if (body.sendReceipt === true) await sendReceipt(tx, context, record, customer as Customer)
      return payment.created(record, context)
    },
  }),
  writeOperation({
    ...payment.editing,
    id: 'editPayment',
    tag,
    summary: 'Correct a payment and its allocations',
    body: PaymentIn,
    references: (tx, context, { body }, problems, present) => resolvePayment(tx, context, body, problems, present),
    write: async (tx, context, _input, present, { wanted, asked }: Resolved) =>
      payment.edited(await editPayment(tx, context, present, wanted as NewPayment, asked as Asked, onLineChanged)),
  }),
  writeOperation({
    ...payment.editing,
    id: 'failPayment',
    path: '/v1/payments/{paymentID}/fail',
    tag,
    summary: 'Tell that a recorded payment failed, as a cheque that bounced',
    body: FailIn,
    write: async (tx, context, { body }, present) => {
      checkFailing(present, body.Date, context.moment.today)
      return payment.edited(await failPayment(tx, context, present, { on: body.Date, reason: body.Reason }))
    },
  }),
  writeOperation({
    ...payment.deleting,
    id: 'deletePayment',
    tag,
    summary: 'Delete a recorded payment',
    write: async (tx, context, _input, present) => {
      await removePayment(tx, context, present)
      return noContent()
    },
  }),
]

export const paymentOperations = (deps: PaymentDeps): Operation[] => [...reading, ...writing(deps)]
