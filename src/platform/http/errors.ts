import { SHARED } from '../wire/shared-sentences.ts'
import { Fault, type FaultKind, type Problem } from '../../kernel/fault.ts'
import { outList, outObject, outText, orNull } from '../wire/write.ts'

export const STATUS: Record<FaultKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  method: 405,
  conflict: 409,
  gone: 410,
  stale: 412,
  too_large: 413,
  not_json: 415,
  reused: 422,
  throttled: 429,
  busy: 409,
  unavailable: 503,
  broken: 500,
}

const ErrorBody = outObject(
  {
    Errors: outList(
      outObject({
        Message: outText(SHARED.Problem),
        Code: outText('The code of the problem, for programs; it stays the same where the text changes.'),
        Field: orNull(outText('The field of the request that the problem is about; null where it is about none.')),
      }),
      'All problems of the request.',
    ),
  },
  'Errors',
)

export const errorSchema = ErrorBody.schema

/** More than any honest body can have; a hostile one must not be answered with many times its own size. */
const PROBLEMS_MAX = 5000

export function errorBody(problems: readonly Problem[]): string {
  const shown = problems.slice(0, PROBLEMS_MAX).map(({ message, code, field }) => ({
    Message: message,
    Code: code,
    Field: field,
  }))
  const omitted = problems.length - shown.length
  if (omitted > 0) shown.push({ Message: `There are ${omitted} more problems.`, Code: 'more_problems', Field: null })
  return ErrorBody.write({ Errors: shown })
}

/** Of a 503 that names no time of its own: none is without one. */
const RETRY_SECONDS = 2

export function faultHeaders({ kind, retryAfterSeconds }: Fault): Record<string, string> {
  const seconds = retryAfterSeconds ?? (kind === 'unavailable' ? RETRY_SECONDS : undefined)
  return {
    ...(seconds === undefined ? {} : { 'retry-after': String(seconds) }),
    ...(kind === 'unauthenticated' ? { 'www-authenticate': 'Basic realm="Perennial"' } : {}),
  }
}

/** Makes the refusal (429) of an account that waits for several expensive answers. */
export const tooManyReads = () =>
  new Fault(
    'throttled',
    [
      {
        code: 'too_many_reads',
        message: 'This account waits for several answers of this kind already: ask again when one has come.',
        field: null,
      },
    ],
    2,
  )
