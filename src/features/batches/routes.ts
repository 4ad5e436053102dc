import { introduced } from '../../platform/http/tags.ts'
import { pathParameter } from '../../platform/http/path-parameters.ts'
import { lastMoment } from '../../kernel/batch-days.ts'
import type { Instant } from '../../kernel/calendar.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, type PathParams, readOperation, writeOperation } from '../../platform/http/operation.ts'
import type { Database, Queryable, Transaction } from '../../platform/database/database.ts'
import { daysOfBatches, type GatewayDeps } from '../gateways/call.ts'
import { type Gateway, listAllGateways } from '../gateways/queries.ts'
import { addBatch, applyResults, cancelBatch, editBatch, releaseBatch, resolveBatch, submitBatch } from './actions.ts'
import { downloadFile } from './file.ts'
import { listLines } from './line-queries.ts'
import { batchLineOperations } from './line-routes.ts'
import type { LineDeps } from './lines.ts'
import { type Batch, type BatchFilter, countBatches, listBatches } from './queries.ts'
import { batchAnswer, foundBatch, lockedBatch, shownBatch, viewOf } from './record.ts'
import { checkResults, ResultsIn, resultsFromWire } from './result-wire.ts'
import { checkNotPast } from './rules.ts'
import {
  type BatchBody,
  BatchEditIn,
  batchEtag,
  batchFilters,
  BatchIn,
  BatchNameIn,
  batchShape,
  type BatchView,
  SubmitIn,
} from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

pathParameter('BatchToken', 'The token of the batch.', { type: 'string', format: 'uuid' })

const tag = introduced('Batches', 'Debits of bank accounts that go to a bank together, as a file or by a gateway.')

async function answerBatch(db: Queryable, context: RequestContext, deps: GatewayDeps, token: string): Promise<Answer> {
  const batch = await foundBatch(db, context.account.id, token)
  const [last] = await lastMomentsOf(db, context, deps, [batch])
  return batchAnswer(await viewOf(db, context, batch, last), context)
}

/** Returns until when each of some batches can be submitted, by what its gateway has set now. */
async function lastMomentsOf(
  db: Queryable,
  { account }: RequestContext,
  deps: GatewayDeps,
  batches: readonly Batch[],
): Promise<(Instant | null)[]> {
  const gateways = new Map((await listAllGateways(db, account.id)).map((gateway) => [gateway.id, gateway]))
  return batches.map(({ gatewayId, actionDate, lastMomentAt }) => {
    const gateway = gateways.get(gatewayId)
    return gateway ? lastMoment(daysOfBatches(deps, account.id, gateway), actionDate, account.timeZone) : lastMomentAt
  })
}

const reading = (deps: GatewayDeps): Operation[] => [
  listOperation({
    id: 'listBatches',
    path: '/v1/batches',
    tag,
    summary: 'List batches, without their lines',
    out: batchShape,
    rows: listBatches,
    count: countBatches,
    filters: batchFilters,
    filterOf: (query, { moment }): BatchFilter => ({
      state: query.State,
      gatewayToken: query.GatewayToken,
      from: query.ActionDateFrom,
      to: query.ActionDateTo,
      passed: query.isDayPassed == null ? null : { is: query.isDayPassed, now: moment.now },
    }),
    complete: async (db, context, rows) => {
      const moments = await lastMomentsOf(db, context, deps, rows)
      return rows.map((batch, place) => shownBatch(batch, context, moments[place] ?? null, null))
    },
  }),
  readOperation({
    id: 'getBatch',
    path: '/v1/batches/{BatchToken}',
    tag,
    summary: 'Read a batch with its lines',
    success: { status: 200, schema: batchShape.schema, headers: ['ETag'] },
    read: (db, context, { params }) => answerBatch(db, context, deps, params['BatchToken'] ?? ''),
  }),
]

/** Declares what a change of a batch answers to a request that prefers return=representation. */
const shown = { schema: batchShape.schema, headers: ['ETag'] } as const
const shownByBody = (deps: GatewayDeps) => ({
  ...shown,
  read: (tx: Transaction, context: RequestContext, { body }: { body: { BatchToken: string } }) =>
    answerBatch(tx, context, deps, body.BatchToken),
})

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

const etagOfLocked = (batch: Batch | undefined): string => (batch ? batchEtag(batch) : '')

const writing = (deps: LineDeps): Operation[] => [
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
    representation: shownByBody(deps),
    refusals: { 404: 'There is no such batch', 409: 'The state of the batch, its gateway or a line stands against it' },
    record: (tx, _context, { body }) => lockedBatch(tx, body?.BatchToken),
    etag: etagOfLocked,
    references: (tx, context, { body }, problems) => resolveBatch(tx, context, body, problems),
    write: async (tx, context, { body }, batch, gateway) =>
      noContent(batchEtag(await editBatch(tx, context, deps, batch as Batch, gateway as Gateway, wantedOf(body)))),
  }),
]

