import { REMINDER_KINDS, type ReminderKind } from '../../engine/collection/rules.ts'
import { invalid } from '../../kernel/fault.ts'
import type { AccountId, CustomerId } from '../../kernel/ids.ts'
import type { Database } from '../../platform/database/database.ts'
import { type PageOperation, pageOperation } from '../../platform/http/pages.ts'
import { languageOf } from '../../platform/locale/format.ts'
import type { PageContent } from '../../platform/page/frame.ts'
import { html } from '../../platform/page/html.ts'
import type { Link } from '../../platform/page/links.ts'
import { changeStoppedReminders } from '../customers/actions.ts'
import { findCustomer, lockCustomer } from '../customers/queries.ts'
import { stopPageWords } from './page-words.ts'

/** The page on which a customer stops a kind of reminders, or has them sent again. Opening it changes nothing: mail is opened by scanners. */

/** Returns the link of a reminder's mail, by which its reader stops that kind. */
export const reminderLink = (account: AccountId, customerId: CustomerId, kind: ReminderKind): Link => ({
  kind: 'u',
  account,
  record: customerId,
  counter: REMINDER_KINDS.indexOf(kind),
})

/** Reminders of a kind to a customer. */
interface Stoppable {
  customerId: CustomerId
  kind: ReminderKind
  isStopped: boolean
}

function stopPage({ kind, isStopped }: Stoppable, locale: string): PageContent {
  const words = stopPageWords(languageOf(locale))
  const title = isStopped ? words.stoppedTitle : words.title
  const name = words.kinds[kind]
  return {
    title,
    content: html`<h1>${title}</h1>
<p>${isStopped ? words.stopped(name) : words.sent(name)}</p>
<p class="soft">${words.others}</p>
<form method="post"><input type="hidden" name="wish" value="${isStopped ? 'start' : 'stop'}"><button type="submit">${isStopped ? words.start : words.stop}</button></form>`,
  }
}

export const stopPages = ({ db }: { db: Database }): PageOperation<any>[] => [
  pageOperation<Stoppable>({
    id: 'stopRemindersPage',
    link: 'u',
    below: '',
    find: async (reader, { account }, { record, counter }) => {
      const kind = REMINDER_KINDS[counter]
      const customer = await findCustomer(reader, account.id, record)
      if (!customer || kind === undefined) return undefined
      const isStopped = customer.stoppedReminders.includes(kind)
      return { found: { customerId: customer.id, kind, isStopped }, locale: customer.locale }
    },
    show: async (_db, { found, locale }) => stopPage(found, locale),
    form: {
      fields: ['wish'],
      takesOneClick: true,
      submit: async ({ context, found: { customerId, kind } }, values) => {
        // A mail server sends no wish: it stops.
        const wish = values.get('wish') ?? (values.size === 0 ? 'stop' : '')
        if (wish !== 'stop' && wish !== 'start')
          throw invalid('form_unreadable', 'The form is not as this page made it.')
        await db.transaction(context.account.id, async (tx) => {
          const customer = await lockCustomer(tx, tx.account, customerId)
          if (customer) await changeStoppedReminders(tx, context, customer, kind, wish === 'stop')
        })
        return undefined
      },
    },
  }),
]
