import type { RequestContext } from '../../kernel/context.ts'
import type { Sealer } from '../../platform/envelope/envelope.ts'
import { listOperation } from '../../platform/http/list.ts'
import type { Operation } from '../../platform/http/operation.ts'
import { readableKind } from '../../platform/http/record.ts'
import { readableMail } from './mail.ts'
import { countMails, findMail, listMails, type Mail } from './queries.ts'
import { mailShape } from './wire.ts'

const tag = 'Outbox'

export const outboxOperations = ({ sealer }: { sealer: Sealer }): Operation[] => {
  const readable = (mail: Mail, { account, hasMailServer }: RequestContext) =>
    readableMail(account.id, mail, sealer, account.mode === 'test' && !hasMailServer)
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
  ]
}
