import type { RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { type Operation, outwardOperation, type PathParams, readOperation } from '../../platform/http/operation.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import { lockedInvoice } from '../invoices/manual.ts'
import { invoiceKind } from '../invoices/record.ts'
import type { ManualRecord } from '../invoices/resolve-manual.ts'
import { paymentShape } from '../money/shapes.ts'
import type { Database } from '../../platform/database/database.ts'
import { type Answered, callTry } from './calls.ts'
import { beginCollect, type CollectCall, finishCollect } from './collect.ts'
import { listTries } from './try-queries.ts'
import { AttemptsOut, attemptsToWire } from './wire.ts'

const tag = 'Collection'

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
    begin: (tx, context, _input, { invoice }, _found, asked) => beginCollect(tx, context, invoice, asked),
    call: (context, _input, { t, isBegun }) => callTry(deps, context, t, !isBegun),
    finish: (tx, context, _input, call, answered) => finishCollect(tx, context, call, answered),
  }),
  readOperation({
    id: 'listAttempts',
    method: 'GET',
    path: '/v1/invoices/{invoiceID}/attempts',
    tag,
    summary: 'List the tries of an invoice, the oldest first',
    success: { status: 200, schema: AttemptsOut.schema },
    read: async (db, context, { params }) => {
      const { invoice } = await invoiceKind.found(db, context, params)
      const tries = await listTries(db, context.account.id, invoice.id)
      return { status: 200, body: AttemptsOut.write(attemptsToWire(tries, context.account.timeZone)) }
    },
  }),
]
