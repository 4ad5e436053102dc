import { missing } from '../../kernel/fault.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { lockedPayment } from '../money/payments.ts'
import { moneyEtag, type PaymentRecord } from '../money/records.ts'
import { paymentShape } from '../money/shapes.ts'
import { paymentKind } from '../payments/record.ts'
import { findLine } from './line-queries.ts'
import { LineIn, lineShape, NewLineIn } from './line-wire.ts'
import { addLine, editLine, type LineDeps, type LockedLine, removeLine, resolveLine } from './lines.ts'
import { type Batch, findBatch } from './queries.ts'
import { foundBatch } from './record.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = 'Batches'

const unknownLine = (id: Id | string) => missing('line_unknown', `There is no payment ${id} in a batch.`, 'paymentID')

/** Locks the customer of a line, and loads it with its payment; throws its 404. */
async function lockedLine(tx: Transaction, id: Id): Promise<LockedLine> {
  const payment = await lockedPayment(tx, id)
  const line = payment && (await findLine(tx, tx.account, id))
  const batch = line && (await findBatch(tx, tx.account, line.batchId))
  if (!payment || !line || !batch) throw unknownLine(id)
  return { line, payment, batch }
}

const etagOfPayment = (payment: PaymentRecord): string => moneyEtag(paymentShape, payment)

const created = (payment: PaymentRecord, context: RequestContext) => ({
  status: 201,
  body: lineShape.write(payment, writingOf(context)),
  etag: etagOfPayment(payment),
  headers: { location: `/v1/payments/${payment.id}` },
})

export const batchLineOperations = (deps: LineDeps): Operation[] => [
  writeOperation({
    id: 'addBatchPayment',
    method: 'POST',
    path: '/v1/batches/payments',
    tag,
    summary: 'Add a payment to an open batch: a debit of a bank account of the customer',
    body: NewLineIn,
    success: { status: 201, schema: lineShape.schema, headers: ['ETag', 'Location'] },
    refusals: { 404: 'There is no such batch', 409: 'The batch is not open or full, or the payment does not fit it' },
    record: async (tx, _context, { body }): Promise<Batch | undefined> =>
      body?.BatchToken === undefined ? undefined : foundBatch(tx, tx.account, body.BatchToken),
    references: (tx, _context, { body }, problems, batch) => resolveLine(tx, body, batch?.currency, null, problems),
    write: async (tx, context, { body }, batch, resolved) =>
      created(await addLine(tx, context, deps, (batch as Batch).id, body, resolved), context),
  }),
  writeOperation({
    id: 'editBatchPayment',
    method: 'PUT',
    path: '/v1/batches/payments',
    tag,
    summary: 'Edit a payment in an open batch, and what it pays',
    body: LineIn,
    representation: {
      ...paymentKind.representation,
      read: async (tx, context, { body }) =>
        paymentKind.answer(await paymentKind.found(tx, context, { paymentID: String(body.paymentID) }), context),
    },
    refusals: {
      404: 'There is no such payment in a batch',
      409: 'The batch is not open, or the payment does not fit it',
    },
    record: async (tx, _context, { body }): Promise<LockedLine | undefined> =>
      body?.paymentID === undefined ? undefined : lockedLine(tx, body.paymentID),
    etag: (locked) => (locked ? etagOfPayment(locked.payment) : ''),
    references: (tx, _context, { body }, problems, locked) =>
      resolveLine(tx, body, locked?.batch.currency, locked ?? null, problems),
    write: async (tx, context, { body }, locked, resolved) =>
      noContent(etagOfPayment(await editLine(tx, context, deps, locked as LockedLine, body, resolved))),
  }),
  writeOperation({
    id: 'deleteBatchPayment',
    method: 'DELETE',
    path: '/v1/batches/payments/{paymentID}',
    tag,
    summary: 'Delete a payment in an open batch',
    refusals: { 409: 'The batch is not open' },
    record: (tx, _context, { params }) => lockedLine(tx, pathId(params, 'paymentID', unknownLine)),
    etag: ({ payment }) => etagOfPayment(payment),
    write: async (tx, context, _input, locked) => {
      await removeLine(tx, context, deps, locked)
      return noContent()
    },
  }),
]
