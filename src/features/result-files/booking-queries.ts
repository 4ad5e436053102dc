import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { column, ofQuery, sql } from '../../platform/database/sql.ts'

/** Statements of the bookings of payments that are kept. */

export interface NewBooking {
  paymentId: Id
  isCredit: boolean
  on: IsoDate
  fileId: Id
  hasChanged: boolean
}

/** Keeps bookings of payments, each unless one is kept. */
export function sendBookings(tx: Transaction, bookings: readonly NewBooking[]): void {
  if (bookings.length === 0) return
  tx.send(
    ofQuery(sql`
    insert into payment_bookings (account_id, payment_id, is_credit, booked_on, result_file_id, has_changed)
    select ${tx.account}, * from unnest(${bigints(bookings, 'paymentId')}::bigint[], ${column(bookings, 'isCredit')}::boolean[],
      ${dates(bookings, 'on')}::date[], ${bigints(bookings, 'fileId')}::bigint[], ${column(bookings, 'hasChanged')}::boolean[])
    on conflict (account_id, payment_id, is_credit) do nothing`),
  )
}
