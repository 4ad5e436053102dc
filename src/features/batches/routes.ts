import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { noContent, type Operation, readOperation, writeOperation } from '../../platform/http/operation.ts'
import type { GatewayDeps } from '../gateways/call.ts'
import type { Gateway } from '../gateways/queries.ts'
import { addBatch, editBatch, resolveBatch } from './actions.ts'
import { type Batch, countBatches, listBatches } from './queries.ts'
import { batchAnswer, foundBatch, lockedBatch, viewOf } from './record.ts'
import { type BatchBody, BatchEditIn, batchEtag, BatchIn, batchShape, type BatchView } from './wire.ts'

const tag = 'Batches'

const reading: Operation[] = [
  listOperation({
    id: 'listBatches',
    path: '/v1/batches',
    tag,
    summary: 'List batches, without their lines',
    out: batchShape,
    rows: listBatches,
    count: countBatches,
    complete: async (_db, _context, rows) => rows.map((batch): BatchView => ({ ...batch, lines: null })),
  }),
  readOperation({
    id: 'getBatch',
    method: 'GET',
    path: '/v1/batches/{BatchToken}',
    tag,
    summary: 'Read a batch with its lines',
    success: { status: 200, schema: batchShape.schema, headers: ['ETag'] },
    read: async (db, context, { params }) => {
      const batch = await foundBatch(db, context.account.id, params['BatchToken'] ?? '')
      return batchAnswer(await viewOf(db, context.account.id, batch), context)
    },
  }),
]

const created = (view: BatchView, context: RequestContext) => ({
  status: 201,
  body: batchShape.write(view, writingOf(context)),
  etag: batchEtag(view),
  headers: { location: `/v1/batches/${view.token}` },
})

const wantedOf = ({ CurrencyCode, ActionDate, Notes }: BatchBody) => ({
  currency: CurrencyCode,
  actionDate: ActionDate,
  notes: Notes ?? null,
})

const writing = (deps: GatewayDeps): Operation[] => [
  writeOperation({
    id: 'addBatch',
    method: 'POST',
    path: '/v1/batches',
    tag,
    summary: 'Add a batch: an empty one, to which lines can be added',
    body: BatchIn,
    success: { status: 201, schema: batchShape.schema, headers: ['ETag', 'Location'] },
    refusals: { 409: 'The gateway takes no such batch, or its last moment for the day has passed' },
    references: (tx, context, { body }, problems) => resolveBatch(tx, context, body, problems),
    write: async (tx, context, { body }, _record, gateway) =>
      created(
        await addBatch(tx, context, deps, gateway as Gateway, { ...wantedOf(body), isServiceMade: false }),
        context,
      ),
  }),
  writeOperation({
    id: 'editBatch',
    method: 'PUT',
    path: '/v1/batches',
    tag,
    summary: 'Edit a batch that is open, failed, or waits for its release: it is open then',
    body: BatchEditIn,
    success: { status: 204 },
    refusals: { 404: 'There is no such batch', 409: 'The state of the batch, its gateway or a line stands against it' },
    record: (tx, _context, { body }) => lockedBatch(tx, body?.BatchToken),
    etag: (batch) => (batch ? batchEtag(batch) : ''),
    references: (tx, context, { body }, problems) => resolveBatch(tx, context, body, problems),
    write: async (tx, context, { body }, batch, gateway) =>
      noContent(batchEtag(await editBatch(tx, context, deps, batch as Batch, gateway as Gateway, wantedOf(body)))),
  }),
]

export const batchOperations = (deps: GatewayDeps): Operation[] => [...reading, ...writing(deps)]
