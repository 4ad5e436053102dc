import { introduced } from '../../platform/http/tags.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { listOperation } from '../../platform/http/list.ts'
import { type Operation, writeOperation } from '../../platform/http/operation.ts'
import { readableKind } from '../../platform/http/record.ts'
import { type MailSecrets, readableMail } from './mail.ts'
import { countMails, findMail, listMails, lockMail, type Mail, type MailFilter } from './queries.ts'
import { releaseMail } from './release.ts'
import { mailFilters, mailShape, statusOfWord } from './wire.ts'
import { noContent } from '../../platform/http/answer.ts'

const tag = introduced('Outbox', 'Mails of the account: sent, waiting, or failed.')

export const outboxOperations = (secrets: MailSecrets): Operation[] => {
  /** Rule: secrets are shown in a test account from which nothing leaves, and never to a key that may only read. */
  const readable = (mail: Mail, { account, hasMailServer, caller }: RequestContext) => {
    const isKeptHere = account.mode === 'test' && !(hasMailServer && account.testMailTo !== null)
    return readableMail(account.id, mail, secrets, isKeptHere && caller.permission === 'full')
  }
  const kind = readableKind({
    code: 'outbox_mail',
    name: 'mail in the outbox with the identifier',
    identified: 'mail',
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
      filters: mailFilters,
      filterOf: ({ Status, customerID }): MailFilter => ({
        status: Status && statusOfWord(Status),
        customerId: customerID,
      }),
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
      representation: {
        ...kind.representation,
        // A mail can hold what nobody else may read.
        read: async (tx, context, input) => ({
          ...(await kind.answer(await kind.found(tx, context, input.params), context)),
          isSecret: true,
        }),
      },
      refusals: { 409: 'The mail waits, is being sent, or was sent' },
      record: async (tx, _context, { params }) => {
        const id = kind.pathId(params)
        const mail = await lockMail(tx, id)
        if (!mail) throw kind.unknown(id)
        return mail
      },
      write: async (tx, context, _input, mail) => {
        await releaseMail(tx, context, mail)
        return noContent()
      },
    }),
  ]
}
