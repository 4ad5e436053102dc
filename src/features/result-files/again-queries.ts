import type { Instant } from '../../kernel/calendar.ts'
import type { AccountId, Id } from '../../kernel/ids.ts'
import { bigints, byteas } from '../../platform/database/columns.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import type { FileOfLines } from './match-queries.ts'
import type { OldQuestion } from './reference-queries.ts'

/** Statements of files that are read once more. */

/** Begins the second reading of a file, unless it has begun: then it goes on where it was. */
export const beginSecondReading = (tx: Transaction, id: Id, now: Instant) =>
  tx.rows(sql`
    update result_files set again_begun_at = ${now}::timestamptz, lines_done = 0, is_line_started = false, is_line_begun = false, begun_batches = '{}',
           entry_counted_minor = 0, has_unknown_part = false, is_entry_known = true
     where account_id = ${tx.account} and result_file_id = ${id} and again_begun_at is null`)

export const finishSecondReading = (tx: Transaction, id: Id) =>
  tx.rows(sql`
    update result_files set is_to_be_sent_again = false, again_begun_at = null where account_id = ${tx.account} and result_file_id = ${id}`)

/**
 * Lists the places of lines whose reference another file had when a file was read for the first time: one of its gateway, or an earlier one of the same account.
 * References are kept for the first file of a gateway that has them.
 */
export const listKnownThen = (
  db: Queryable,
  account: AccountId,
  { gatewayId, id }: FileOfLines,
  asked: readonly OldQuestion[],
) =>
  db.rows<{ place: bigint; isOfGateway: boolean }>(sql`
    select asked.place, known.is_of_gateway as "isOfGateway"
      from unnest(${bigints(asked, 'place')}::bigint[], ${byteas(asked.map(({ reference }) => reference))}::bytea[],
                  ${byteas(asked.map(({ ofAccount }) => ofAccount))}::bytea[]) as asked (place, reference, of_account)
     cross join lateral (select bool_or(b.gateway_id = ${gatewayId}) as is_of_gateway from bank_references b
       where b.account_id = ${account} and b.reference = asked.reference and b.result_file_id <> ${id}
         and (b.gateway_id = ${gatewayId} or (b.of_account = asked.of_account and b.result_file_id < ${id}))) known
     where known.is_of_gateway is not null`)

export interface FileToSendAgain {
  id: Id
  gatewayId: Id
  gatewayName: string
  sha256: Buffer
  format: string
  createdAt: Instant
  alreadyKnown: number
}

/** Lists the files of an account whose bytes are to be sent once more. */
export const listFilesToSendAgain = (db: Queryable, account: AccountId) =>
  db.rows<FileToSendAgain>(sql`
    select f.result_file_id as "id", f.gateway_id as "gatewayId", g.friendly_name as "gatewayName", f.sha256, f.format, f.created_at as "createdAt", f.already_known as "alreadyKnown"
      from result_files f join gateways g on g.account_id = ${account} and g.gateway_id = f.gateway_id
     where f.account_id = ${account} and f.is_to_be_sent_again order by f.result_file_id`)
