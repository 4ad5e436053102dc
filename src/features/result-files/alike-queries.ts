import type { IsoDate } from '../../kernel/calendar.ts'
import type { Id } from '../../kernel/ids.ts'
import { bigints, byteas, dates } from '../../platform/database/columns.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { column, sql } from '../../platform/database/sql.ts'

/**
 * Statements that find lines of other files which may be the same money. Each question is answered by the first entry of an index, on either
 * side of the file that asks, so that it costs the same however many alike lines a file has. Hashes are given in hex.
 */

/** Question for a line that is alike in all: whether one with a reference of the bank is wanted. */
export interface AlikeQuestion {
  place: bigint
  likeness: string
  hasBankReference: boolean
}

/** Question for a line with the same reference of the bank, of another day. */
export interface ReferenceQuestion {
  place: bigint
  likeness: string
  on: IsoDate
}

/** Question for the sum of a part, or the parts of a sum. */
export interface EntryQuestion {
  place: bigint
  entryKey: string
  isSum: boolean
}

/** Days within which two bookings with one reference may be one. */
const DAYS_APART = 10

export interface Found {
  place: bigint
  id: Id
}

/** Finds for each question the earliest alike line of another file. */
export const listAlike = (tx: Transaction, fileId: Id, asked: readonly AlikeQuestion[]) =>
  tx.rows<Found>(sql`
    select asked.place, least(before.id, behind.id) as "id"
      from unnest(${bigints(asked, 'place')}::bigint[], ${byteas(asked.map(({ likeness }) => likeness))}::bytea[], ${column(asked, 'hasBankReference')}::boolean[])
             as asked (place, likeness, has_bank_reference)
      left join lateral (select l.result_line_id as id from result_lines l
        where l.account_id = ${tx.account} and l.likeness = asked.likeness and l.has_bank_reference = asked.has_bank_reference and l.result_file_id < ${fileId}
        order by l.result_file_id, l.result_line_id limit 1) before on true
      left join lateral (select l.result_line_id as id from result_lines l
        where l.account_id = ${tx.account} and l.likeness = asked.likeness and l.has_bank_reference = asked.has_bank_reference and l.result_file_id > ${fileId}
        order by l.result_file_id, l.result_line_id limit 1) behind on true
     where before.id is not null or behind.id is not null`)

/** Finds for each question the earliest line of another file with the same reference of the bank, some days before or after. */
export const listOfReference = (tx: Transaction, fileId: Id, asked: readonly ReferenceQuestion[]) =>
  tx.rows<Found>(sql`
    select asked.place, least(before.id, behind.id) as "id"
      from unnest(${bigints(asked, 'place')}::bigint[], ${byteas(asked.map(({ likeness }) => likeness))}::bytea[], ${dates(asked, 'on')}::date[])
             as asked (place, likeness, dated)
      left join lateral (select l.result_line_id as id from result_lines l
        where l.account_id = ${tx.account} and l.reference_likeness = asked.likeness and l.result_file_id <> ${fileId}
          and l.dated >= asked.dated - ${DAYS_APART}::integer and l.dated < asked.dated
        order by l.dated, l.result_file_id, l.result_line_id limit 1) before on true
      left join lateral (select l.result_line_id as id from result_lines l
        where l.account_id = ${tx.account} and l.reference_likeness = asked.likeness and l.result_file_id <> ${fileId}
          and l.dated > asked.dated and l.dated <= asked.dated + ${DAYS_APART}::integer
        order by l.dated, l.result_file_id, l.result_line_id limit 1) behind on true
     where before.id is not null or behind.id is not null`)

/** Finds for each question the first line of another file that is the sum, or a part, of the same entry. */
export const listOfEntry = (tx: Transaction, fileId: Id, asked: readonly EntryQuestion[]) =>
  tx.rows<Found>(sql`
    select asked.place, least(before.id, behind.id) as "id"
      from unnest(${bigints(asked, 'place')}::bigint[], ${byteas(asked.map(({ entryKey }) => entryKey))}::bytea[], ${column(asked, 'isSum')}::boolean[])
             as asked (place, entry_key, is_sum)
      left join lateral (select l.result_line_id as id from result_lines l
        where l.account_id = ${tx.account} and l.entry_key = asked.entry_key and l.is_sum = asked.is_sum and l.result_file_id < ${fileId}
        order by l.result_file_id, l.result_line_id limit 1) before on true
      left join lateral (select l.result_line_id as id from result_lines l
        where l.account_id = ${tx.account} and l.entry_key = asked.entry_key and l.is_sum = asked.is_sum and l.result_file_id > ${fileId}
        order by l.result_file_id, l.result_line_id limit 1) behind on true
     where before.id is not null or behind.id is not null`)

/**
 * Locks the sums of entries in other files, so that no person answers one while its parts are worked on. Then finds the questions about whose entry a
 * person has applied such a line: its sum, or for an entry as a whole a part of it.
 */
export async function lockAnswered(
  tx: Transaction,
  fileId: Id,
  asked: readonly EntryQuestion[],
): Promise<{ place: bigint }[]> {
  const keys = byteas(asked.map(({ entryKey }) => entryKey))
  await tx.rows(sql`
    select l.result_line_id from result_lines l
      join (select distinct entry_key from unnest(${keys}::bytea[]) as asked (entry_key)) asked on l.entry_key = asked.entry_key
     where l.account_id = ${tx.account} and l.is_sum and l.result_file_id <> ${fileId}
     order by l.result_line_id for no key update of l`)
  return tx.rows<{ place: bigint }>(sql`
    select asked.place
      from unnest(${bigints(asked, 'place')}::bigint[], ${keys}::bytea[], ${column(asked, 'isSum')}::boolean[]) as asked (place, entry_key, is_sum)
     where exists (select 1 from result_lines l
                    where l.account_id = ${tx.account} and l.entry_key = asked.entry_key and (l.is_sum or asked.is_sum)
                      and l.state = 'applied' and l.result_file_id <> ${fileId})`)
}

/** Line of another file that was recorded as a payment. */
export interface RecordedLine {
  id: Id
  fileId: Id
  paymentId: Id | null
}

/**
 * Finds a line of another file that was recorded and may be the same money: one that it names or that names it, one alike of which not both have a
 * reference of the bank, the sum of which it is a part, or a part of which it is the sum. Parts of one sum are no rivals.
 */
export const findRecordedAlike = (tx: Transaction, { id, fileId }: { id: Id; fileId: Id }) =>
  tx.first<RecordedLine>(sql`
    with own as (
      select l.result_line_id, l.likeness, l.has_bank_reference, l.same_as, l.entry_key, l.is_sum from result_lines l
       where l.account_id = ${tx.account} and l.result_line_id = ${id})
    select r.result_line_id as "id", r.result_file_id as "fileId", r.payment_id as "paymentId"
      from own cross join lateral (
        select l.* from result_lines l where l.account_id = ${tx.account} and l.result_line_id = own.same_as
        union all
        select l.* from result_lines l where l.account_id = ${tx.account} and l.same_as = own.result_line_id
        union all
        select l.* from result_lines l
         where l.account_id = ${tx.account} and l.likeness = own.likeness and not (l.has_bank_reference and own.has_bank_reference)
        union all
        select l.* from result_lines l where l.account_id = ${tx.account} and l.entry_key = own.entry_key and l.is_sum <> own.is_sum) r
     where r.state = 'applied' and r.kind = 'credit' and r.result_file_id <> ${fileId}
     order by r.result_line_id limit 1`)
