import { isOutage } from './database/failures.ts'
import { withoutTexts } from './log-cleaning.ts'

/** Facts of a failure for the log and the terminal: its place and cause, and nothing that callers sent or the database holds. */

/** Facts of an error that may be logged. Nothing else may: libraries attach requests, rows and addresses to their errors. */
export interface ErrorFacts {
  type: string
  message: string
  stack: string
  code?: string
  table?: string
  column?: string
  constraint?: string
  routine?: string
  syscall?: string
  cause?: ErrorFacts
  errors?: ErrorFacts[]
}

const TOLD = ['code', 'table', 'column', 'constraint', 'routine', 'syscall'] as const
const CAUSES_MAX = 5

/** SQLSTATE classes whose messages concern the server or the schema only; messages of all others can quote a row. */
const MESSAGE_WITHOUT_DATA = /^(?:08|0A|25|28|3D|3F|40|42|53|54|55|57|58|XX)/

/** Returns the facts of anything thrown; of a database that is away only the reason, for the place adds nothing. `sent` is what the caller has sent: no message may repeat it. */
export function errorFacts(
  error: unknown,
  sent: readonly string[] | 'too much' = [],
  depth = 0,
  hasStack = !isOutage(error),
): ErrorFacts {
  if (!(error instanceof Error))
    return { type: typeof error, message: 'something that is no error was thrown', stack: '' }
  const { cause, errors } = error as { cause?: unknown; errors?: unknown }
  const isDeep = depth >= CAUSES_MAX
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    message: messageOf(error, sent),
    // Only where it happened: the head of a stack repeats the message.
    stack: hasStack ? placesOf(error) : '',
    ...Object.fromEntries(TOLD.flatMap((name) => factOf(error, name))),
    ...(cause === undefined || isDeep ? {} : { cause: errorFacts(cause, sent, depth + 1, hasStack) }),
    ...(Array.isArray(errors) && !isDeep
      ? { errors: errors.slice(0, CAUSES_MAX).map((one) => errorFacts(one, sent, depth + 1, hasStack)) }
      : {}),
  }
}

const placesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')

const factOf = (error: Error, name: string): [string, string][] => {
  const value = (error as unknown as Record<string, unknown>)[name]
  return typeof value === 'string' ? [[name, value]] : []
}

function messageOf(error: Error, sent: readonly string[] | 'too much'): string {
  const { severity, code } = error as { severity?: string; code?: string }
  const isOfDatabase = severity !== undefined && code?.length === 5
  if (isOfDatabase && !MESSAGE_WITHOUT_DATA.test(code)) return `the database refused with ${code}`
  return sent === 'too much' ? 'left out: too much was sent to look through' : withoutTexts(error.message, sent)
}
