import { existsSync, readFileSync } from 'node:fs'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { Operation } from './stripe-operations.ts'

/**
 * The second judge: Stripe's own OpenAPI document, of which a cut lies beside the repository. It is three years older than the API that we speak, so its
 * words count for nothing where the declarations have newer ones; it alone states how long texts may be, and names what was needed then and is now.
 */

const CUT = new URL('../../../shared/fixtures/gateways/stripe/openapi-2023-08-16.cut.json', import.meta.url)
const COUNTS = new Set(['maxLength', 'required', 'additionalProperties'])
/** Names that the API has got since. */
const NEWER = new Set(['allowed_payment_method_types'])

interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: object }> } }>>
}

type SecondJudge = (operation: Operation, body: object) => string[]

let theJudge: SecondJudge | undefined

/** Returns a function that lists what is wrong with a body, or nothing where the document is not there. */
export const readSecondJudge = () => (theJudge ??= existsSync(CUT) ? makeJudge() : undefined)

function makeJudge(): SecondJudge {
  const { paths } = JSON.parse(readFileSync(CUT, 'utf8')) as Document
  const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false })
  const compiled = new Map<Operation, ValidateFunction>()

  return (operation, body) => {
    // Of a GET it declares an empty body, and its query in another way.
    if (operation.method !== 'POST') return []
    const template = Object.keys(paths).find((path) => path.replaceAll(/\{\w+\}/g, '*') === operation.path)
    const declared = paths[template ?? '']?.['post']?.requestBody
    const schema = declared?.content['application/x-www-form-urlencoded']?.schema
    if (schema === undefined) return []
    const check = compiled.get(operation) ?? ajv.compile(schema)
    compiled.set(operation, check)
    return check(body)
      ? []
      : (check.errors ?? [])
          .filter(counts)
          .map(({ instancePath, message, params }) =>
            [instancePath, message, params['additionalProperty']].filter(Boolean).join(' '),
          )
  }
}

const counts = ({ keyword, params }: ErrorObject) =>
  COUNTS.has(keyword) && !NEWER.has(String(params['additionalProperty']))
