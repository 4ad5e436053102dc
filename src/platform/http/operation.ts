import type { Queryable, Snapshot, Transaction } from '../database/database.ts'
import type { SettledUpdates } from '../database/updates.ts'
import type { Plans } from '../database/scoped-query.ts'
import type { AskedKind } from '../long/kinds.ts'
import type { LongWork } from '../long/presence.ts'
import type { Json } from '../wire/json.ts'
import type { BodyOf, Field, Properties } from '../wire/read.ts'
import type { Schema } from '../wire/schema.ts'
import type { Fault, Problems } from '../../kernel/fault.ts'
import type { Permission, RequestContext } from '../../kernel/context.ts'
import type { PlainWay } from './plain-body.ts'
import type { Answer } from './answer.ts'
import type { Id } from '../../kernel/ids.ts'

/** Operations of the interface, each declared once: routing, checks, documentation and handler. */

/** Values of the path by name, as sent (decoded). */
export type PathParams = Record<string, string>

export interface Input<Body, Query> {
  params: PathParams
  query: Query
  body: Body
  /** Bytes sent to an operation with a raw body, and the Content-Type that they were sent with; undefined if none were. */
  bytes?: Buffer
  contentType?: string | undefined
  url: string
  /** The address of the service as the request reached it, behind TRUST_PROXY that of the proxy. */
  address: string
  /** Preference of RFC 7240, Accept and the like, where an operation looks at them. */
  headers: Record<string, string | string[] | undefined>
  /** The request prefers return=representation: of a write that answers its representation on its own. */
  isRepresented: boolean
  /** How far changes were known before the snapshot of the answer began: of a read that asks for it by `asksForUpdates`. */
  settled?: SettledUpdates
}

/** Success answer: its status, and the schema of its JSON (none for an empty body). */
export interface Success {
  status: number
  schema?: Schema
  /** When the answer comes with 200 instead, because nothing was added. */
  unchanged?: string
  /** The answer with 202 while the outcome of a call outside is not known. */
  pending?: Schema
  /** Other media types that it comes in: beside JSON where there is a schema, else instead of it. */
  media?: readonly string[]
  /** These headers where they do not follow from the other operations on the same path, see openapi-responses.ts. */
  headers?: readonly ('ETag' | 'Location' | 'Perennial-Warning')[]
}

/**
 * Describes the 200 of a change that answers no body, to a request that prefers return=representation: it is what reading the record answers
 * then.
 */
export interface Representation<About = { params: PathParams }> extends Pick<Success, 'headers'> {
  schema: Schema
  /** Reads it in the transaction of the change; left out where the write answers it on its own, see `isRepresented` of its input. */
  read?(tx: Transaction, context: RequestContext, about: About): Promise<Answer>
}

interface Described {
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** As in the interface: /v1/customers/{customerID}. */
  path: string
  summary: string
  tag: string
  success: Success
  /** Statuses beside those that follow from the declaration itself (401, 403, 400 …), each with its reason. */
  refusals?: Partial<Record<404 | 409 | 412 | 413 | 415 | 400, string>>
  query?: Field<BodyOf<Properties>>
  /** Refuses unknown names in the query also where strictness is not asked for: of reports, a mistyped filter would answer everything. */
  hasStrictQuery?: boolean
  body?: Field<unknown>
  /** The body may be left out: its fields then come from the query. */
  isBodyOptional?: boolean
  /** Clients send left-over bodies of any kind here: looked at only when it is a JSON object. */
  takesAnyBody?: boolean
  /** Schema of the 200 answer to ?preview=true, which changes nothing. Left out: where it changes something, that is refused. */
  preview?: Schema
  /** It is no read by its kind, and all the same no change of which a preview could be wanted. */
  changesNothing?: true
  bodyBytesMax?: number
  /**
   * The field of the body that takes the number of a card; null: none does, though one may well be sent. Nowhere else in the request may one stand, and nothing of the request is repeated in
   * an answer or kept in a log.
   */
  cardNumberAt?: string | null
  /** A body that is no JSON, an image: its media types and size. It arrives as bytes. */
  rawBody?: { types: readonly string[]; bytesMax: number }
  /** Default: GET is read, everything else is full. */
  permission?: Permission
  isPublic?: boolean
}

