import type { Schema } from '../wire/schema.ts'
import { errorSchema } from './errors.ts'
import { exampleOf } from './examples.ts'
import { type Operation, permissionOf, type Success } from './operation.ts'
import { ANSWERED_LIKE } from './operation-examples.ts'
import { RECORDED } from './recorded.ts'
import { withFullStops } from './full-stops.ts'

/** The answers of an operation in the OpenAPI document: its success, its refusals, and the headers of both. */

const HEADERS = {
  'X-Request-Id': { name: 'RequestId', description: 'Identifies the request in the log' },
  ETag: { name: 'ETag', description: 'The state of the record, for If-Match' },
  Location: { name: 'Location', description: 'Where the new record is found' },
  Link: { name: 'Link', description: 'RFC 8288: the next and the previous page, where there is one' },
  'Total-Count': {
    name: 'TotalCount',
    description:
      'Where `total=true` was sent, how many records the list has; `10000+` where it is filtered and has more',
  },
  'Perennial-Until': {
    name: 'PerennialUntil',
    description:
      'Where `updatedSince` was sent, the instant to send next time: of the first page, if you read several. No change can be committed any more that bears an earlier one and is not in this answer',
  },
  'Idempotency-Replayed': {
    name: 'IdempotencyReplayed',
    description: 'true where the answer was kept from an earlier request with this Idempotency-Key',
  },
  'Perennial-Ignored': {
    name: 'PerennialIgnored',
    description:
      'RFC 9651: the names of the request that are not known and were ignored, each with the known one that it is `near` to; of a POST that answers the record it made also the computed fields that differ from what was sent, as `computed`. Left out where there were none',
  },
  'Preference-Applied': {
    name: 'PreferenceApplied',
    description: 'RFC 7240: `return=representation` where the request preferred it and this is what the record is now',
  },
  'Retry-After': { name: 'RetryAfter', description: 'After how many seconds to try again, where waiting can help' },
  'Perennial-Warning': {
    name: 'Warning',
    description:
      'What to know of a request that was carried out. billing_failed: what is due on the record could not be billed. unsettled;amount=7.00: so much of a credit note that was sent corrects no invoice. country_unknown;value="Atlantis": the Country of a customer names none, so that tax rules with a place are not its own. mail_needs_smtputf8: an address of the account has letters beyond ASCII before its @, for which the mail server has to offer SMTPUTF8. holder_unreadable: nothing of the AccountHolder but signs is left in the characters of SEPA. glyphs_missing;field="Customer.Name": a character of the field is in no font of documents, which show a sign in its place',
  },
  'WWW-Authenticate': { name: 'WwwAuthenticate', description: 'How to send credentials' },
} as const
type HeaderName = keyof typeof HEADERS

const SCHEMAS: Partial<Record<HeaderName, Schema>> = {
  'Retry-After': { type: 'integer', minimum: 0 },
  'Idempotency-Replayed': { type: 'string', enum: ['true'] },
}

/** Of every answer to a request that was read. */
const EVERYWHERE = ['X-Request-Id', 'Perennial-Ignored'] as const

export const headerComponents: Schema = Object.fromEntries(
  Object.entries(HEADERS).map(([header, { name, description }]) => [
    name,
    { description, schema: SCHEMAS[header as HeaderName] ?? { type: 'string' } },
  ]),
)

