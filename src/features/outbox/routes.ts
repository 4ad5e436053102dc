import { missing } from '../../kernel/fault.ts'
import type { Account } from '../../platform/http/context.ts'
import { pathId } from '../../platform/http/handle.ts'
import { type Operation, readOperation } from '../../platform/http/operation.ts'
import { listAnswer } from '../../platform/http/paging.ts'
import { listQuery, pageOf } from '../../platform/http/query.ts'
import type { Sealer } from '../../platform/sealing.ts'
import { readableMail } from './mail.ts'
import { countMails, findMail, listMails } from './queries.ts'
import { MailOut, MailsOut, mailToWire } from './wire.ts'

const tag = 'Outbox'

const unknownMail = (id: bigint | string) =>
  missing('outbox_mail_unknown', `There is no mail ${id} in the outbox.`, 'outboxID')

export interface OutboxDeps {
  publicUrl: string | undefined
  sealer: Sealer
  hasMailServer: boolean
}

export const outboxOperations = ({ publicUrl, sealer, hasMailServer }: OutboxDeps): Operation[] => {
  const showsSecrets = (account: Account) => account.mode === 'test' && !hasMailServer
  return [
    readOperation({
      id: 'listOutbox',
      method: 'GET',
      path: '/v1/outbox',
      tag,
      summary: 'List mails, sent and waiting',
      query: listQuery({}),
      success: { status: 200, schema: MailsOut.schema },
      read: async (db, { account }, { query, url }) => {
        const page = pageOf(query)
        const rows = await listMails(db, account.id, (page.page - 1) * page.size, page.size + 1)
        return listAnswer(
          { rows, page, url, count: () => countMails(db, account.id) },
          (some) => MailsOut.write(some.map((mail) => mailToWire(readableMail(mail, sealer, showsSecrets(account))))),
          publicUrl,
        )
      },
    }),
    readOperation({
      id: 'getOutboxMail',
      method: 'GET',
      path: '/v1/outbox/{outboxID}',
      tag,
      summary: 'Read a mail of the outbox',
      success: { status: 200, schema: MailOut.schema },
      read: async (db, { account }, { params }) => {
        const id = pathId(params, 'outboxID', unknownMail)
        const mail = await findMail(db, account.id, id)
        if (!mail) throw unknownMail(id)
        return { status: 200, body: MailOut.write(mailToWire(readableMail(mail, sealer, showsSecrets(account)))) }
      },
    }),
  ]
}
