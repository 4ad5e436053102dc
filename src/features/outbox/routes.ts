import type { RequestContext } from '../../kernel/context.ts'
import type { Sealer } from '../../platform/envelope/envelope.ts'
import { listOperation } from '../../platform/http/list.ts'
import { noContent, type Operation, writeOperation } from '../../platform/http/operation.ts'
import { readableKind } from '../../platform/http/record.ts'
import { readableMail } from './mail.ts'
import { conflict } from '../../kernel/fault.ts'
import { countMails, findMail, listMails, lockMail, type Mail } from './queries.ts'
import { recordMailEvent } from './record.ts'
import { requeueMail } from './sending-queries.ts'
import { mailShape, STATUS_WORDS } from './wire.ts'

const tag = 'Outbox'

/** Refuses (409) to send a mail that leaves by itself or has left. */
function refuseUnsendable({ id, status }: Pick<Mail, 'id' | 'status'>): void {
  if (status === 'held' || status === 'failed' || status === 'unknown') return
  throw conflict(
    'mail_not_stopped',
    `Mail ${id} is ${STATUS_WORDS[status]}: only one that is Held, Failed or Unknown is sent by hand.`,
  )
}

export const outboxOperations = ({ sealer }: { sealer: Sealer }): Operation[] => {
  const readable = (mail: Mail, { account, hasMailServer }: RequestContext) =>
    readableMail(account.id, mail, sealer, account.mode === 'test' && !(hasMailServer && account.testMailTo !== null))
  const kind = readableKind({
    code: 'outbox_mail',
    name: 'mail in the outbox with the identifier',
    param: 'outboxID',
    path: '/v1/outbox',
    out: mailShape,
    idOf: ({ id }) => id,
    find: async (db, context, id) => {
      const mail = await findMail(db, context.account.id, id)
      return mail && readable(mail, context)
    },
  })
  return [
    listOperation({
      id: 'listOutbox',
      path: '/v1/outbox',
      tag,
      summary: 'List mails, sent and waiting',
      out: mailShape,
      rows: listMails,
      complete: async (_db, context, mails) => mails.map((mail) => readable(mail, context)),
      count: countMails,
    }),
    kind.readOperation({ id: 'getOutboxMail', tag, summary: 'Read a mail of the outbox' }),
    writeOperation({
      id: 'sendOutboxMail',
      method: 'PUT',
      path: '/v1/outbox/{outboxID}/send',
      tag,
      summary: 'Send a mail that is held, has failed, or whose fate is unknown: then it may arrive twice',
      success: { status: 204 },
      refusals: { 409: 'The mail waits, is being sent, or was sent' },
      record: async (tx, _context, { params }) => {
        const id = kind.pathId(params)
        const mail = await lockMail(tx, id)
        if (!mail) throw kind.unknown(id)
        return mail
      },
      write: async (tx, context, _input, mail) => {
        refuseUnsendable(mail)
        await requeueMail(tx, mail.id)
        await recordMailEvent(tx, context, 'outbox_mail.released', mail)
        return noContent()
      },
    }),
  ]
}
