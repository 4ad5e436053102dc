import { customerNameOf } from '../../kernel/customer-name.ts'
import { getCollectionRules } from '../dunning/rules-queries.ts'
import { CARD_LOST, collectionMail } from '../outbox/collection-templates.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import type { OnCardLost } from '../payment-methods/renew.ts'
import { reminderLink } from './page.ts'
import { findReminded } from './queries.ts'
import { cardItem } from './remind.ts'

/** The kind of reminders that customers take, and stop, together with this mail. */
const KIND = 'card_expiring'

/**
 * Mails to a customer that the card that they pay with is kept at its gateway no more. Rule: of the primary card only, where reminders of cards that expire
 * are on.
 */
export const mailLostCard: OnCardLost = async (tx, context, { customerId, isPrimary, cardBrand, lastFour }) => {
  if (!isPrimary) return
  const { reminders } = await getCollectionRules(tx, tx.account)
  if (!reminders.some(({ kind, isActive }) => kind === KIND && isActive)) return
  const customer = await findReminded(tx, customerId, KIND)
  if (!customer) return
  const item = cardItem({ brand: cardBrand, lastFour, day: context.moment.today })
  await queueDocumentMails(tx, context, [
    {
      customerId,
      locale: customer.locale,
      to: customer.email,
      cc: customer.emailCc,
      template: CARD_LOST,
      document: null,
      write: ({ linkBy, ...sender }) =>
        collectionMail({
          ...sender,
          customerName: customerNameOf(customer),
          kind: CARD_LOST,
          items: [item],
          stopLink: linkBy(reminderLink(tx.account, customerId, KIND)),
        }),
    },
  ])
}