export const headersOf = (names: readonly HeaderName[]): Schema =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${HEADERS[name].name}` }]))

const REASONS: Record<number, string> = {
  400: 'Malformed JSON or invalid input; of a strict key or with Prefer: handling=strict also what is not known; all problems are listed',
  401: 'No credentials, or wrong ones',
  403: 'The API key may only read',
  404: 'The record that the request is about does not exist',
  408: 'The request did not arrive in time',
  409: 'The state of a record, a uniqueness rule, or a running request with the same Idempotency-Key forbids it',
  412: 'If-Match no longer holds',
  413: 'The body is too large',
  415: 'The body is of another type than the operation takes',
  422: 'The Idempotency-Key was used for another request',
  429: 'Too many requests, too many wrong credentials, or too many expensive reads at a time',
  500: 'A fault of the service; its log has it under the X-Request-Id',
  503: 'The database is away for a moment, the service is in maintenance or is being upgraded, or the read took too long',
}

const REFUSAL_HEADERS: Record<number, readonly HeaderName[]> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

/** Refused by the connection, before there is a request that could be identified. */
const UNIDENTIFIED = 408

/** Refused before anybody looks at what was sent. */
const UNREAD = new Set([401, 403, 413, 415])

const headersOfRefusal = (status: number): HeaderName[] => [
  ...(UNREAD.has(status) ? (['X-Request-Id'] as const) : EVERYWHERE),
  ...(REFUSAL_HEADERS[status] ?? []),
]

/** Describes a refusal with its reason. */
export const refusal = (status: number, description: string): Schema => ({
  description,
  ...(status === UNIDENTIFIED ? {} : { headers: headersOf(headersOfRefusal(status)) }),
  content: { 'application/json': { schema: errorSchema } },
})

/** The refusals that read the same for every operation, by name. */
export const refusalComponents: Schema = Object.fromEntries(
  Object.entries(REASONS).map(([status, reason]) => [`Refused${status}`, refusal(Number(status), reason)]),
)

/** Returns the refusals that an operation can really give, by status. */
function refusalsOf(operation: Operation): number[] {
  if (operation.isPublic) return []
  const changes = operation.kind !== 'read'
  const statuses = [
    400,
    401,
    408,
    429,
    500,
    503,
    ...(permissionOf(operation) === 'full' ? [403] : []),
    ...((operation.body && !operation.takesAnyBody) || operation.rawBody ? [413, 415] : []),
    ...(/\{\w+\}/.test(operation.path) ? [404] : []),
    ...(changes ? [409, 422] : []),
    ...(hasEtag(operation) ? [412] : []),
    ...Object.keys(operation.refusals ?? {}).map(Number),
  ]
  return [...new Set(statuses)].sort((a, b) => a - b)
}

/** Returns whether the operation compares If-Match with its record. */
export const hasEtag = (operation: Operation): boolean => operation.kind === 'write' && operation.etag !== undefined

const takes = ({ query }: Operation, name: string): boolean =>
  Object.hasOwn((query?.schema['properties'] ?? {}) as object, name)
const isPaged = (operation: Operation): boolean => takes(operation, 'page')
const isList = (operation: Operation): boolean => takes(operation, 'total')

/** Returns whether reading a path answers the ETag that a change of the same path compares. */
const isTagged = (path: string, operations: readonly Operation[]): boolean =>
  operations.some((one) => one.path === path && one.method === 'PUT' && hasEtag(one)) ||
  operations.some((one) => one.path === path && one.success.headers?.includes('ETag'))

/** Returns the operation that reads one record of the list that a POST adds to. */
const readerOfNew = (operation: Operation, operations: readonly Operation[]): Operation | undefined =>
  operations.find(
    ({ method, path }) =>
      method === 'GET' &&
      path.startsWith(`${operation.path}/{`) &&
      !path.slice(operation.path.length + 1).includes('/'),
  )

/** Returns the headers of a success: those of the record follow from what other operations do on its path. */
function successHeaders(operation: Operation, operations: readonly Operation[]): HeaderName[] {
  const { method, path, success } = operation
  const created = success.status === 201 ? readerOfNew(operation, operations) : undefined
  const isOfRecord =
    (method === 'GET' && !isPaged(operation) && isTagged(path, operations)) ||
    (method === 'PUT' && hasEtag(operation)) ||
    (created !== undefined && isTagged(created.path, operations))
  const names: HeaderName[] = [
    ...EVERYWHERE,
    ...(isOfRecord ? (['ETag'] as const) : []),
    ...(created ? (['Location'] as const) : []),
    ...(success.headers ?? []),
    ...(isPaged(operation) ? (['Link'] as const) : []),
    ...(isList(operation) ? (['Total-Count'] as const) : []),
    ...(operation.kind === 'read' && operation.asksForUpdates ? (['Perennial-Until'] as const) : []),
    ...(operation.kind === 'read' ? [] : (['Idempotency-Replayed'] as const)),
  ]
  return [...new Set(names)]
}

/** Bytes are a string of format binary, which generators know as a file; text is text. */
const mediaSchema = (type: string): Schema =>
  type.startsWith('text/') ? { type: 'string' } : { type: 'string', format: 'binary' }

/** Returns the media types that are not JSON, each with its schema. */
export const rawContent = (types: readonly string[]): Schema =>
  Object.fromEntries(types.map((type) => [type, { schema: mediaSchema(type) }]))

function contentOf(id: string, { status, schema, media = [] }: Omit<Success, 'headers'>): Schema | undefined {
  const recorded = RECORDED[id]
  const own = recorded?.status === status ? recorded.answer : undefined
  const example = own ?? RECORDED[ANSWERED_LIKE[id] ?? '']?.answer ?? (schema && exampleOf(schema))
  const json = schema ? { 'application/json': { schema: withFullStops(schema), example } } : {}
  const content = { ...json, ...rawContent(media) }
  return Object.keys(content).length > 0 ? content : undefined
}

const SUCCESS_REASONS: Record<number, string> = { 200: 'Done', 201: 'Created', 204: 'Done; no body' }

/**
 * Describes the 200 beside the success of a change: of a preview, and of a request that prefers return=representation. Where the success is a
 * 200 without a body, a body is not declared: a client could not do without it otherwise.
 */
function shownResponse(operation: Operation): Schema | undefined {
  const { preview, success } = operation
  const representation = operation.kind === 'write' ? operation.representation : undefined
  const schemas = [...(preview ? [preview] : []), ...(representation ? [representation.schema] : [])]
  if (schemas.length === 0) return undefined
  const schema = schemas.length === 1 ? withFullStops(schemas[0] as Schema) : { anyOf: schemas }
  const names = new Set<HeaderName>([
    ...EVERYWHERE,
    ...(representation?.headers ?? []),
    ...(representation ? ([...(success.headers ?? []), 'Preference-Applied', 'Idempotency-Replayed'] as const) : []),
  ])
  return {
    description: [
      ...(success.status === 200 ? ['Done; no body'] : []),
      ...(preview ? ['With preview=true: what it would do'] : []),
      ...(representation ? ['With Prefer: return=representation: what reading it answers now'] : []),
    ].join('. '),
    headers: headersOf([...names]),
    // The example of a record stands where it is read.
    ...(success.status === 200
      ? {}
      : {
          content: {
            'application/json': {
              schema,
              ...(preview ? { example: RECORDED[operation.id]?.preview ?? exampleOf(preview) } : {}),
            },
          },
        }),
  }
}

/** Describes every answer of an operation by status. `operations` are all there are. */
export function responsesOf(operation: Operation, operations: readonly Operation[]): Record<string, Schema> {
  const { success, method } = operation
  const content = contentOf(operation.id, success)
  const responses: Record<string, Schema> = {
    [success.status]: {
      description: method === 'GET' ? 'Found' : (SUCCESS_REASONS[success.status] ?? 'Done'),
      headers: headersOf(successHeaders(operation, operations)),
      ...(content ? { content } : {}),
    },
  }
  const shown = shownResponse(operation)
  if (shown) responses[200] = shown
  if (success.unchanged)
    responses[200] = {
      description: success.unchanged,
      headers: headersOf([...EVERYWHERE, 'Idempotency-Replayed']),
      ...(content ? { content } : {}),
    }
  if (success.pending)
    responses[202] = {
      description: 'Begun; the outcome is not known yet',
      headers: headersOf([
        ...EVERYWHERE,
        'Idempotency-Replayed',
        ...(operation.kind === 'long' ? (['Location', 'Preference-Applied'] as const) : []),
      ]),
      content: contentOf(operation.id, { status: 202, schema: success.pending }),
    }
  for (const status of refusalsOf(operation)) {
    const reason = operation.refusals?.[status as 404]
    responses[status] = reason ? refusal(status, reason) : { $ref: `#/components/responses/Refused${status}` }
  }
  return responses
}
