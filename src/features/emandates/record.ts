import type { RequestContext } from '../../kernel/context.ts'
import { writingOf } from '../../kernel/context.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import type { Mandate, MandateDeps } from './types.ts'
import { mandateToken, mandateState } from '../payment-methods/emandate.ts'
import { mandateEventShape, type MandateView } from './wire.ts'

/** Returns a mandate as it is shown now. */
export const mandateView = (
  { account, moment }: Pick<RequestContext, 'account' | 'moment'>,
  { links, realClock }: Pick<MandateDeps, 'links' | 'realClock'>,
  mandate: Mandate,
): MandateView => ({
  ...mandate,
  token: mandateToken(links, account.id, mandate.id),
  state: mandateState(mandate, { clock: moment.now, real: instantOf(realClock()) }),
})

/** Records a change of a mandate: nothing personal, and no token. */
export const recordMandate = (
  tx: Transaction,
  context: RequestContext,
  deps: Pick<MandateDeps, 'links' | 'realClock'>,
  type: EventType & `emandate.${string}`,
  mandate: Mandate,
): Promise<void> =>
  recordEvent(tx, context, {
    type,
    recordId: mandate.id,
    record: mandateEventShape.write(mandateView(context, deps, mandate), writingOf(context)),
  })
