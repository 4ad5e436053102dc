import type { RequestContext } from '../../kernel/context.ts'
import { Fault } from '../../kernel/fault.ts'
import type { Queryable } from '../../platform/database/database.ts'
import type { MailMessage } from '../../platform/smtp/message.ts'
import { findLogo } from '../accounts/queries.ts'
import type { Drawable } from '../documents/document.ts'
import type { Drawing } from '../documents/draw.ts'
import { loadCreditNoteDocument } from '../documents/load-credit-note.ts'
import { loadInvoiceDocument } from '../documents/load.ts'
import { fileNameOf } from '../documents/words.ts'
import { loadNegative } from '../money/negative-adjustments.ts'
import type { ClaimedMail } from '../outbox/sending-queries.ts'
import { readKept } from '../statements/kept.ts'
import { findStatement } from '../statements/kept-queries.ts'

/** The PDFs of mails: drawn when a mail is sent, of what its document froze. */

/** Larger mails are refused by many receivers. */
export const ATTACHED_BYTES_MAX = 5 * 1024 * 1024
/** Of a statement, as for its PDF elsewhere. */
const MOVEMENTS_MAX = 10_000

/** The document of a mail does not exist any more. */
export class DocumentGone extends Error {
  override name = 'DocumentGone'
  override message = 'its document does not exist any more'
}

export interface Attaching {
  db: Queryable
  context: RequestContext
  drawing: Drawing
}

/**
 * Returns the attachments of a mail; 'too large' where its document is, to be drawn or to be sent. Throws DocumentGone; throws a Fault where it
 * cannot be drawn now.
 */
export async function attachmentsOf(
  { db, context, drawing }: Attaching,
  mail: Pick<ClaimedMail, 'documentKind' | 'documentId' | 'customerId'>,
): Promise<MailMessage['attachments'] | 'too large'> {
  // The copy of a mandate holds the whole number of an account: it is fetched by its link.
  if (mail.documentKind === null || mail.documentKind === 'emandate') return []
  const drawable = await loadDocument(db, context, mail)
  if (drawable === 'too large') return drawable
  if (!drawable) throw new DocumentGone()
  try {
    const content = await drawing.draw(context.account.id, drawable)
    if (content.length > ATTACHED_BYTES_MAX) return 'too large'
    return [{ filename: fileNameOf(drawable, mail.documentId), content, contentType: 'application/pdf' }]
  } catch (error) {
    if (error instanceof Fault && error.kind === 'conflict') return 'too large'
    throw error
  }
}

async function loadDocument(
  db: Queryable,
  context: RequestContext,
  { documentKind, documentId, customerId }: Pick<ClaimedMail, 'documentKind' | 'documentId' | 'customerId'>,
): Promise<Drawable | 'too large' | undefined> {
  const { account } = context
  if (documentId === null || customerId === null) return undefined
  if (documentKind === 'invoice') {
    const document = await loadInvoiceDocument(db, context, documentId).catch(asGone)
    return document && { kind: 'invoice', document }
  }
  if (documentKind === 'credit_note') {
    const note = await loadNegative(db, account.id, documentId)
    return note && { kind: 'credit_note', document: await loadCreditNoteDocument(db, context, note) }
  }
  const row = await findStatement(db, account.id, customerId, documentId, MOVEMENTS_MAX)
  if (!row) return undefined
  if (row.document === null) return 'too large'
  const logo = await findLogo(db, account.id)
  return { kind: 'statement', document: readKept(row.document, logo?.content ?? null) }
}

function asGone(error: unknown): undefined {
  if (error instanceof Fault && error.kind === 'missing') return undefined
  throw error
}
