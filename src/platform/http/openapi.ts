import { type BodyOf, type Field, type Properties, propertySchema } from '../wire/read.ts'
import { components, type Schema } from '../wire/schema.ts'
import { type DescribedDownload, describeDownload } from './openapi-downloads.ts'
import { hasEtag, headerComponents, rawContent, refusalComponents, responsesOf } from './openapi-responses.ts'
import { OPERATION_EXAMPLES } from './operation-examples.ts'
import type { Operation } from './operation.ts'
import { RECORDED } from './recorded.ts'
import { withFullStops } from './full-stops.ts'
import { pathParameters } from './path-parameters.ts'
import { introductionOf } from './tags.ts'

/** The OpenAPI 3.1 document, made from the same declarations that check and answer requests. */

const ABOUT = `Recurring billing: customers, catalogue, subscriptions and invoices. Every operation acts on the account whose key is sent.

**Credentials.** HTTP Basic: the user name is the account identifier, the password an API key of that account.

**Errors.** \`{"Errors":[{"Message","Code","Field"}]}\`: all problems of a request together, each with the field it is about.

**Lists.** \`page\` counts from 1, \`page_size\` is 100 unless given and at most 200 (more is taken as 200). The \`Link\` header names the next and the previous page. \`sort=-id\` lists the newest first, \`total=true\` adds the header \`Total-Count\`. \`updatedSince\` lists what was created or changed since; the header \`Perennial-Until\` is what to send next time.

**Changes.** A PUT replaces the record: what is left out returns to its default, except what each operation keeps. \`ETag\` and \`If-Match\` guard against overwriting another's change. \`Idempotency-Key\` makes every POST, PUT and DELETE safe to repeat for 24 hours. A change that answers no body answers 200 with what reading its record answers now where \`Prefer: return=representation\` is sent, and says so in \`Preference-Applied\`.

**Unknown fields** are ignored, and every answer names them, and a POST those that it computes otherwise (\`computed\`), in \`Perennial-Ignored\`: \`"Charges[0].Quantity";near="Qty"\`. They are refused where their name differs from a known one in letter case only, where \`Prefer: handling=strict\` is sent, and for a strict key, unless \`Prefer: handling=lenient\` is sent. The same holds for query parameters; reports, ledger, statements and exports always refuse unknown ones.

**Dates.** Calendar dates are answered as midnight with the offset of the account's zone, instants in UTC. Sent are ISO dates and date-times, \`20260403\` and \`03 Apr 2026\`.

**New fields** may join any answer; a client passes over those that it does not know.

**Amounts** have at most the decimals of their currency, prices up to 8. Numbers keep their digits.`

/** Builds the document of all operations, and of the documents that are found by a token. */
export function openApiDocument(
  operations: readonly Operation[],
  about: { version: string; serverUrl: string; downloads?: readonly DescribedDownload[] },
): Schema {
  const paths: Record<string, Record<string, Schema>> = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    ;(paths[operation.path] as Record<string, Schema>)[operation.method.toLowerCase()] = describe(operation, operations)
  }
  for (const download of about.downloads ?? [])
    paths[download.path] = { ...paths[download.path], ...(describeDownload(download) as Record<string, Schema>) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Perennial',
      version: about.version,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: about.serverUrl }],
    security: [{ apiKey: [] }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name, description: introductionOf(name) })),
    paths,
    components: {
      schemas: Object.fromEntries(
        [...components].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, schema]) => [name, withFullStops(schema)]),
      ),
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'basic',
          description: 'User name: the account identifier. Password: an API key of that account.',
        },
      },
      headers: headerComponents,
      responses: refusalComponents,
    },
  }
}

function describe(operation: Operation, operations: readonly Operation[]): Schema {
  const parameters = [
    ...pathParameters(operation.path),
    ...queryParameters(operation.query),
    ...headerParameters(operation),
  ]
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [operation.tag],
    ...(operation.isPublic ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(operation),
    responses: responsesOf(operation, operations),
  }
}

function requestBody({ id, body, rawBody, isBodyOptional, takesAnyBody }: Operation): Schema {
  if (rawBody) return { requestBody: { required: true, content: rawContent(rawBody.types) } }
  if (!body) return {}
  const content = {
    'application/json': {
      schema: withFullStops(body.schema),
      example: RECORDED[id]?.body ?? OPERATION_EXAMPLES[id],
    },
  }
  return { requestBody: { required: !(isBodyOptional || takesAnyBody), content } }
}

/** Defaults of parameters: what leaving them out means. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  page: 1,
  page_size: 100,
  sort: 'id',
  total: false,
  preview: false,
}

function queryParameters(query: Field<BodyOf<Properties>> | undefined): Schema[] {
  return Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { presence, sentence, leftOut } = property
    const schema = withoutNull(propertySchema(property))
    const meaning = [sentence, leftOut].filter((one) => one !== undefined).join(' ')
    return {
      name,
      in: 'query',
      required: presence === 'required',
      schema: Object.hasOwn(DEFAULTS, name) ? { ...schema, default: DEFAULTS[name] } : schema,
      ...(meaning === '' ? {} : { description: meaning }),
    }
  })
}

function withoutNull(schema: Schema): Schema {
  const { type, enum: words, ...rest } = schema
  if (!Array.isArray(type)) return schema
  const types = type.filter((one) => one !== 'null')
  return {
    type: types.length === 1 ? types[0] : types,
    ...(Array.isArray(words) ? { enum: words.filter((one) => one !== null) } : {}),
    ...rest,
  }
}

function headerParameters(operation: Operation): Schema[] {
  if (operation.kind === 'read') return []
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    description:
      'A text of your own that makes the request safe to repeat for 24 hours: a repetition answers what the first one answered. Left out, a repetition is a new request.',
  }
  const match = {
    name: 'If-Match',
    in: 'header',
    required: false,
    schema: { type: 'string' },
    description:
      'The `ETag` of the record as you know it: where it has changed since, the answer is 412. Left out, nothing is compared.',
  }
  const prefer = {
    name: 'Prefer',
    in: 'header',
    required: false,
    schema: { type: 'string', examples: ['return=representation'] },
    description:
      'Preferences of RFC 7240. With `return=representation` the answer is 200 with what reading the record answers now, in place of one without a body. Left out, there is no body.',
  }
  const isRepresented = operation.kind === 'write' && operation.representation !== undefined
  return [key, ...(hasEtag(operation) ? [match] : []), ...(isRepresented ? [prefer] : [])]
}
