import type { Schema } from '../wire/schema.ts'
import { headersOf, refusal } from './openapi-responses.ts'

/** Documents that are found by a token, as the OpenAPI document describes them: with a key, or without one where the token alone gives the right. */

export interface DescribedDownload {
  path: string
  /** The operation of GET; that of POST is named after it. */
  id: string
  tag: string
  summary: string
  /** Description of the token. */
  token: string
  /** Refusals of its own by status, each with its reason. */
  refusals: Readonly<Record<number, string>>
}

const TOKEN_MAX = 200
/** Refusals that every download can give. */
const COMMON = [400, 408, 413, 429, 500, 503]

function responsesOf({ refusals }: DescribedDownload): Record<string, Schema> {
  const common = COMMON.map((status) => [status, { $ref: `#/components/responses/Refused${status}` }])
  const own = Object.entries(refusals).map(([status, reason]) => [status, refusal(Number(status), reason)])
  return {
    200: {
      description: 'Found',
      headers: headersOf(['X-Request-Id', 'Perennial-Warning']),
      content: { 'application/pdf': { schema: { type: 'string', format: 'binary' } } },
    },
    ...Object.fromEntries([...common, ...own]),
  }
}

/** Describes GET and POST of a download. The key may be left out. */
export function describeDownload(download: DescribedDownload): Record<string, Schema> {
  const { id, tag, summary, token } = download
  const schema = { type: 'string', minLength: 1, maxLength: TOKEN_MAX, description: token }
  const form = { schema: { type: 'object', properties: { token: schema }, required: ['token'] } }
  const about = { summary, tags: [tag], security: [{ apiKey: [] }, {}] }
  const responses = responsesOf(download)
  return {
    get: { operationId: id, ...about, parameters: [{ name: 'token', in: 'query', required: true, schema }], responses },
    post: {
      operationId: `${id}ByPost`,
      ...about,
      requestBody: {
        required: true,
        content: { 'application/json': form, 'application/x-www-form-urlencoded': form },
      },
      responses,
    },
  }
}
