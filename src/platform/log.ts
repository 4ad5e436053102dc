import pino, { type DestinationStream, type Level, type Logger } from 'pino'
import { errorFacts } from './error-facts.ts'
import { textCleaner } from './log-cleaning.ts'

/**
 * The log of the service: one JSON object a line. What callers send and what the database holds is theirs and has no business in it: of an
 * error only its place and cause are written, and every finished line is cleaned once more.
 */

/** Makes the log. `secrets` are texts that no line may hold, whatever brings them there. */
export function makeLog(level: Level | 'silent', secrets: readonly string[], destination: DestinationStream): Logger {
  const clean = textCleaner(secrets)
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: {
        err: (given: unknown) => (given instanceof Error ? errorFacts(given) : given),
        // The HTTP library has remarks that carry whole requests and answers.
        req: () => undefined,
        res: () => undefined,
      },
      hooks: {
        logMethod(given, method) {
          method.apply(this, withOwnWords(given as unknown[]) as Parameters<typeof method>)
        },
        streamWrite: clean,
      },
    },
    destination,
  )
}

/** Adds words to an error that is logged without any, which would lend the line its own message, uncleaned. */
function withOwnWords(given: unknown[]): unknown[] {
  const [first, words] = given
  if (first instanceof Error) return [{ err: first }, typeof words === 'string' ? words : errorFacts(first).message]
  const error = (first as { err?: unknown } | null | undefined)?.err
  if (error instanceof Error && typeof words !== 'string') return [first, errorFacts(error).message]
  // A remark whose words are its error's message adds nothing.
  if (error instanceof Error && words === error.message) return [first, errorFacts(error).message]
  return given
}
