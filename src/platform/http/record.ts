import { type Fault, missing } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import type { RecordShape } from '../wire/columns.ts'
import { type RequestContext, writingOf } from './context.ts'
import { pathId } from './handle.ts'
import {
  type Answer,
  noContent,
  type Operation,
  type PathParams,
  readOperation,
  type WriteOperation,
} from './operation.ts'

/** One kind of record that requests name in their path, declared: how it is found, locked, written and told apart from an older state. */
export interface RecordDeclaration<Row, Code extends string> {
  /** The snake_case word of its events and of the code of a 404: customer_note. */
  code: Code
  /** Its name in a sentence: customer note. */
  name: string
  /** The parameter of its paths, and the field that a 404 names: customerNoteID. */
  param: string
  /** Its collection; the identifier follows: /v1/customernotes. */
  path: string
  out: RecordShape<Row>
  idOf(row: Row): Id
  find(db: Queryable, context: RequestContext, id: Id): Promise<Row | undefined>
  /** Locks it for a change. */
  lock(tx: Transaction, context: RequestContext, id: Id): Promise<Row | undefined>
  /** Changes with whatever a PUT would replace. */
  etag(row: Row): string
}

type OneRecord<Row> = Pick<WriteOperation<Row>, 'method' | 'path' | 'success' | 'etag'> & {
  record(tx: Transaction, context: RequestContext, input: { params: PathParams }): Promise<Row>
}

export interface RecordKind<Row, Code extends string> extends RecordDeclaration<Row, Code> {
  /** Makes the 404 of an identifier that no record has. */
  unknown(id: Id | string): Fault
  /** Reads the identifier of a path; one that cannot be is a 404. */
  pathId(params: PathParams): Id
  /** Finds the record of a path, or throws its 404. */
  found(db: Queryable, context: RequestContext, params: PathParams): Promise<Row>
  /** Locks the record of a path, or throws its 404. */
  locked(tx: Transaction, context: RequestContext, params: PathParams): Promise<Row>
  write(row: Row, context: RequestContext): string
  /** Answers the record with its ETag. */
  answer(row: Row, context: RequestContext): Answer
  /** Answers 201 with a record that was added, and where it is. */
  created(row: Row, context: RequestContext): Answer
  /** Answers 204 with the ETag of what the record is now. */
  edited(row: Row): Answer
  /** Method, path, success, record and ETag of the operation that replaces the record of a path. */
  editing: OneRecord<Row>
  /** The same of the operation that deletes it. */
  deleting: OneRecord<Row>
  /** Declares the operation that reads one record. */
  readOperation(about: { id: string; tag: string; summary: string }): Operation
}

/** Completes the declaration of a record by what follows from it. */
export function recordKind<Row, Code extends string>(declared: RecordDeclaration<Row, Code>): RecordKind<Row, Code> {
  const { code, name, param, path, out } = declared
  const unknown = (id: Id | string) => missing(`${code}_unknown`, `There is no ${name} ${id}.`, param)
  const idIn = (params: PathParams) => pathId(params, param, unknown)
  const orUnknown = async (id: Id, row: Promise<Row | undefined>): Promise<Row> => {
    const found = await row
    if (found === undefined) throw unknown(id)
    return found
  }
  const one = {
    path: `${path}/{${param}}`,
    success: { status: 204 },
    record: (tx: Transaction, context: RequestContext, input: { params: PathParams }) =>
      kind.locked(tx, context, input.params),
    etag: (row: Row) => declared.etag(row),
  }
  const kind: RecordKind<Row, Code> = {
    ...declared,
    unknown,
    pathId: idIn,
    found: (db, context, params) => orUnknown(idIn(params), declared.find(db, context, idIn(params))),
    locked: (tx, context, params) => orUnknown(idIn(params), declared.lock(tx, context, idIn(params))),
    editing: { ...one, method: 'PUT' },
    deleting: { ...one, method: 'DELETE' },
    write: (row, context) => out.write(row, writingOf(context)),
    answer: (row, context) => ({ status: 200, body: kind.write(row, context), etag: declared.etag(row) }),
    created: (row, context) => ({
      ...kind.answer(row, context),
      status: 201,
      headers: { location: `${path}/${declared.idOf(row)}` },
    }),
    edited: (row) => noContent(declared.etag(row)),
    readOperation: (about) =>
      readOperation({
        ...about,
        method: 'GET',
        path: `${path}/{${param}}`,
        success: { status: 200, schema: out.schema },
        read: async (db, context, { params }) => kind.answer(await kind.found(db, context, params), context),
      }),
  }
  return kind
}
