import type { FastifyRequest } from 'fastify'
import type { Fault } from '../../kernel/fault.ts'
import { isCancelled, isOutage } from '../database/failures.ts'
import { errorFacts } from '../error-facts.ts'
import type { HttpDeps } from './deps.ts'
import { loggedPath, sentTexts } from './sent-texts.ts'

/** Lines of the log about refused requests. An outage of the database is not a line for each. */

/** Logs a refusal whose reason lies in the service itself. */
export function logRefusal(
  error: unknown,
  fault: Fault | undefined,
  request: FastifyRequest,
  deps: Pick<HttpDeps, 'log' | 'outage'>,
): void {
  const code = fault?.problems[0]?.code
  const about = () => ({ requestId: request.id, method: request.method, path: loggedPath(request) })
  if (code === 'caller_gone') return deps.log.info(about(), 'a caller hung up: what was done for the request was ended')
  // Only where something is to be logged: looking through a request costs more than refusing it.
  const story = () => ({
    err: errorFacts(fault?.cause ?? error, sentTexts(request)),
    ...about(),
  })
  if (fault?.kind === 'broken') deps.log.error({ ...story(), code }, 'a request met something broken')
  // A 503 whose reason is the database's own: whoever runs it has to know that its disk is full.
  if (fault?.kind === 'unavailable' && fault.cause !== undefined) {
    if (deps.outage.isStopping && (isOutage(fault) || isCancelled(fault)))
      deps.log.info(about(), 'a statement of a request was ended, because the service stops')
    else if (isOutage(fault)) deps.outage.met(fault)
    else deps.log.warn({ ...story(), code }, 'the database could not do what a request asked for')
  }
  if (!fault) deps.log.error(story(), 'a request failed')
}
