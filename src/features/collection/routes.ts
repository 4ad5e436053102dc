import { introduced } from '../../platform/http/tags.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import {
  type Operation,
  outwardOperation,
  type PathParams,
  readOperation,
  writeOperation,
} from '../../platform/http/operation.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { lockedInvoice } from '../invoices/manual.ts'
import { invoiceKind, type ManualRecord } from '../invoices/record.ts'
import type { PaymentRecord } from '../money/records.ts'
import { checkReason } from '../money/rules.ts'
import { paymentShape } from '../money/shapes.ts'
import { paymentKind } from '../payments/record.ts'
import type { Database } from '../../platform/database/database.ts'
import { listLineAttempts } from '../batches/line-queries.ts'
import { type Answered, callTry } from './calls.ts'
import { beginCollect, type CollectCall, finishCollect } from './collect.ts'
import { settleByHand } from './by-hand.ts'
import { listAttempts } from './try-queries.ts'
import { AttemptsOut, attemptsToWire, lineAttemptsToWire, TryResultIn } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Collection', 'Rules of when money is collected, tried again and reminded of.')

interface Deps extends GatewayDeps {
  db: Database
}

export const collectionOperations = (deps: Deps): Operation[] => [
  outwardOperation<ManualRecord, undefined, object, void, CollectCall, Answered>({
    id: 'collectInvoice',
    method: 'POST',
    path: '/v1/invoices/{invoiceID}/collect',
    tag,
    summary: 'Try to collect an invoice now; 202 while the answer of the gateway is not known',
    success: { status: 201, schema: paymentShape.schema },
    refusals: { 409: 'There is nothing to collect, no usable payment method, a hold, or a try without an outcome' },
    record: (tx: Transaction, context: RequestContext, { params }: { params: PathParams }) =>
      lockedInvoice(tx, context, invoiceKind.pathId(params)),
    begin: (tx, context, _input, { invoice }, _found, asked) => beginCollect(tx, context, deps, invoice, asked),
    call: (context, _input, { t, way }) => callTry(deps, context, t, way),
    finish: (tx, context, _input, call, answered) => finishCollect(tx, context, call, answered),
  }),
  readOperation({
    id: 'listAttempts',
    path: '/v1/invoices/{invoiceID}/attempts',
    tag,
    summary: 'List the tries of an invoice, the oldest first',
    success: { status: 200, schema: AttemptsOut.schema },
    read: async (db, context, { params }) => {
      const { invoice } = await invoiceKind.found(db, context, params)
      const { id: account, timeZone } = context.account
      const attempts = [
        ...attemptsToWire(await listAttempts(db, account, invoice.id), invoice, timeZone),
        ...lineAttemptsToWire(await listLineAttempts(db, account, invoice.id), invoice, timeZone),
      ].toSorted((a, b) => (a.paymentID < b.paymentID ? -1 : 1))
      return { status: 200, body: AttemptsOut.write(attempts) }
    },
  }),
  writeOperation({
    id: 'settlePaymentByHand',
    method: 'PUT',
    path: '/v1/payments/{paymentID}/result',
    tag,
    summary: 'Settle a try by hand once its gateway has been silent for 24 hours',
    body: TryResultIn,
    representation: paymentKind.representation,
    refusals: { 409: 'It is no try, its outcome is known, or the gateway may still answer' },
    record: (tx, context, { params }) => paymentKind.locked(tx, context, params),
    references: async (_tx, _context, { body }, problems) => checkReason(body, '', problems),
    write: async (tx, context, { body }, payment: PaymentRecord) => {
      await settleByHand(tx, context, payment, body)
      return noContent()
    },
  }),
]