/** A read of one snapshot: all its statements show the same moment. */
export interface ReadOperation<Body = never, Query = never, Db = Snapshot> extends Described {
  kind: 'read'
  /**
   * A record by its identifier, or what is bounded as tightly (a first page of one statement): all statements are asked for at once and
   * leave in one exchange, on shared connections. A function decides it by the query.
   */
  isLookup?: boolean | ((query: Query) => boolean)
  /** Reads much whatever it answers: few at a time, for an account until the body is made, and for the process while it reads. */
  isExpensive?: boolean
  /** Returns whether a query asks for what was changed since an instant: how far changes are known is then looked up before the snapshot begins. */
  asksForUpdates?(query: Query): boolean
  /** Finds the record that the path is about. A missing record (404) is reported before errors in query or body. */
  record?(db: Queryable, context: RequestContext, params: PathParams): Promise<unknown>
  /**
   * Reads a record that has more rows than a look-up may have, as an expensive answer; left out: as `read` does. Where it is given, `read` is
   * tried first with the bound of a look-up on the rows of each statement, also where it is none.
   */
  readLong?(db: Snapshot, context: RequestContext, input: Input<Body, Query>): Promise<Answer>
  read(db: Db, context: RequestContext, input: Input<Body, Query>): Promise<Answer>
}

/**
 * Declares that requests of an operation that come at once may share a transaction, see grouped-writes.ts. All of its work has to be about one customer,
 * who is held for it, or to add one; where it turns out to be about more it calls `alone` of its transaction before it writes anything.
 */
export interface Grouping {
  /** Returns the record that a request is about; null where it adds one, undefined where it is to be done alone. */
  recordOf(params: PathParams, body: Json | undefined): bigint | null | undefined
  /** Locks the customers of records and passes over those that others hold. Returns the customer of each record that is held. */
  hold?(tx: Transaction, records: readonly bigint[]): Promise<ReadonlyMap<bigint, bigint>>
}

export interface WriteOperation<
  Record = unknown,
  Body = never,
  Query = never,
  Found = unknown,
  Prepared = unknown,
> extends Described {
  kind: 'write'
  /** Does the slow part of the work before a connection is taken for the transaction; not called for input that could not be read. */
  prepare?(db: Queryable, context: RequestContext, input: Input<Body, Query>): Promise<Prepared>
  /** Left out: lasting. Fitted for bodies of thousands of entries. */
  plans?: Plans
  /** Reads and writes bodies in which nothing is unusual, with the same outcome; of an operation that finds no record by its path and has no representation. */
  plainWay?: PlainWay<any>
  /** Requests that come at once may share a transaction. */
  grouping?: Grouping
  /** Locks and loads the record that the request is about; a missing one is a 404 before anything else is looked at. */
  record?(tx: Transaction, context: RequestContext, input: Input<Body | undefined, Query>): Promise<Record>
  /** The present ETag of the record: given, If-Match is honoured. */
  etag?(record: Record, context: RequestContext): string
  /** Of a POST or PUT that answers no body. */
  representation?: Representation<NoInfer<Input<Body, Query>>>
  /** Checks of what the body refers to; called with the fields that could be read, so that all problems are reported together. */
  references?(
    tx: Transaction,
    context: RequestContext,
    input: Input<Partial<Body>, Query>,
    problems: Problems,
    record: Record,
  ): Promise<Found>
  /** Does the work; `found` is what `references` found, `prepared` what `prepare` made. */
  write(
    tx: Transaction,
    context: RequestContext,
    input: Input<Body, Query>,
    record: Record,
    found: Found,
    prepared: Prepared,
  ): Promise<Answer>
}

/** A run of a long operation: how it learns that it is to end, and notes how far it is. */
export interface LongRun extends LongWork {
  /** Aborted when the service takes no more work, and when the caller hangs up, where the operation ends with its caller. */
  gone?: AbortSignal
  /** Answers the caller while the operation goes on in its place; left out: the caller waits for its end. */
  answerAhead?(answer: Answer): void
}

/** Work of many transactions, such as moving a clock: of its kind an account has one at a time, in a place among those of the process. */
export interface LongOperation<Body = never, Query = never> extends Described {
  kind: 'long'
  longKind: AskedKind
  /** Ends when its caller hangs up, also while it waits for its place; left out: it goes on. */
  endsWithCaller?: boolean
  /** The refusal of a second one of its kind while one of the account runs or waits. */
  refusal(): Fault
  run(context: RequestContext, input: Input<Body, Query>, about: LongRun): Promise<Answer>
}

