import type { ReminderKind } from '../../engine/collection/rules.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import { assert } from '../../kernel/assert.ts'
import type { RequestContext } from '../../kernel/context.ts'
import { groupBy } from '../../kernel/grouping.ts'
import type { AccountId, CustomerId, InvoiceId } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { customerNameOf } from '../../kernel/customer-name.ts'
import { insertLikeEvents } from '../events/queries.ts'
import { type CollectionItem, collectionMail } from '../outbox/collection-templates.ts'
import { type DocumentMail, queueDocumentMails } from '../outbox/mail.ts'
import { type Addressee, insertSent, listAddressees, listRemindable, type Remindable, type Windows } from './queries.ts'
import { reminderLink } from './page.ts'
import { RemindedOut, remindedToWire } from './wire.ts'

/** Writes reminders: one mail a customer and kind, what it lists, and its event. */

interface Letter {
  to: Addressee
  kind: ReminderKind
  items: readonly Remindable[]
}

/** Reminds locked customers of what is due of them. Rule: mails of one kind that a pass writes for a customer are one, listing all. */
export async function remindCustomers(
  tx: Transaction,
  context: RequestContext,
  customers: readonly CustomerId[],
  windows: Windows,
  isDue: (item: Remindable) => boolean,
): Promise<void> {
  if (customers.length === 0) return
  const { timeZone } = context.account
  const found = await listRemindable(tx, tx.account, timeZone, windows, customers)
  const due = found.filter(isDue)
  if (due.length === 0) return
  await insertSent(tx, due, context.moment.today)
  const ofCustomer = groupBy(due, ({ customerId }) => customerId)
  const addressees = await listAddressees(tx, tx.account, [...ofCustomer.keys()])
  const letters = addressees.flatMap((to) => {
    const byKind = groupBy(ofCustomer.get(to.id) ?? [], ({ kind }) => kind)
    return [...byKind].map(([kind, items]): Letter => ({ to, kind, items }))
  })
  await queueDocumentMails(
    tx,
    context,
    letters.map((letter) => mailOf(tx.account, letter)),
  )
  const { now } = context.moment
  const common = { type: 'customer.reminder_queued', happenedAt: now, actor: context.actor, reason: null } as const
  const events = letters.map(({ to, kind, items }) => ({
    recordId: to.id,
    customerId: to.id,
    record: RemindedOut.write(remindedToWire({ customerId: to.id, kind, items }, timeZone)),
  }))
  await insertLikeEvents(tx, common, events)
}

const mailOf = (account: AccountId, { to, kind, items }: Letter): DocumentMail => ({
  customerId: to.id,
  locale: to.locale,
  to: to.email,
  cc: to.emailCc,
  template: kind,
  document: null,
  links: items.filter(({ document }) => document === 'invoice').map(({ documentId }) => documentId),
  write: ({ linkTo, linkBy, ...sender }) =>
    collectionMail({
      ...sender,
      customerName: customerNameOf(to),
      kind,
      items: items.map((item) => shownItem(item, linkTo)),
      stopLink: linkBy(reminderLink(account, to.id, kind)),
    }),
})

/** Returns the item that a mail shows of a card, with the day that the mail is about. */
export const cardItem = (card: { brand: string | null; lastFour: string | null; day: IsoDate }): CollectionItem => ({
  what: 'card',
  brand: card.brand === 'Unknown' ? null : card.brand,
  lastFour: card.lastFour ?? '',
  day: card.day,
})

/** Returns the item that a mail shows of a record. */
function shownItem(item: Remindable, linkTo: (invoice: InvoiceId) => string): CollectionItem {
  const { document, documentId, about, name, number, currency, openMinor, brand, lastFour } = item
  if (document === 'invoice') {
    assert(number !== null && currency !== null && openMinor !== null, 'an issued invoice has a number and amounts')
    return { what: 'invoice', number, currency, openMinor, dueDate: about, reason: null, link: linkTo(documentId) }
  }
  if (document === 'payment_method') return cardItem({ brand, lastFour, day: about })
  return { what: 'contract', name: name ?? '', day: about }
}
