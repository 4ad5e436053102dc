import type { RequestContext } from '../../kernel/context.ts'
import { conflict } from '../../kernel/fault.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { LockedMail } from './queries.ts'
import { recordMailEvent } from './record.ts'
import { requeueMail } from './sending-queries.ts'
import { STATUS_WORDS } from './wire.ts'

/** Queues a locked mail by hand. Throws a Fault (409) for one that leaves on its own, or has left. */
export async function releaseMail(tx: Transaction, context: RequestContext, mail: LockedMail): Promise<void> {
  const { id, status } = mail
  if (status !== 'held' && status !== 'failed' && status !== 'unknown')
    throw conflict(
      'mail_not_stopped',
      `Mail ${id} is ${STATUS_WORDS[status]}: only one that is Held, Failed or Unknown is sent by hand.`,
    )
  await requeueMail(tx, id)
  await recordMailEvent(tx, context, 'outbox_mail.released', mail)
}
