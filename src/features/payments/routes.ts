import type { AllocationState } from '../../engine/moneyChange.ts'
import type { WantedAllocation } from '../../engine/allocating.ts'
import { invalid, type Problems } from '../../kernel/fault.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import type { RequestContext } from '../../platform/http/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Answer, noContent, type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { pageOf } from '../../platform/http/query.ts'
import { checkCustomerReference, foundCustomerId } from '../customers/actions.ts'
import { checkCurrencyHeld } from '../invoices/choose-hand.ts'
import type { GivenFilter } from '../money/adjustment-queries.ts'
import type { Asked } from '../money/allocate.ts'
import { listAllocationsOfGiven } from '../money/allocation-queries.ts'
import { chooseAllocations } from '../money/choose.ts'
import { countPayments, findPayment, listPayments, type NewPayment, type Payment } from '../money/payment-queries.ts'
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
import {
  entriesFromWire,
  ENTRY_NAMES,
  FailIn,
  type PaymentBody,
  paymentEtag,
  paymentFromWire,
  PaymentIn,
  PaymentOut,
  PaymentQuery,
  PaymentsOut,
  paymentToWire,
} from './wire.ts'

const tag = 'Payments'

type Query = typeof PaymentQuery extends { read: (...args: never[]) => infer Found } ? Exclude<Found, symbol> : never

async function answerPayments(
  db: Queryable,
  { account }: RequestContext,
  query: Query,
  url: string,
  publicUrl: string | undefined,
  customerId: CustomerId | null = query.customerID ?? null,
): Promise<Answer> {
  const { startDate = null, endDate = null, status = null } = query
  if (startDate && endDate && startDate > endDate)
    throw invalid('dates_reversed', `startDate ${startDate} is after endDate ${endDate}.`, 'startDate')
  const filter: GivenFilter = { customerId, startDate, endDate, status }
  const page = pageOf(query)
  const start = { fromId: 0n, skip: (page.page - 1) * page.size }
  const rows = await listPayments(db, account.id, filter, start, page.size + 1)
  const count = () => countPayments(db, account.id, filter)
  const allocations = await allocationsOf(db, account.id, rows)
  return listAnswer(
    { rows, page, url, count },
    (some) => PaymentsOut.write(some.map((payment) => paymentToWire(payment, allocations.get(payment.id) ?? []))),
    publicUrl,
  )
}

async function allocationsOf(
  db: Queryable,
  account: bigint,
  payments: readonly Payment[],
): Promise<Map<bigint, AllocationState[]>> {
  const found = new Map<bigint, AllocationState[]>()
  if (payments.length === 0) return found
  const ids = payments.map(({ id }) => id)
  for (const allocation of await listAllocationsOfGiven(db, account, 'payment', ids))
    found.set(allocation.givenId, [...(found.get(allocation.givenId) ?? []), allocation])
  return found
}

const reading = (publicUrl: string | undefined): Operation[] => [
  readOperation({
    id: 'listCustomerPayments',
    method: 'GET',
    path: '/v1/customers/{customerID}/payments',
    tag,
    summary: 'List the payments of a customer',
    query: PaymentQuery,
    success: { status: 200, schema: PaymentsOut.schema },
    record: (db, { account }, params) => foundCustomerId(db, account.id, params),
    read: async (db, context, { params, query, url }) =>
      answerPayments(db, context, query, url, publicUrl, await foundCustomerId(db, context.account.id, params)),
  }),
  readOperation({
    id: 'listPayments',
    method: 'GET',
    path: '/v1/payments',
    tag,
    summary: 'List payments',
    query: PaymentQuery,
    success: { status: 200, schema: PaymentsOut.schema },
    read: (db, context, { query, url }) => answerPayments(db, context, query, url, publicUrl),
  }),
  readOperation({
    id: 'getPayment',
    method: 'GET',
    path: '/v1/payments/{paymentID}',
    tag,
    summary: 'Read a payment',
    success: { status: 200, schema: PaymentOut.schema },
    read: async (db, { account }, { params }) => {
      const id = pathId(params, 'paymentID', unknownPayment)
      const payment = await findPayment(db, account.id, id)
      if (!payment) throw unknownPayment(id)
      const allocations = await listAllocationsOfGiven(db, account.id, 'payment', [id])
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
  list: WantedAllocation[] | undefined
}

async function choosePayment(
  tx: Transaction,
  context: RequestContext,
  body: Partial<PaymentBody>,
  problems: Problems,
  present: PaymentRecord | null,
): Promise<Chosen> {
  await checkCustomerReference(tx, body.customerID, problems)
  await checkCurrencyHeld(tx, body.CurrencyCode, problems)
  const wanted = paymentFromWire(body, context.account, problems)
  if (body.AutoApply === true) return { wanted, list: undefined }
  if (body.Allocations == null) {
    // A list that could not be read has told its own problem.
    if (!('Allocations' in body) || body.Allocations === null)
      problems.add('required', 'Allocations', 'Allocations is required unless AutoApply is true; it may be empty.')
    return { wanted, list: undefined }
  }
  if (body.CurrencyCode === undefined) return { wanted, list: undefined }
  const record = { currency: body.CurrencyCode, present: present?.allocations ?? null }
  const list = await chooseAllocations(tx, entriesFromWire(body.Allocations), record, ENTRY_NAMES, problems)
  return { wanted, list }
}

const askedOf = (body: PaymentBody, { list }: Chosen): Asked =>
  body.AutoApply === true ? { auto: 'invoices_first' } : { list: list ?? [] }

const writing = (): Operation[] => [
  writeOperation({
    id: 'addPayment',
    method: 'POST',
    path: '/v1/payments',
    tag,
    summary: 'Record a payment that was received elsewhere',
    body: PaymentIn,
    success: { status: 201, schema: PaymentOut.schema },
    references: (tx, context, { body }, problems) => choosePayment(tx, context, body, problems, null),
    write: async (tx, context, { body }, _record, chosen: Chosen) => {
      const { payment, allocations } = await addPayment(tx, context, chosen.wanted as NewPayment, askedOf(body, chosen))
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
    write: async (tx, context, { body }, present: PaymentRecord, chosen: Chosen) => {
      const { payment, allocations } = await editPayment(
        tx,
        context,
        present,
        chosen.wanted as NewPayment,
        askedOf(body, chosen),
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
