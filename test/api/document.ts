import type { ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { TestService } from '../support/app.ts'

/** The OpenAPI document of the service, as its clients see it: tests that work from it grow with every operation by themselves. */

export interface JsonSchema {
  type?: string | string[]
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
  [type: string]: { schema?: JsonSchema }
}

export interface DocumentedOperation {
  id: string
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  pathParams: string[]
  query: { name: string; schema: JsonSchema }[]
  /** Schema of a JSON body; undefined when the operation has none. */
  body: JsonSchema | undefined
  /** Media types of a body that is no JSON. */
  rawTypes: string[]
  success: number
  declared: number[]
  responses: Record<string, { content?: Media }>
  hasIfMatch: boolean
}

interface RawOperation {
  operationId: string
  parameters?: { name: string; in: string; schema: JsonSchema }[]
  requestBody?: { content: Media }
  responses: Record<string, { content?: Media }>
}

export interface ApiDocument {
  openapi: string
  paths: Record<string, Record<string, RawOperation>>
  components: { schemas: Record<string, JsonSchema> }
}

export async function readDocument(service: TestService): Promise<ApiDocument> {
  return (await service.anonymous.get('/openapi.json')).body
}

export function operationsOf(document: ApiDocument): DocumentedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => {
      const { parameters = [], requestBody, responses } = raw
      const statuses = Object.keys(responses).map(Number)
      return {
        id: raw.operationId,
        method: method.toUpperCase() as DocumentedOperation['method'],
        path,
        pathParams: parameters.filter((one) => one.in === 'path').map(({ name }) => name),
        query: parameters.filter((one) => one.in === 'query'),
        body: requestBody?.content['application/json']?.schema,
        rawTypes: Object.keys(requestBody?.content ?? {}).filter((type) => type !== 'application/json'),
        // Beside its own, a change that can be previewed has the 200 of the preview.
        success: Math.max(...statuses.filter((status) => status < 300)),
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
  type: string
}

/** What is wrong with an answer, held against what the document says of its operation; undefined when nothing is. */
export function answerChecker(
  document: ApiDocument,
): (operation: DocumentedOperation, answer: Answered) => string | undefined {
  const ajv = new Ajv2020({ strict: false, allErrors: false })
  ;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
  const elsewhere = (schema: object): object =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components'))
  ajv.addSchema({ $id: 'document', components: elsewhere(document.components) })
  const compiled = new Map<string, ValidateFunction>()
  const compile = (name: string, schema: JsonSchema): ValidateFunction => {
    let validate = compiled.get(name)
    if (!validate) compiled.set(name, (validate = ajv.compile(elsewhere(schema))))
    return validate
  }
  return (operation, { status, text, type }) => {
    const response = operation.responses[String(status)]
    if (!response) return `status ${status} is not declared: ${text.slice(0, 300)}`
    const [media, content] = Object.entries(response.content ?? {})[0] ?? []
    if (!content?.schema || media === undefined)
      return text === '' ? undefined : `a body is answered, none is declared: ${text.slice(0, 200)}`
    const isOfType = media.endsWith('/*') ? type.startsWith(media.slice(0, -1)) : type.startsWith(media)
    if (!isOfType) return `${type} is answered, ${media} is declared`
    if (!media.includes('json')) return undefined
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
