import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { TestService } from '../support/app.ts'

/** The OpenAPI document of the service, as its clients see it: tests that work from it grow with every operation on their own. */

export interface JsonSchema {
  type?: string | string[]
  format?: string
  description?: string
  enum?: unknown[]
  examples?: unknown[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  $ref?: string
  maximum?: number
  minItems?: number
}

interface Media {
  [type: string]: { schema?: JsonSchema; example?: unknown }
}

interface DocumentedResponse {
  content?: Media
  headers?: Record<string, unknown>
  $ref?: string
}

export interface DocumentedOperation {
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  pathParams: string[]
  query: { name: string; schema: JsonSchema }[]
  /** Schema of a JSON body, without references; undefined when the operation has none. */
  body: JsonSchema | undefined
  example: unknown
  /** Media types of a body that is no JSON. */
  rawTypes: string[]
  success: number
  /** It answers 202 while the outcome of its call outside is not known. */
  isPending: boolean
  declared: number[]
  responses: Record<string, DocumentedResponse>
  hasIfMatch: boolean
}

interface RawOperation {
  operationId: string
  parameters?: { name: string; in: string; schema: JsonSchema }[]
  requestBody?: { content: Media }
  responses: Record<string, DocumentedResponse>
  security?: object[]
}

export interface ApiDocument {
  openapi: string
  paths: Record<string, Record<string, RawOperation>>
  components: { schemas: Record<string, JsonSchema>; responses: Record<string, DocumentedResponse> }
}

export async function readDocument(service: TestService): Promise<ApiDocument> {
  return (await service.anonymous.get('/openapi.json')).body
}

const nameOf = (reference: string): string => reference.split('/').at(-1) ?? ''

/** A schema with its references put in their places; schemas of bodies lead to none of themselves. */
function inlined(value: unknown, document: Pick<ApiDocument, 'components'>): unknown {
  if (Array.isArray(value)) return value.map((entry) => inlined(entry, document))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as JsonSchema
  if ($ref) return inlined(document.components.schemas[nameOf($ref)], document)
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, inlined(inner, document)]))
}

/** A choice of bodies is taken as one body with the fields of all: which of them go together is for the operation to refuse. */
const joined = (body: JsonSchema | undefined): JsonSchema | undefined =>
  body?.anyOf
    ? { type: 'object', properties: Object.assign({}, ...body.anyOf.map(({ properties }) => properties)) }
    : body

/** Objects are open to new fields for clients; here no field may come that is not declared. */
export function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, closed(one)]))
  const isObject = typeof inner['properties'] === 'object' && ([] as unknown[]).concat(inner['type']).includes('object')
  return isObject ? { ...inner, additionalProperties: false } : inner
}

/** Returns whether a key may be left out: documents that are found by a token are no operations, and tried where they are made. */
const isDownload = ({ security = [] }: RawOperation): boolean => security.length > 1

export function operationsOf(document: ApiDocument): DocumentedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, raw]) => !isDownload(raw))
      .map(([method, raw]) => {
        const { parameters = [], requestBody } = raw
        const responses = Object.fromEntries(
          Object.entries(raw.responses).map(([status, response]) => [
            status,
            response.$ref ? (document.components.responses[nameOf(response.$ref)] ?? {}) : response,
          ]),
        )
        const statuses = Object.keys(responses).map(Number)
        const done = statuses.filter((status) => status < 300)
        // Beside its own, a change that can be previewed has the 200 of the preview, and one that calls outside 202 while nothing is known.
        const atOnce = done.filter((status) => status !== 202)
        return {
          id: raw.operationId,
          method: method.toUpperCase() as DocumentedOperation['method'],
          path,
          pathParams: parameters.filter((one) => one.in === 'path').map(({ name }) => name),
          query: parameters.filter((one) => one.in === 'query'),
          body: joined(inlined(requestBody?.content['application/json']?.schema, document) as JsonSchema | undefined),
          example: requestBody?.content['application/json']?.example,
          rawTypes: Object.keys(requestBody?.content ?? {}).filter((type) => type !== 'application/json'),
          success: Math.max(...(atOnce.length > 0 ? atOnce : done)),
          isPending: statuses.includes(202) && atOnce.length > 0,
          declared: statuses.filter((status) => status >= 400),
          responses,
          hasIfMatch: parameters.some(({ name }) => name === 'If-Match'),
        }
      }),
  )
}

