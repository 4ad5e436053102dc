/** The parts of an OpenAPI document that its pages show. */

export interface ShownSchema {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  default?: unknown
  enum?: unknown[]
  properties?: Record<string, ShownSchema>
  required?: string[]
  items?: ShownSchema
  anyOf?: ShownSchema[]
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: ShownSchema
}

export interface Response {
  $ref?: string
  description?: string
  content?: Record<string, { schema?: ShownSchema; example?: unknown }>
}

interface RawOperation {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema?: ShownSchema; example?: unknown }> }
  responses: Record<string, Response>
}

export interface ShownOperation extends RawOperation {
  method: string
  path: string
}

export interface OpenApi {
  info: { title: string; version: string; description: string }
  tags: { name: string; description?: string }[]
  paths: Record<string, Record<string, RawOperation>>
  components: {
    schemas: Record<string, ShownSchema>
    responses: Record<string, Response>
  }
}

/** Returns the operations of a tag, in the order of the document. */
export const operationsOf = (document: OpenApi, tag: string): ShownOperation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags[0] === tag)
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )

/** Returns the name of the component that a reference leads to; undefined for any other schema. */
export const nameOf = ({ $ref }: { $ref?: string }): string | undefined => $ref?.split('/').at(-1)

/** Returns the names of the components that a schema refers to, directly or within itself. */
export function referredIn(schema: ShownSchema): string[] {
  const name = nameOf(schema)
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(schema.anyOf ?? []),
  ]
  return [...(name === undefined ? [] : [name]), ...inner.flatMap(referredIn)]
}

/** Returns the names of the components that errors are answered in. */
export const ofRefusals = ({ components: { responses, schemas } }: OpenApi): Set<string> =>
  new Set(
    Object.values(responses).flatMap(({ content = {} }) =>
      Object.values(content).flatMap(({ schema = {} }) =>
        referredIn(schema).flatMap((name) => [name, ...referredIn(schemas[name] ?? {})]),
      ),
    ),
  )

/** Returns the tag whose page shows each component: the first that needs it. */
export function homesOf(document: OpenApi): Map<string, string> {
  const homes = new Map<string, string>()
  const visit = (tag: string, name: string): void => {
    if (homes.has(name)) return
    homes.set(name, tag)
    for (const inner of referredIn(document.components.schemas[name] ?? {})) visit(tag, inner)
  }
  for (const { name: tag } of document.tags)
    for (const { requestBody, responses } of operationsOf(document, tag)) {
      const bodies = [
        requestBody,
        ...Object.entries(responses).flatMap(([status, one]) => (status < '300' ? [one] : [])),
      ]
      for (const body of bodies)
        for (const { schema } of Object.values(body?.content ?? {}))
          if (schema) for (const name of referredIn(schema)) visit(tag, name)
    }
  // Records that no operation answers are those of events; refusals are shown with the errors.
  for (const name of Object.keys(document.components.schemas))
    if (!homes.has(name) && !ofRefusals(document).has(name)) visit('Events', name)
  return homes
}
