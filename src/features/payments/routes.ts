import type { AllocationState } from '../../engine/money/allocation-effects.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import type { PageStart } from '../../platform/http/paging.ts'
import {
  noContent,
  type Operation,
  lookupOperation,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import { checkCustomerReference, foundCustomerId } from '../customers/record.ts'
import { checkCurrencyHeld } from '../currencies/held.ts'
import type { GivenFilter } from '../money/adjustment-queries.ts'
import type { Asked } from '../money/allocate.ts'
import { listAllocationsOfGiven } from '../money/allocation-queries.ts'
import { entriesFromWire, ENTRY_NAMES } from '../money/allocation-wire.ts'
import { chooseAsked } from '../money/choose.ts'
import { answerGiven, GivenQuery } from '../money/given-list.ts'
import {
  countPayments,
  type DrawnIds,
  drawPaymentIds,
  findPayment,
  listPayments,
  type NewPayment,
  type Payment,
} from '../money/payment-queries.ts'
import {
  addPayment,
  checkFailing,
  editPayment,
  failPayment,
  lockedPayment,
  type PaymentRecord,
  removePayment,
  unknownPayment,
} from './actions.ts'
import { sendReceipt } from './receipt.ts'
import {
  FailIn,
  NewPaymentIn,
  type PaymentBody,
  paymentEtag,
  paymentFromWire,
  PaymentIn,
  PaymentOut,
  PaymentsOut,
  paymentToWire,
} from './wire.ts'

const tag = 'Payments'

const paymentsOf = (db: Queryable, account: AccountId) => ({
  kind: 'payment' as const,
  counted: 'payments' as const,
  list: (filter: GivenFilter, start: PageStart, limit: number) => listPayments(db, account, filter, start, limit),
  count: (filter: GivenFilter) => countPayments(db, account, filter),
  write: (payments: Payment[], allocationsOf: (id: Id) => readonly AllocationState[]) =>
    PaymentsOut.write(payments.map((payment) => paymentToWire(payment, allocationsOf(payment.id)))),
})

const reading = (publicUrl: string | undefined): Operation[] => [
  readOperation({
    id: 'listCustomerPayments',
    method: 'GET',
    path: '/v1/customers/{customerID}/payments',
    tag,
    summary: 'List the payments of a customer',
    query: GivenQuery,
    success: { status: 200, schema: PaymentsOut.schema },
    record: (db, { account }, params) => foundCustomerId(db, account.id, params),
    read: async (db, context, { params, query, url }) =>
      answerGiven(
        db,
        context.account.id,
        { query, url, publicUrl },
        await foundCustomerId(db, context.account.id, params),
        paymentsOf(db, context.account.id),
      ),
  }),
  readOperation({
    id: 'listPayments',
    method: 'GET',
    path: '/v1/payments',
    tag,
    summary: 'List payments',
    query: GivenQuery,
    success: { status: 200, schema: PaymentsOut.schema },
    read: (db, { account }, { query, url }) =>
      answerGiven(db, account.id, { query, url, publicUrl }, null, paymentsOf(db, account.id)),
  }),
  lookupOperation({
    id: 'getPayment',
    method: 'GET',
    path: '/v1/payments/{paymentID}',
    tag,
    summary: 'Read a payment',
    success: { status: 200, schema: PaymentOut.schema },
    read: async (db, { account }, { params }) => {
      const id = pathId(params, 'paymentID', unknownPayment)
      const [payment, allocations] = await Promise.all([
        findPayment(db, account.id, id),
        listAllocationsOfGiven(db, account.id, 'payment', [id]),
      ])
      if (!payment) throw unknownPayment(id)
      return {
        status: 200,
        body: PaymentOut.write(paymentToWire(payment, allocations)),
        etag: paymentEtag(payment, allocations),
      }
    },
  }),
]

/** A payment and its allocations, as a body asks for them. */
interface Chosen {
  wanted: NewPayment | undefined
  asked: Asked | undefined
  /** For a payment that is added. */
  ids: DrawnIds | undefined
}

async function choosePayment(
  tx: Transaction,
  context: RequestContext,
  body: Partial<PaymentBody>,
  problems: Problems,
  present: PaymentRecord | null,
): Promise<Chosen> {
  const wanted = paymentFromWire(body, context.account, problems)
  const wish = {
    isAuto: body.AutoApply === true,
    order: 'invoices_first' as const,
    entries: body.Allocations && entriesFromWire(body.Allocations),
  }
  const record = { currency: body.CurrencyCode, present: present?.allocations ?? null }
  // All in one exchange; what is read waits for the lock of the customer before it.
  const [, , asked, ids] = await Promise.all([
    checkCustomerReference(tx, body.customerID, problems),
    checkCurrencyHeld(tx, body.CurrencyCode, problems),
    chooseAsked(tx, wish, record, ENTRY_NAMES, problems),
    present ? undefined : drawPaymentIds(tx, wish.isAuto ? 0 : (wish.entries?.length ?? 0)),
  ])
  return { wanted, asked, ids }
}

const writing = (): Operation[] => [
  writeOperation({
    id: 'addPayment',
    method: 'POST',
    path: '/v1/payments',
    tag,
    summary: 'Record a payment that was received elsewhere',
    body: NewPaymentIn,
    success: { status: 201, schema: PaymentOut.schema },
    references: (tx, context, { body }, problems) => choosePayment(tx, context, body, problems, null),
    write: async (tx, context, { body }, _record, chosen: Chosen) => {
      const record = await addPayment(tx, context, chosen.wanted as NewPayment, chosen.asked as Asked, chosen.ids)
      if (body.sendReceipt === true) await sendReceipt(tx, context, record)
      const { payment, allocations } = record
      return {
        status: 201,
        body: PaymentOut.write(paymentToWire(payment, allocations)),
        etag: paymentEtag(payment, allocations),
        headers: { location: `/v1/payments/${payment.id}` },
      }
    },
  }),
  writeOperation({
    id: 'editPayment',
    method: 'PUT',
    path: '/v1/payments/{paymentID}',
    tag,
    summary: 'Correct a payment and its allocations',
    body: PaymentIn,
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedPayment(tx, pathId(params, 'paymentID', unknownPayment)),
    etag: ({ payment, allocations }: PaymentRecord) => paymentEtag(payment, allocations),
    references: (tx, context, { body }, problems, present) => choosePayment(tx, context, body, problems, present),
    write: async (tx, context, _input, present: PaymentRecord, chosen: Chosen) => {
      const { payment, allocations } = await editPayment(
        tx,
        context,
        present,
        chosen.wanted as NewPayment,
        chosen.asked as Asked,
      )
      return noContent(paymentEtag(payment, allocations))
    },
  }),
  writeOperation({
    id: 'failPayment',
    method: 'PUT',
    path: '/v1/payments/{paymentID}/fail',
    tag,
    summary: 'Tell that a recorded payment failed, as a cheque that bounced',
    body: FailIn,
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedPayment(tx, pathId(params, 'paymentID', unknownPayment)),
    etag: ({ payment, allocations }: PaymentRecord) => paymentEtag(payment, allocations),
    write: async (tx, context, { body }, present: PaymentRecord) => {
      checkFailing(present, body.Date, context.moment.today)
      const { payment, allocations } = await failPayment(tx, context, present, { on: body.Date, reason: body.Reason })
      return noContent(paymentEtag(payment, allocations))
    },
  }),
  writeOperation({
    id: 'deletePayment',
    method: 'DELETE',
    path: '/v1/payments/{paymentID}',
    tag,
    summary: 'Delete a recorded payment',
    success: { status: 204 },
    record: (tx, _context, { params }) => lockedPayment(tx, pathId(params, 'paymentID', unknownPayment)),
    etag: ({ payment, allocations }: PaymentRecord) => paymentEtag(payment, allocations),
    write: async (tx, context, _input, present: PaymentRecord) => {
      await removePayment(tx, context, present)
      return noContent()
    },
  }),
]

export const paymentOperations = (deps: { publicUrl: string | undefined }): Operation[] => [
  ...reading(deps.publicUrl),
  ...writing(),
]
