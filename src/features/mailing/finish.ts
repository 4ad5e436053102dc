import type { Instant } from '../../kernel/calendar.ts'
import type { RequestContext } from '../../kernel/context.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sendChanged } from '../events/queries.ts'
import { updateDatesSent } from '../invoices/state-queries.ts'
import { recordMailEvent } from '../outbox/record.ts'
import { type ClaimedMail, finishMailTry, type MailTry } from '../outbox/sending-queries.ts'

/** Writing what came of a try of a mail. */

type Claim = Pick<ClaimedMail, 'id' | 'holder' | 'takenAt' | 'documentKind' | 'documentId'>

export interface Ended {
  /** Why it was not taken: for the event of one that will not be tried again. */
  reason: string
  /** Texts that turned out to be the true ones; left out: those that are stored. */
  texts?: Pick<ClaimedMail, 'subject' | 'text' | 'html'> | undefined
}

/** Marks an invoice as sent, which has no event of its own. */
async function dated(tx: Transaction, id: Id, at: Instant): Promise<void> {
  await updateDatesSent(tx, [id], at)
  sendChanged(tx, 'invoice', [id])
}

/** Writes what came of a try. Its invoice comes first: whoever anonymises a customer locks in this order too. */
export async function finish(
  tx: Transaction,
  context: RequestContext,
  mail: Claim,
  ended: MailTry,
  { reason, texts }: Ended,
): Promise<void> {
  const isNew = ended.takenAt !== null && mail.takenAt === null
  if (isNew && mail.documentKind === 'invoice' && mail.documentId !== null)
    await dated(tx, mail.documentId, ended.takenAt as string)
  const changed = await finishMailTry(tx, mail, ended, texts)
  if (!changed || ended.status === 'queued') return
  const isSent = ended.status === 'sent'
  await recordMailEvent(tx, context, `outbox_mail.${ended.status}`, changed, isSent ? null : reason)
}