export interface Answered {
  status: number
  text: string
  headers: Record<string, unknown>
}

/** Headers that follow from the operation and not from the way to it. */
const DECLARED_HEADERS = [
  'ETag',
  'Location',
  'Link',
  'Idempotency-Replayed',
  'Preference-Applied',
  'Retry-After',
  'WWW-Authenticate',
]
/**
 * Those that every answer carries for which they are declared. A conflict can last; a page can be the only one; a 200 that can be a
 * representation can be a preview, which has no ETag.
 */
const isAlwaysSent = (header: string, status: number): boolean =>
  ['ETag', 'Location', 'X-Request-Id'].includes(header) || (header === 'Retry-After' && status !== 409)

function wrongHeaders({ headers: declared = {} }: DocumentedResponse, { status, headers }: Answered): string[] {
  const isSent = (header: string) => headers[header.toLowerCase()] !== undefined
  const isPreview = Object.hasOwn(declared, 'Preference-Applied') && !isSent('Preference-Applied')
  return [
    ...DECLARED_HEADERS.filter((header) => isSent(header) && !Object.hasOwn(declared, header)).map(
      (header) => `${header} is answered and not declared`,
    ),
    ...Object.keys(declared)
      .filter((header) => isAlwaysSent(header, status) && !isSent(header) && !(header === 'ETag' && isPreview))
      .map((header) => `${header} is declared and not answered`),
  ]
}

/** Returns the problem with the type of a body; undefined if it is one of those declared. */
function wrongType(content: Media, type: string, text: string): string | undefined {
  const media = Object.keys(content)
  if (media.length === 0) return text === '' ? undefined : `a body is answered, none is declared: ${text.slice(0, 200)}`
  return media.some((one) => type.startsWith(one)) ? undefined : `${type} is answered, ${media.join()} is declared`
}

/**
 * Returns a function that finds the problem of an answer, compared with its operation in the document; undefined if there is none. A 500 is
 * declared by every operation and is a problem all the same, unless the service was broken on purpose.
 */
export function answerChecker(
  document: ApiDocument,
  { isBroken = false } = {},
): (operation: DocumentedOperation, answer: Answered) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: false })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  const elsewhere = (schema: object): object =>
    JSON.parse(JSON.stringify(closed(schema)).replaceAll('"#/components', '"document#/components'))
  ajv.addSchema({ $id: 'document', components: elsewhere(document.components) })
  const compiled = new Map<string, ValidateFunction>()
  const compile = (name: string, schema: JsonSchema): ValidateFunction => {
    let validate = compiled.get(name)
    if (!validate) compiled.set(name, (validate = ajv.compile(elsewhere(schema))))
    return validate
  }
  return (operation, answered) => {
    const { status, text, headers } = answered
    if (status === 500 && !isBroken) return `the service failed: ${text.slice(0, 300)}`
    const response = operation.responses[String(status)]
    if (!response) return `status ${status} is not declared: ${text.slice(0, 300)}`
    const [wrong = wrongType(response.content ?? {}, String(headers['content-type'] ?? ''), text)] = wrongHeaders(
      response,
      answered,
    )
    if (wrong !== undefined) return wrong
    const content = response.content?.['application/json']
    if (!content?.schema || !String(headers['content-type']).startsWith('application/json')) return undefined
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      return `the body is no JSON: ${text.slice(0, 200)}`
    }
    const validate = compile(`${operation.id} ${status}`, content.schema)
    return validate(body) ? undefined : `the body does not fit its schema: ${ajv.errorsText(validate.errors)}`
  }
}
