import { type RequestContext, writingOf } from '../../kernel/context.ts'
import { missing } from '../../kernel/fault.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Link } from '../../platform/page/links.ts'
import { recordEvent } from '../events/record.ts'
import type { EventType } from '../events/types.ts'
import type { MandateSetup } from './queries.ts'
import { setupShape } from './wire.ts'

export const unknownSetup = (id: Id | string) =>
  missing('mandate_setup_unknown', `There is no set-up of a mandate ${id}.`, 'mandateSetupID')

/** Returns the link to the page of a set-up. */
export const setupLink = ({ account }: Pick<RequestContext, 'account'>, record: Id): Link => ({
  ...{ kind: 'd' as const, account: account.id, record, counter: 0 },
})

/** Records a change of a set-up, without the address of its page. */
export const recordSetup = (
  tx: Transaction,
  context: RequestContext,
  type: EventType & `mandate_setup.${string}`,
  setup: MandateSetup,
): Promise<void> =>
  recordEvent(tx, context, {
    type,
    recordId: setup.id,
    customerId: setup.customerId,
    record: setupShape.write({ ...setup, url: null }, writingOf(context)),
    reason: setup.reason,
  })
