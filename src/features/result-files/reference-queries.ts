import type { Instant } from '../../kernel/calendar.ts'
import { bigints, byteas } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { column, ofQuery, sql } from '../../platform/database/sql.ts'
import type { FileOfLines } from './match-queries.ts'

/** Statements of the bookings that have been read, by the references of their banks, as hashes in hex. */

/** Question whether a booking was read in another file. */
export interface BookingQuestion {
  place: bigint
  booking: string
  /** Only files of the same gateway count. */
  isOfGateway: boolean
}

export const listReadBookings = (tx: Transaction, { gatewayId, id }: FileOfLines, asked: readonly BookingQuestion[]) =>
  tx.rows<{ place: bigint }>(sql`
    select asked.place from unnest(${bigints(asked, 'place')}::bigint[], ${byteas(asked.map(({ booking }) => booking))}::bytea[],
             ${column(asked, 'isOfGateway')}::boolean[]) as asked (place, booking, is_of_gateway)
     cross join lateral (select 1 from bank_references b
       where b.account_id = ${tx.account} and b.reference = asked.booking and b.result_file_id <> ${id}
         and (b.gateway_id = ${gatewayId} or not asked.is_of_gateway) limit 1) known`)

/** Reference of a bank, without amount, as it was kept before bookings were, and the account that it is of. */
export interface OldQuestion {
  place: bigint
  reference: string
  /** Null where the file names no account: it is then of its gateway alone. */
  ofAccount: string | null
}

/** Lists when references were read last that were kept without amounts: of the same gateway, or of the same account for whichever gateway. */
export const listOldReferences = (tx: Transaction, { gatewayId, id }: FileOfLines, asked: readonly OldQuestion[]) =>
  tx.rows<{ place: bigint; readAt: Instant }>(sql`
    select asked.place, known.read_at as "readAt"
      from unnest(${bigints(asked, 'place')}::bigint[], ${byteas(asked.map(({ reference }) => reference))}::bytea[],
                  ${byteas(asked.map(({ ofAccount }) => ofAccount))}::bytea[]) as asked (place, reference, of_account)
     cross join lateral (select max(b.read_at) as read_at from bank_references b
       where b.account_id = ${tx.account} and b.reference = asked.reference and b.result_file_id <> ${id}
         and (b.gateway_id = ${gatewayId} or b.of_account = asked.of_account)) known
     where known.read_at is not null`)

/** Keeps which bookings a file had, for the first file that had them. */
export function sendReadBookings(
  tx: Transaction,
  { gatewayId, id }: FileOfLines,
  bookings: readonly string[],
  now: Instant,
): void {
  if (bookings.length === 0) return
  tx.send(
    ofQuery(sql`
    insert into bank_references (account_id, gateway_id, result_file_id, read_at, reference)
    select ${tx.account}, ${gatewayId}, ${id}, ${now}::timestamptz, booking from unnest(${byteas(bookings)}::bytea[]) as booking
    on conflict (account_id, reference, gateway_id) do nothing`),
  )
}
