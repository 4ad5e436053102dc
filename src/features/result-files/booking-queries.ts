import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

/** Statements of the bookings of payments that are kept. */

export interface NewBooking {
  paymentId: Id
  isCredit: boolean
  on: IsoDate
  fileId: Id
  hasChanged: boolean
}

/** Keeps a booking of a payment, unless one is kept. */
export const sendBooking = (tx: Transaction, { paymentId, isCredit, on, fileId, hasChanged }: NewBooking): void =>
  tx.send(sql`
    insert into payment_bookings (account_id, payment_id, is_credit, booked_on, result_file_id, has_changed)
    values (${tx.account}, ${paymentId}, ${isCredit}, ${on}, ${fileId}, ${hasChanged})
    on conflict (account_id, payment_id, is_credit) do nothing`)
