import type { RequestContext } from '../../kernel/context.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { dateIn } from '../../kernel/zone.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { queueDocumentMails } from '../outbox/mail.ts'
import { SIGNED_MANDATE } from '../outbox/queries.ts'
import { signedMandateMail } from './mandate-template.ts'
import { mandateReference } from '../payment-methods/emandate.ts'
import { copyLink } from './download.ts'
import type { Mandate } from './types.ts'
import { maskedNumber } from './rules.ts'

/**
 * Puts the mail with the signee's own link into the outbox, where there is an Email. `customerId` is null while nobody has the account of the
 * mandate among their methods.
 */
export async function queueCopyMail(
  tx: Transaction,
  { moment, account }: RequestContext,
  mandate: Mandate,
  { customerId, locale }: { customerId: CustomerId | null; locale: string },
): Promise<void> {
  const { signee, terms, lastFour, id } = mandate
  if (signee.email === null) return
  await queueDocumentMails(tx, { moment }, [
    {
      customerId,
      locale,
      to: signee.email,
      cc: null,
      template: SIGNED_MANDATE,
      document: { kind: 'emandate', id },
      write: ({ linkTo: _none, linkBy, ...sender }) =>
        signedMandateMail({
          ...sender,
          signeeName: `${signee.name} ${signee.lastName}`,
          reference: mandateReference(mandate),
          bank: terms.bank.name,
          account: maskedNumber(lastFour),
          signedOn: dateIn(moment.now, account.timeZone),
          link: linkBy(copyLink(account.id, id)),
        }),
    },
  ])
}
