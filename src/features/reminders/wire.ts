import { REMINDER_KINDS, type ReminderKind } from '../../engine/collection/rules.ts'
import type { CustomerId } from '../../kernel/ids.ts'
import { dateWithOffset } from '../../kernel/zone.ts'
import { orNull, outDay, outId, outList, outObject, outWord, type ShapeOf } from '../../platform/wire/write.ts'
import type { Remindable } from './queries.ts'
import type { DocumentKind } from './source-queries.ts'

/** Record that the event of a reminder keeps: whom it went to, of which kind it is, and each record with the date that it is about. */
export const RemindedOut = outObject({
  customerID: outId(),
  Kind: outWord(REMINDER_KINDS),
  About: outList(
    outObject({
      Date: outDay(),
      subscriptionID: orNull(outId()),
      recurInvoiceID: orNull(outId()),
      paymentMethodID: orNull(outId()),
      invoiceID: orNull(outId()),
    }),
  ),
})

export function remindedToWire(
  letter: { customerId: CustomerId; kind: ReminderKind; items: readonly Remindable[] },
  timeZone: string,
): ShapeOf<typeof RemindedOut> {
  return {
    customerID: letter.customerId,
    Kind: letter.kind,
    About: letter.items.map(({ document, documentId, about }) => {
      const idOf = (kind: DocumentKind) => (document === kind ? documentId : null)
      return {
        Date: dateWithOffset(about, timeZone),
        subscriptionID: idOf('subscription'),
        recurInvoiceID: idOf('recurring_invoice'),
        paymentMethodID: idOf('payment_method'),
        invoiceID: idOf('invoice'),
      }
    }),
  }
}
