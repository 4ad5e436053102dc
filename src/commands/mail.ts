import { randomUUID } from 'node:crypto'
import { getAccount, listAllAccounts } from '../features/accounts/queries.ts'
import { countMailsByStatus, lockHeldMails, lockMail, MAIL_STATUSES } from '../features/outbox/queries.ts'
import { releaseMail } from '../features/outbox/release.ts'
import { STATUS_WORDS } from '../features/outbox/wire.ts'
import { backgroundContext, momentOf } from '../kernel/context.ts'
import { conflict, missing } from '../kernel/fault.ts'
import type { AccountId, Id } from '../kernel/ids.ts'
import { plural } from '../kernel/text.ts'
import { sendsMail } from '../platform/config.ts'
import { type Sending, SmtpLine } from '../platform/smtp/connection.ts'
import { writeMessage } from '../platform/smtp/message.ts'
import { smtpSettings } from '../platform/smtp/settings.ts'
import { chosenAccount } from './chosen-account.ts'
import { type CommandContext, withDatabase } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { printJson, printLine, printTable } from './output.ts'

/** `perennial mail …`: the outbox of all accounts, and a try of the mail server. */

/** Counts the mail of one account, or of each, by status. */
export async function mailStatusCommand(context: CommandContext, account: AccountId | undefined): Promise<number> {
  const counted = await withDatabase(context, async (db) => {
    const accounts = account === undefined ? await listAllAccounts(db.unscoped) : [await chosenAccount(db, account)]
    return Promise.all(
      accounts.map(async ({ id }) => {
        const found = await countMailsByStatus(db.reader(id), id)
        const countOf = (status: string) => Number(found.find((one) => one.status === status)?.count ?? 0n)
        return { id, counts: MAIL_STATUSES.map((status) => [STATUS_WORDS[status], countOf(status)] as const) }
      }),
    )
  })
  if (context.isJson) printJson(counted.map(({ id, counts }) => ({ AccountID: id, ...Object.fromEntries(counts) })))
  else
    printTable(
      ['Account', ...MAIL_STATUSES.map((status) => STATUS_WORDS[status])],
      counted.map(({ id, counts }) => [String(id), ...counts.map(([, count]) => String(count))]),
    )
  return EXIT.done
}

/** Queues one mail of an account by hand, or all that are held. */
export async function releaseMailCommand(
  context: CommandContext,
  named: { account: AccountId | undefined; mail: Id | undefined },
): Promise<number> {
  const { id, released } = await withDatabase(context, async (db) => {
    const { id } = await chosenAccount(db, named.account)
    const account = await getAccount(db.reader(id), id)
    const about = backgroundContext(account, momentOf(account, Date.now), {
      actor: 'command line',
      hasMailServer: sendsMail(context.config),
    })
    return db.transaction(account.id, async (tx) => {
      const found = named.mail === undefined ? await lockHeldMails(tx) : [await lockMail(tx, named.mail)]
      for (const mail of found) {
        if (!mail) throw missing('outbox_mail_unknown', `Account ${account.id} has no mail ${named.mail}.`)
        await releaseMail(tx, about, mail)
      }
      return { id: account.id, released: found.length }
    })
  })
  if (context.isJson) printJson({ AccountID: id, Released: released })
  else printLine(`${plural(released, 'mail')} of account ${id} will be sent.`)
  return EXIT.done
}

/** Hands a mail to the mail server and shows its reply. */
export async function testMailCommand({ config, isJson }: CommandContext, address: string): Promise<number> {
  const { smtpUrl, mailFrom } = config
  const settings = smtpUrl === undefined ? undefined : smtpSettings(smtpUrl)
  if (settings === undefined || mailFrom === undefined)
    throw conflict('mail_not_set_up', 'Set SMTP_URL and MAIL_FROM first: without them no mail leaves.')
  const bytes = await writeMessage({
    from: { name: 'Perennial', address: mailFrom },
    replyTo: null,
    to: address,
    cc: null,
    subject: 'A test of Perennial',
    messageId: `<${randomUUID()}@${mailFrom.split('@').at(-1)}>`,
    date: new Date(),
    text: 'The mail server takes mail of this installation of Perennial.\n',
    html: '<!doctype html><html lang="en"><title>Test</title><p>The mail server takes mail of this installation of Perennial.</p></html>',
    headers: { 'Auto-Submitted': 'auto-generated' },
    attachments: [],
  })
  const line = new SmtpLine({ settings })
  const sending = await line.send({ from: mailFrom, to: [address], bytes, handOver: async () => true })
  line.close()
  const reply = replyOf(sending)
  if (isJson) printJson({ Outcome: sending.outcome, Reply: reply })
  else printLine(`${sending.outcome}: ${reply ?? 'no reply'}`)
  return sending.outcome === 'taken' ? EXIT.done : EXIT.failed
}

function replyOf(sending: Sending): string | null {
  if ('reply' in sending && sending.reply) return sending.reply.text
  return 'reason' in sending ? sending.reason : null
}