/** Declares what a PUT whose body names the batch has in common with others. */
const namedBy = (deps: GatewayDeps) =>
  ({
    method: 'PUT',
    tag,
    success: { status: 204 },
    representation: shownByBody(deps),
    etag: etagOfLocked,
  }) as const

const steps = (deps: LineDeps, named = namedBy(deps)): Operation[] => [
  writeOperation({
    ...named,
    id: 'submitBatch',
    path: '/v1/batches/submit',
    summary: 'Submit an open batch for a day: it is built at once, or when another key has released it',
    body: SubmitIn,
    record: (tx, _context, { body }) => lockedBatch(tx, body?.BatchToken),
    refusals: {
      404: 'There is no such batch',
      409: 'The batch is not open or has no lines, it is too late for the day, or its gateway is held',
    },
    references: async (_tx, { moment }, { body }, problems) => checkNotPast(body.ActionDate, moment.today, problems),
    write: async (tx, context, { body }, batch) => {
      const { notes } = batch as Batch
      const wanted = { actionDate: body.ActionDate, notes: body.Notes === undefined ? notes : body.Notes }
      return noContent(batchEtag(await submitBatch(tx, context, deps, batch as Batch, wanted)))
    },
  }),
  writeOperation({
    ...named,
    id: 'releaseBatch',
    path: '/v1/batches/release',
    summary: 'Release a batch that another key has submitted',
    body: BatchNameIn,
    record: (tx, _context, { body }) => lockedBatch(tx, body?.BatchToken),
    refusals: {
      404: 'There is no such batch',
      409: 'The batch waits for no release, this key has submitted it, or its gateway is held',
    },
    write: async (tx, context, _input, batch) =>
      noContent(batchEtag(await releaseBatch(tx, context, deps, batch as Batch))),
  }),
  writeOperation({
    ...named,
    id: 'cancelBatch',
    path: '/v1/batches/cancel',
    summary: 'Cancel a batch that was not handed over: its lines fail',
    body: BatchNameIn,
    record: (tx, _context, { body }) => lockedBatch(tx, body?.BatchToken),
    refusals: { 404: 'There is no such batch', 409: 'The batch was handed over or cancelled already' },
    write: async (tx, context, _input, batch) =>
      noContent(batchEtag(await cancelBatch(tx, context, deps, batch as Batch))),
  }),
  writeOperation({
    id: 'recordBatchResults',
    method: 'PUT',
    path: '/v1/batches/{BatchToken}/results',
    tag,
    summary: 'Record results of lines by hand, all or nothing',
    body: ResultsIn,
    representation: {
      ...shown,
      read: (tx, context, { params }) => answerBatch(tx, context, deps, params['BatchToken'] ?? ''),
    },
    refusals: { 404: 'There is no such batch', 409: 'The batch takes no results, or a line of it has failed already' },
    record: (tx, _context, { params }: { params: PathParams }) => lockedBatch(tx, params['BatchToken'] ?? ''),
    references: async (tx, { moment }, { body }, problems, batch) => {
      if (!batch) return
      const lineIds = new Set((await listLines(tx, tx.account, batch.id)).map(({ id }) => id))
      checkResults(body.Results, { batch, lineIds, today: moment.today }, problems)
    },
    write: async (tx, context, { body }, batch) => {
      await applyResults(tx, context, deps, batch as Batch, resultsFromWire(body))
      return noContent()
    },
  }),
]

/** Reads the file of a batch: it names whole bank accounts, so a key with full permission is needed, and each download is an event. */
const file = ({ db, envelope }: BatchDeps): Operation =>
  readOperation({
    id: 'getBatchFile',
    path: '/v1/batches/{BatchToken}/file',
    tag,
    summary: 'Download the file of a batch, for a key with full permission',
    permission: 'full',
    success: { status: 200, media: ['text/csv', 'application/xml', 'text/plain'] },
    refusals: { 409: 'The file is not made yet or kept no more, or its gateway is held' },
    read: (_db, context, { params }) => downloadFile(db, envelope, context, params['BatchToken'] ?? ''),
  })

interface BatchDeps extends LineDeps {
  db: Database
}

export const batchOperations = (deps: BatchDeps): Operation[] => [
  ...reading(deps),
  ...writing(deps),
  ...steps(deps),
  ...batchLineOperations(deps),
  file(deps),
]
