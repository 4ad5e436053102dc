import type { RequestContext } from '../../kernel/context.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { orNull, outId, outObject, outWord } from '../../platform/wire/write.ts'
import type { EventType } from '../events/types.ts'
import { recordEvent } from '../events/record.ts'
import { TEMPLATES } from './queries.ts'
import type { ChangedMail } from './sending-queries.ts'

/** Neither address nor text: an event outlives its mail. */
const MailChangedOut = outObject({
  outboxID: outId(),
  customerID: orNull(outId()),
  Template: outWord(TEMPLATES),
})

/** Records what became of a mail. */
export const recordMailEvent = (
  tx: Transaction,
  context: RequestContext,
  type: EventType & `outbox_mail.${string}`,
  { id, customerId, template }: ChangedMail,
  reason: string | null = null,
): Promise<void> =>
  recordEvent(tx, context, {
    type,
    recordId: id,
    customerId,
    reason,
    record: MailChangedOut.write({ outboxID: id, customerID: customerId, Template: template }),
  })
