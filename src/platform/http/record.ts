import { identifies } from '../wire/shared-sentences.ts'
import { pathParameter } from './path-parameters.ts'
import { type Fault, missing } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Queryable, Snapshot, Transaction } from '../database/database.ts'
import type { RecordShape } from '../wire/columns.ts'
import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { pathId } from './handle.ts'
import {
  lookupOperation,
  type Operation,
  type PathParams,
  type Representation,
  type WriteOperation,
} from './operation.ts'
import { type Answer, noContent } from './answer.ts'

/** Declaration of a kind of record that requests name in their path: how it is found and written. */
export interface ReadableDeclaration<Row, Code extends string> {
  /** The snake_case word of its events and of the code of a 404: customer_note. */
  code: Code
  /** Its name in a sentence: customer note. */
  name: string
  /** The parameter of its paths, and the field that a 404 names: customerNoteID. */
  param: string
  /** Its name in the sentence of that parameter, if another. */
  identified?: string
  /** Its collection; the identifier follows: /v1/customernotes. */
  path: string
  out: Pick<RecordShape<Row>, 'schema' | 'write'>
  idOf(row: Row): Id
  /** Asks for all that it needs at once: it is a look-up. */
  find(db: Queryable, context: RequestContext, id: Id): Promise<Row | undefined>
  /** Answers a record that has more rows than a look-up may have; undefined where there is none. Left out: as any other. */
  answerLong?(db: Snapshot, context: RequestContext, id: Id): Promise<Answer | undefined>
  /** Changes with whatever a PUT would replace. */
  etag?(row: Row): string
}

/**
 * Declaration of a kind of record that requests change: it is locked first, and its ETag distinguishes it from an older state. Locked is
 * the type of the row that locking reads: less than Row if an answer shows sums and counts that no change needs.
 */
export interface RecordDeclaration<Row extends Locked, Code extends string, Locked = Row> extends ReadableDeclaration<
  Row,
  Code
> {
  lock(tx: Transaction, context: RequestContext, id: Id): Promise<Locked | undefined>
  etag(row: Locked): string
}

export interface ReadableKind<Row, Code extends string> extends ReadableDeclaration<Row, Code> {
  /** Makes the 404 of an identifier that no record has. */
  unknown(id: Id | string): Fault
  /** Reads the identifier of a path; one that cannot be is a 404. */
  pathId(params: PathParams): Id
  /** Finds the record of a path, or throws its 404. */
  found(db: Queryable, context: RequestContext, params: PathParams): Promise<Row>
  write(row: Row, context: RequestContext): string
  /** Answers the record, with its ETag where it has one. `written` is its text, where there is one. */
  answer(row: Row, context: RequestContext, written?: string): Answer
  /** Answers 201 with a record that was added, and where it is. */
  created(row: Row, context: RequestContext, written?: string): Answer
  /** The 200 of changes of the record of a path, for requests that prefer return=representation. */
  representation: Representation
  /** Declares the operation that reads one record. */
  readOperation(about: { id: string; tag: string; summary: string }): Operation
}

type OneRecord<Row> = Pick<WriteOperation<Row>, 'method' | 'path' | 'success' | 'etag'> & {
  record(tx: Transaction, context: RequestContext, input: { params: PathParams }): Promise<Row>
}

export interface RecordKind<Row extends Locked, Code extends string, Locked = Row> extends ReadableKind<Row, Code> {
  etag(row: Locked): string
  /** Locks the record of a path, or throws its 404. */
  locked(tx: Transaction, context: RequestContext, params: PathParams): Promise<Locked>
  /** Answers 204 with the ETag of what the record is now. */
  edited(row: Locked): Answer
  /** Method, path, success, record and ETag of the operation that replaces the record of a path. */
  editing: OneRecord<Locked> & { representation: Representation }
  /** The same of the operation that deletes it. */
  deleting: OneRecord<Locked>
}

/** Completes the declaration of a record that is only read by what follows from it. */
export function readableKind<Row, Code extends string>(
  declared: ReadableDeclaration<Row, Code>,
): ReadableKind<Row, Code> {
  const { code, name, param, path, out, answerLong } = declared
  pathParameter(param, identifies(declared.identified ?? name))
  const kind: ReadableKind<Row, Code> = {
    ...declared,
    unknown: (id) => missing(`${code}_unknown`, `There is no ${name} ${id}.`, param),
    pathId: (params) => pathId(params, param, kind.unknown),
    found: async (db, context, params) => {
      const id = kind.pathId(params)
      const row = await declared.find(db, context, id)
      if (row === undefined) throw kind.unknown(id)
      return row
    },
    write: (row, context) => out.write(row, writingOf(context)),
    answer: (row, context, written) => ({
      status: 200,
      body: written ?? kind.write(row, context),
      ...(declared.etag ? { etag: declared.etag(row) } : {}),
    }),
    created: (row, context, written) => ({
      ...kind.answer(row, context, written),
      status: 201,
      headers: { location: `${path}/${declared.idOf(row)}` },
    }),
    representation: {
      schema: out.schema,
      ...(declared.etag ? { headers: ['ETag'] as const } : {}),
      read: async (tx, context, { params }) => kind.answer(await kind.found(tx, context, params), context),
    },
    readOperation: (about) =>
      lookupOperation({
        ...about,
        path: `${path}/{${param}}`,
        success: { status: 200, schema: out.schema },
        read: async (db, context, { params }) => kind.answer(await kind.found(db, context, params), context),
        ...(answerLong
          ? {
              readLong: async (db, context, { params }) => {
                const id = kind.pathId(params)
                const answer = await answerLong(db, context, id)
                if (answer === undefined) throw kind.unknown(id)
                return answer
              },
            }
          : {}),
      }),
  }
  return kind
}

/** Completes the declaration of a record that requests change by what follows from it. */
export function recordKind<Row extends Locked, Code extends string, Locked = Row>(
  declared: RecordDeclaration<Row, Code, Locked>,
): RecordKind<Row, Code, Locked> {
  const readable = readableKind(declared)
  const locked: RecordKind<Row, Code, Locked>['locked'] = async (tx, context, params) => {
    const id = readable.pathId(params)
    const row = await declared.lock(tx, context, id)
    if (row === undefined) throw readable.unknown(id)
    return row
  }
  const one = {
    path: `${declared.path}/{${declared.param}}`,
    success: { status: 204 },
    record: (tx: Transaction, context: RequestContext, input: { params: PathParams }) =>
      locked(tx, context, input.params),
    etag: (row: Locked) => declared.etag(row),
  }
  return {
    ...readable,
    etag: (row) => declared.etag(row),
    locked,
    edited: (row) => noContent(declared.etag(row)),
    editing: { ...one, method: 'PUT', representation: readable.representation },
    deleting: { ...one, method: 'DELETE' },
  }
}
