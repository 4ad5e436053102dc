import { introduced } from '../../platform/http/tags.ts'
import { type RequestContext, type Writing, writingOf } from '../../kernel/context.ts'
import type { Problems } from '../../kernel/fault.ts'
import type { Snapshot, Transaction } from '../../platform/database/database.ts'
import { etagOfPieces } from '../../platform/http/etag.ts'
import { listOperation } from '../../platform/http/list.ts'
import { lookupOperation, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { unknownCustomer } from '../customers/record.ts'
import { type Customer, findCustomer } from '../customers/queries.ts'
import { type AdjustmentFilter, countAdjustments, listAdjustments } from '../money/adjustment-queries.ts'
import { portionsOfPositive } from '../money/positive-adjustments.ts'
import { etagWriting } from '../money/records.ts'
import { positivePieces } from '../money/shapes.ts'
import {
  addAdjustment,
  type AdjustmentName,
  editAdjustment,
  foundAdjustment,
  foundPositive,
  lockedAdjustment,
  lockedOwner,
  removeAdjustment,
  resolveAdded,
  resolveEdited,
} from './resolve.ts'
import {
  AddedOut,
  AddIn,
  adjustmentEtag,
  type AdjustmentRecord,
  adjustmentShape,
  adjustmentsShape,
  EditIn,
  type EditBody,
  GetQuery,
  listFilters,
  Naming,
  NamingIn,
  type NamingBody,
} from './wire.ts'
import { type Answer, noContent } from '../../platform/http/answer.ts'

const tag = introduced(
  'Adjustments',
  'Positive adjustments add to what a customer owes (interest, opening balances); negative ones take from it (bad debt).',
)

const answerOf = (record: AdjustmentRecord, context: RequestContext): Answer => ({
  status: 200,
  body: adjustmentShape.write(record, writingOf(context)),
  etag: adjustmentEtag(record),
})

/** Answers an adjustment of many allocations: a positive one, which any number may pay, in pieces. */
async function answerLong(db: Snapshot, context: RequestContext, name: AdjustmentName): Promise<Answer> {
  const account = context.account.id
  if (name.type === 'negative') return answerOf(await foundAdjustment(db, account, name), context)
  const row = await foundPositive(db, account, name)
  const pieces = (as: 'answered' | 'recorded', writing: Writing) =>
    positivePieces(as, row, portionsOfPositive(db, account, row.id), writing)
  const writing = writingOf(context)
  return {
    status: 200,
    etag: await etagOfPieces(pieces('recorded', etagWriting(row))),
    pieces: adjustmentShape.pieces({ ...row, allocations: [] }, writing, { adjustment: pieces('answered', writing) }),
  }
}

const reading: Operation[] = [
  listOperation({
    id: 'listAdjustments',
    path: '/v1/adjustment/list',
    tag,
    summary: 'List adjustments, of one customer or of the account',
    out: adjustmentsShape,
    filters: listFilters,
    refusals: { 404: 'There is no such customer' },
    filterOf: async ({ type, customerID, AdjustmentType, Ref }, { account }, db): Promise<AdjustmentFilter> => {
      if (customerID != null && !(await findCustomer(db, account.id, customerID))) throw unknownCustomer(customerID)
      return { type, customerId: customerID ?? null, kind: AdjustmentType ?? null, ref: Ref ?? null }
    },
    rows: listAdjustments,
    count: countAdjustments,
  }),
  lookupOperation({
    id: 'getAdjustment',
    path: '/v1/adjustment/get',
    tag,
    summary: 'Read a positive or negative adjustment',
    query: GetQuery,
    success: { status: 200, schema: adjustmentShape.schema, headers: ['ETag'] },
    refusals: { 404: 'The customer has no such adjustment' },
    read: async (db, context, { query }) => {
      const name = { type: query.type, id: query.adjustmentID, customerId: query.customerID }
      return answerOf(await foundAdjustment(db, context.account.id, name), context)
    },
    readLong: (db, context, { query }) =>
      answerLong(db, context, { type: query.type, id: query.adjustmentID, customerId: query.customerID }),
  }),
]

const editedName = (body: Partial<EditBody> | undefined): AdjustmentName | undefined =>
  body?.AdjustmentID !== undefined && body.Type !== undefined && body.customerID !== undefined
    ? { type: body.Type, id: body.AdjustmentID, customerId: body.customerID }
    : undefined

/** Reads which record is to be deleted, from the query or else the body. */
function deletedName(query: NamingBody, body: NamingBody | undefined): AdjustmentName | undefined {
  const type = query.type ?? body?.type
  const id = query.adjustmentID ?? body?.adjustmentID
  const customerId = query.customerID ?? body?.customerID
  return type && id && customerId ? { type, id, customerId } : undefined
}

function checkNaming(query: NamingBody, body: NamingBody, problems: Problems): void {
  for (const field of ['type', 'adjustmentID', 'customerID'] as const) {
    if (problems.found.some((problem) => problem.field === field)) continue
    if (query[field] && body[field] && query[field] !== body[field])
      problems.add('contradiction', field, `${field} was sent with different values in the query and the body.`)
    else if (!query[field] && !body[field])
      problems.add('required', field, `${field} is required, in the query or in the body.`)
  }
}

const locked = (tx: Transaction, name: AdjustmentName | undefined) => (name ? lockedAdjustment(tx, name) : undefined)
const etagOfRecord = (record: AdjustmentRecord | undefined): string => (record ? adjustmentEtag(record) : '')

const writing: Operation[] = [
  writeOperation({
    id: 'addAdjustment',
    method: 'POST',
    path: '/v1/adjustment/add',
    tag,
    summary: 'Add a positive or negative adjustment',
    body: AddIn,
    success: { status: 201, schema: AddedOut.schema, headers: ['ETag', 'Location'] },
    refusals: { 404: 'There is no such customer' },
    record: async (tx, _context, { body }): Promise<Customer | undefined> =>
      body?.customerID === undefined ? undefined : lockedOwner(tx, body.customerID),
    references: (tx, { moment }, { body }, problems, customer) => resolveAdded(tx, body, customer, moment, problems),
    write: async (tx, context, { body }, customer, chosen) => {
      const record = await addAdjustment(tx, context, body, customer as Customer, chosen)
      const { id } = record
      const query = new URLSearchParams({
        type: body.Type,
        adjustmentID: String(id),
        customerID: String(body.customerID),
      })
      return {
        status: 201,
        body: AddedOut.write({ isSuccess: true, AdjustmentID: id, Type: body.Type }),
        etag: adjustmentEtag(record),
        headers: { location: `/v1/adjustment/get?${query}` },
      }
    },
  }),
  writeOperation({
    id: 'editAdjustment',
    method: 'PUT',
    path: '/v1/adjustment/edit',
    tag,
    summary: 'Correct an adjustment and its allocations; of a positive one these stay when no list is sent',
    body: EditIn,
    representation: {
      schema: adjustmentShape.schema,
      headers: ['ETag'],
      read: async (tx, context, { body: { Type, AdjustmentID, customerID } }) => {
        const name = { type: Type, id: AdjustmentID, customerId: customerID }
        return answerOf(await foundAdjustment(tx, context.account.id, name), context)
      },
    },
    refusals: { 404: 'The customer has no such adjustment' },
    record: async (tx, _context, { body }) => locked(tx, editedName(body)),
    etag: etagOfRecord,
    references: (tx, { moment }, { body }, problems, present) => resolveEdited(tx, body, present, moment, problems),
    write: async (tx, context, { body }, present, chosen) =>
      noContent(adjustmentEtag(await editAdjustment(tx, context, body, present as AdjustmentRecord, chosen))),
  }),
  writeOperation({
    id: 'deleteAdjustment',
    method: 'DELETE',
    path: '/v1/adjustment/delete',
    tag,
    summary:
      'Delete an adjustment, named in the query or the body; a positive one only while nothing is allocated to it',
    query: Naming,
    body: NamingIn,
    isBodyOptional: true,
    takesAnyBody: true,
    refusals: { 404: 'The customer has no such adjustment', 409: 'Money is allocated to the positive adjustment' },
    record: async (tx, _context, { query, body }) => locked(tx, deletedName(query, body)),
    etag: etagOfRecord,
    references: async (_tx, _context, { query, body }, problems) => checkNaming(query, body, problems),
    write: async (tx, context, _input, present) => {
      if (present) await removeAdjustment(tx, context, present)
      return noContent()
    },
  }),
]

export const adjustmentOperations = (): Operation[] => [...reading, ...writing]