/**
 * Work that calls somebody outside, as a gateway: an intent is committed, then comes the call, then its result with the answer. Its checks are
 * those of a write and stand before the intent. See outward.ts.
 */
export interface OutwardOperation<
  Record = unknown,
  Body = never,
  Query = never,
  Found = unknown,
  Call = unknown,
  Result = unknown,
> extends Described {
  kind: 'outward'
  record?: WriteOperation<Record, Body, Query, Found>['record']
  references?: WriteOperation<Record, Body, Query, Found>['references']
  /** Refuses what the state forbids (409), and writes the intent or takes up the one that was begun. */
  begin(
    tx: Transaction,
    context: RequestContext,
    input: Input<Body, Query>,
    record: Record,
    found: Found,
    asked: AskedKey,
  ): Promise<Begun<Call>>
  /** Calls, without a transaction or a connection. */
  call(context: RequestContext, input: Input<Body, Query>, call: Call): Promise<Result>
  /** Writes what came of it; see OutwardSteps. The intent may have been ended by another meanwhile. */
  finish(
    tx: Transaction,
    context: RequestContext,
    input: Input<Body, Query>,
    call: Call,
    result: Result,
  ): Promise<Answer | Fault>
}

export type Operation =
  | ReadOperation<any, any, any>
  | WriteOperation<any, any, any, any, any>
  | LongOperation<any, any>
  | OutwardOperation<any, any, any, any, any, any>

/** An operation as it is declared: its fields tied to the types of the handler, and without what its kind gives. */
type Declared<Kind extends Operation, Body, Query, Given extends string> = Omit<
  Kind,
  'kind' | 'body' | 'query' | Given
> &
  Partial<Pick<Described, Given & keyof Described>> & { body?: Field<Body>; query?: Field<Query> }

/** Declares a read, by GET if nothing else stands in it. */
export const readOperation = <Body = undefined, Query = Record<string, never>>(
  operation: Declared<ReadOperation<Body, Query>, Body, Query, 'method'>,
): Operation => ({ kind: 'read', method: 'GET', ...operation }) as Operation

/** Declares a read whose statements need no answer of each other: asked for before the first is waited for, as Promise.all does. */
export const lookupOperation = <Query = Record<string, never>>(
  operation: Omit<
    Declared<ReadOperation<undefined, Query, Queryable>, undefined, Query, 'method'>,
    'isLookup' | 'isExpensive'
  >,
): Operation => ({ kind: 'read', method: 'GET', isLookup: true, ...operation }) as Operation

/** Declares a write, which answers 204 if nothing else stands in it. */
export const writeOperation = <Record = undefined, Body = undefined, Query = object, Found = void, Prepared = void>(
  operation: Declared<WriteOperation<Record, Body, Query, Found, Prepared>, Body, Query, 'success'>,
): Operation => ({ kind: 'write', success: { status: 204 }, ...operation }) as Operation

export const longOperation = <Body = undefined, Query = object>(
  operation: Declared<LongOperation<Body, Query>, Body, Query, never>,
): Operation => ({ kind: 'long', ...operation }) as Operation

export const outwardOperation = <
  Record = undefined,
  Body = undefined,
  Query = object,
  Found = void,
  Call = unknown,
  Result = unknown,
>(
  operation: Declared<OutwardOperation<Record, Body, Query, Found, Call, Result>, Body, Query, never>,
): Operation => ({ kind: 'outward', ...operation }) as Operation

export const permissionOf = (operation: Operation): Permission =>
  operation.permission ?? (operation.method === 'GET' ? 'read' : 'full')

/** The key under which a request begins its intent. */
export interface AskedKey {
  /** Sent with an Idempotency-Key: the caller can come back for the answer. */
  isKeyed: boolean
  /** The intent that the same request began under the same key and got no answer of; the operation decides whether it is still open. */
  begunIntent: Id | null
}

/** An intent that was written, with what its call needs; or an answer where nothing needs to be called any more. */
export type Begun<Call> = { intent: Id; call: Call } | { answer: Answer }
