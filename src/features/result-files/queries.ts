import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { type AccountId, byIdentifier, type CustomerId, type Id } from '../../kernel/ids.ts'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { bigints, byteas, dates } from '../../platform/database/columns.ts'
import { column, fragment, type Fragment, NOTHING, ofQuery, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { LineKind, LineState } from './kinds.ts'

/** Statements of result files, their lines that wait for a person, and the references of banks that have been read. */

export interface Counts {
  /** Lines that found their payment or batch. */
  matched: number
  /** Of these, lines that changed something. */
  applied: number
  /** Lines whose bank reference was read before in another file of the same account. */
  alreadyKnown: number
  /** Lines that wait, or waited, for a person. */
  unmatched: number
  /** Different payments that were changed. */
  payments: number
}

export interface ResultFile extends Omit<Counts, 'payments'> {
  /** Null of a file that was read before payments were counted, as are the next two. */
  payments: number | null
  /** Statements of other accounts, which were passed over. */
  otherAccounts: number | null
  /** Entries without a status, which were passed over. */
  statusMissing: number | null
  /** Lines whose blanks at the end were cut off, and that were filled up again; null of files that have no lines of a length. */
  linesPadded: number | null
  id: Id
  gatewayId: Id
  /** Null of a report of a gateway. */
  sha256: Buffer | null
  format: string
  /** Lines that still wait for a person. */
  open: number
  /** Lines that have been worked on. */
  linesDone: number
  isFinished: boolean
  /** Lines of it were taken for known by a program that compared references alone: its bytes are read once more. */
  isToBeSentAgain: boolean
}

/**
 * Builds the SQL of the state of a line `l`. Rule: one of a refund of a gateway's console waits while nothing covers that; whether it is covered is computed, as
 * every status of money is.
 */
const stateOf = (account: AccountId): Fragment => fragment`
  case when l.state = 'open' and l.refund_id is not null and not exists (
      select 1 from payment_refunds r
        join positive_adjustments a on a.account_id = ${account} and a.positive_adjustment_id = r.adjustment_id
       where r.account_id = ${account} and r.refund_id = l.refund_id and a.amount_minor > a.paid_minor + a.pending_minor + a.negative_minor)
    then 'closed' else l.state end`

/** Builds the SQL of the amount of a line `l`: of a refund of a gateway's console what nothing covers, or the whole where all is covered. */
const amountOf = (account: AccountId): Fragment => fragment`
  coalesce((
      select nullif(a.amount_minor - a.paid_minor - a.pending_minor - a.negative_minor, 0) from payment_refunds r
        join positive_adjustments a on a.account_id = ${account} and a.positive_adjustment_id = r.adjustment_id
       where r.account_id = ${account} and r.refund_id = l.refund_id), l.amount_minor)`

const fileColumns = (account: AccountId): Fragment => fragment`
  f.result_file_id as "id", f.gateway_id as "gatewayId", f.sha256, f.format, f.lines_done as "linesDone", f.finished_at is not null as "isFinished",
  f.is_to_be_sent_again as "isToBeSentAgain",
  f.matched, f.applied, f.already_known as "alreadyKnown", f.unmatched, f.payments,
  f.other_accounts as "otherAccounts", f.status_missing as "statusMissing", f.lines_padded as "linesPadded",
  (select count(*)::integer from result_lines l
    where l.account_id = ${account} and l.result_file_id = f.result_file_id and l.state = 'open' and ${stateOf(account)} = 'open') as "open"`

export const findResultFile = (db: Queryable, account: AccountId, id: Id) =>
  db.first<ResultFile>(sql`
    select ${fileColumns(account)} from result_files f where f.account_id = ${account} and f.result_file_id = ${id}`)

export const findFileByHash = (db: Queryable, account: AccountId, gatewayId: Id, sha256: Buffer) =>
  db.first<ResultFile>(sql`
    select ${fileColumns(account)} from result_files f where f.account_id = ${account} and f.gateway_id = ${gatewayId} and f.sha256 = ${sha256}`)

export interface FileFilter {
  /** Whether some of its lines still wait for a person. */
  isOpen?: boolean | null
  isToBeSentAgain?: boolean | null
}

const wanted = (account: AccountId, { isOpen, isToBeSentAgain }: FileFilter): Fragment => fragment`
  ${
    isOpen == null
      ? NOTHING
      : fragment`and exists (select 1 from result_lines l
          where l.account_id = ${account} and l.result_file_id = f.result_file_id and l.state = 'open' and ${stateOf(account)} = 'open') = ${isOpen}`
  }
  ${isToBeSentAgain == null ? NOTHING : fragment`and f.is_to_be_sent_again = ${isToBeSentAgain}`}`

export const listResultFiles = (
  db: Queryable,
  account: AccountId,
  filter: FileFilter,
  start: PageStart,
  limit: number,
) =>
  db.rows<ResultFile>(sql`
    select ${fileColumns(account)} from result_files f where f.account_id = ${account} ${wanted(account, filter)}
     order by f.result_file_id ${inPage(start, limit)}`)

export const countResultFiles = (db: Queryable, account: AccountId, filter: FileFilter) =>
  db.count(sql`select count(*) as "n" from result_files f where f.account_id = ${account} ${wanted(account, filter)}`)

export type NewFile = Pick<
  ResultFile,
  'gatewayId' | 'sha256' | 'format' | 'unmatched' | 'otherAccounts' | 'statusMissing' | 'linesPadded' | 'isFinished'
>

export const insertResultFile = (tx: Transaction, file: NewFile, now: Instant): Promise<Id> =>
  tx.value<Id>(sql`
    insert into result_files (account_id, gateway_id, sha256, format, created_at, unmatched, payments, other_accounts, status_missing,
      lines_padded, finished_at)
    values (${tx.account}, ${file.gatewayId}, ${file.sha256}, ${file.format}, ${now}, ${file.unmatched}, ${file.sha256 === null ? null : 0},
            ${file.otherAccounts}, ${file.statusMissing}, ${file.linesPadded}, ${file.isFinished ? now : null}) returning result_file_id as "id"`)

export const finishResultFile = (tx: Transaction, id: Id, now: Instant) =>
  tx.rows(sql`
    update result_files set finished_at = ${now} where account_id = ${tx.account} and result_file_id = ${id}`)

/** Line that waits, or waited, for a person. */
export interface ListedLine {
  id: Id
  fileId: Id
  gatewayId: Id
  kind: LineKind
  dated: IsoDate
  amountMinor: bigint | null
  currency: string | null
  code: string | null
  /** Reference and name, sealed as JSON; null where both are empty. */
  sealedTexts: Buffer | null
  state: LineState
  /** Null of a status, and of lines that were read before directions were kept. */
  isCredit: boolean | null
  /** The amount of the entry that it is a part of. */
  entryMinor: bigint | null
  sameAs: Id | null
  paymentId: Id | null
  invoiceId: Id | null
}

/** Line as a file shows it, with the number of its invoice. */
export interface ShownLine extends ListedLine {
  invoiceNumber: bigint | null
}

const lineColumns = (account: AccountId): Fragment => fragment`
  l.result_line_id as "id", l.result_file_id as "fileId",
  (select f.gateway_id from result_files f where f.account_id = ${account} and f.result_file_id = l.result_file_id) as "gatewayId",
  case when l.is_change then 'change' when l.refund_id is not null then 'refund' else l.kind end as "kind", l.dated, ${amountOf(account)} as "amountMinor", l.currency, l.code, l.sealed_texts as "sealedTexts", ${stateOf(account)} as "state", l.is_credit as "isCredit",
  l.entry_minor as "entryMinor", l.same_as as "sameAs", l.payment_id as "paymentId", l.invoice_id as "invoiceId"`

/** Lists the lines of a file in the order of the file; undefined bounds nothing. */
export const listLinesOfFile = (db: Queryable, account: AccountId, fileId: Id, after: Id, limit: number) =>
  db.rows<ShownLine>(sql`
    select ${lineColumns(account)},
           (select i.number from invoices i where i.account_id = ${account} and i.invoice_id = l.invoice_id) as "invoiceNumber"
      from result_lines l
     where l.account_id = ${account} and l.result_file_id = ${fileId} and l.result_line_id > ${after}
     order by l.result_line_id limit ${limit}`)

/** Lists the open lines of reports about charges and refunds of a gateway of which this database knows no payment. */
export const listUnknownToGateway = (db: Queryable, account: AccountId, gatewayId: Id, limit: number) =>
  db.rows<Pick<ListedLine, 'id' | 'fileId' | 'sealedTexts'>>(sql`
    select l.result_line_id as "id", l.result_file_id as "fileId", l.sealed_texts as "sealedTexts"
      from result_files f join result_lines l on l.account_id = ${account} and l.result_file_id = f.result_file_id
     where f.account_id = ${account} and f.gateway_id = ${gatewayId} and f.format = 'event' and l.state = 'open'
       and l.code in ('charge', 'refund') and l.payment_id is null
     order by l.result_line_id limit ${limit}`)

export async function lockListedLine(tx: Transaction, fileId: Id, id: Id): Promise<ListedLine | undefined> {
  return tx.first<ListedLine>(sql`
    select ${lineColumns(tx.account)} from result_lines l
     where l.account_id = ${tx.account} and l.result_file_id = ${fileId} and l.result_line_id = ${id} for no key update of l`)
}

/** Draws identifiers of lines, ascending: their texts are sealed for them before they are written. */
export const drawLineIds = async (tx: Transaction, count: number): Promise<Id[]> =>
  (
    await tx.values<Id>(
      sql`select nextval('result_lines_result_line_id_seq') as "id" from generate_series(1, ${count})`,
    )
  ).sort(byIdentifier)

/** Line as it is written, with the hashes that later lines are compared by, in hex. */
export type NewLine = Omit<ListedLine, 'fileId' | 'gatewayId' | 'state'> & {
  likeness: string
  hasBankReference: boolean
  referenceLikeness: string | null
  entryKey: string | null
  isSum: boolean
  isStatus: boolean
  batchId: Id | null
  /** It has changed something, and waits for nobody. */
  isApplied?: boolean
  /** The refund of a gateway's console that it is about. */
  refundId?: Id
}

export function sendListedLines(tx: Transaction, fileId: Id, lines: readonly NewLine[], now: Instant): void {
  if (lines.length === 0) return
  // Programs that know no changes and no refunds read these as others.
  const kinds = lines.map(({ kind, isApplied, refundId }) => ({
    kind: kind === 'change' || kind === 'refund' ? 'other' : kind,
    isChange: kind === 'change',
    refundId: refundId ?? null,
    state: isApplied ? 'applied' : 'open',
  }))
  const bytes = (key: 'sealedTexts' | 'likeness' | 'referenceLikeness' | 'entryKey') =>
    byteas(lines.map((line) => line[key]))
  tx.send(
    ofQuery(sql`
    insert into result_lines (account_id, result_file_id, created_at, result_line_id, kind, dated, amount_minor, currency, code, sealed_texts,
      is_credit, entry_minor, likeness, has_bank_reference, reference_likeness, entry_key, is_sum, is_status, batch_id, same_as, payment_id, invoice_id,
      is_change, state, refund_id)
    select ${tx.account}, ${fileId}, ${now}::timestamptz, * from unnest(
      ${bigints(lines, 'id')}::bigint[], ${column(kinds, 'kind')}::text[], ${dates(lines, 'dated')}::date[],
      ${bigints(lines, 'amountMinor')}::bigint[], ${column(lines, 'currency')}::text[], ${column(lines, 'code')}::text[],
      ${bytes('sealedTexts')}::bytea[], ${column(lines, 'isCredit')}::boolean[], ${bigints(lines, 'entryMinor')}::bigint[],
      ${bytes('likeness')}::bytea[], ${column(lines, 'hasBankReference')}::boolean[], ${bytes('referenceLikeness')}::bytea[],
      ${bytes('entryKey')}::bytea[], ${column(lines, 'isSum')}::boolean[], ${column(lines, 'isStatus')}::boolean[],
      ${bigints(lines, 'batchId')}::bigint[], ${bigints(lines, 'sameAs')}::bigint[], ${bigints(lines, 'paymentId')}::bigint[],
      ${bigints(lines, 'invoiceId')}::bigint[], ${column(kinds, 'isChange')}::boolean[], ${column(kinds, 'state')}::text[],
      ${bigints(kinds, 'refundId')}::bigint[])`),
  )
}

export const updateListedLine = (tx: Transaction, line: Pick<ListedLine, 'id' | 'state' | 'paymentId' | 'invoiceId'>) =>
  tx.rows(sql`
    update result_lines set state = ${line.state}, payment_id = ${line.paymentId}, invoice_id = ${line.invoiceId}
     where account_id = ${tx.account} and result_line_id = ${line.id}`)

/** Closes lines of other files that wait and are the sums of entries, and returns them. */
export const closeSums = (tx: Transaction, fileId: Id, entryKeys: readonly string[]) =>
  tx.rows<ListedLine>(sql`
    update result_lines l set state = 'closed'
      from unnest(${byteas(entryKeys)}::bytea[]) as asked (entry_key)
     cross join lateral (select s.result_line_id as id from result_lines s
       where s.account_id = ${tx.account} and s.entry_key = asked.entry_key and s.is_sum and s.result_file_id <> ${fileId}
       offset 0) of_entry
     where l.account_id = ${tx.account} and l.result_line_id = of_entry.id and l.state = 'open'
    returning ${lineColumns(tx.account)}`)

/** Counts one more line of a file that waits for a person. */
export const sendOneMoreListed = (tx: Transaction, fileId: Id): void =>
  tx.send(sql`
    update result_files set unmatched = unmatched + 1 where account_id = ${tx.account} and result_file_id = ${fileId}`)

/** Empties the texts of lines that were proposed for, or applied to, payments and invoices of a customer. */
export const anonymiseResultLines = (tx: Transaction, customerId: CustomerId) =>
  tx.rows(sql`
    update result_lines set sealed_texts = null
     where account_id = ${tx.account} and sealed_texts is not null
       and (payment_id in (select p.payment_id from payments p where p.account_id = ${tx.account} and p.customer_id = ${customerId})
         or invoice_id in (select i.invoice_id from invoices i where i.account_id = ${tx.account} and i.customer_id = ${customerId}))`)

/** Forgets lines of the whole database that are older than promised. */
export const deleteOldResultLines = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_result_lines(${before}::timestamptz) as "n"`)

/** Forgets references of the whole database that are older than any debit that can be claimed back. */
export const deleteOldBankReferences = (db: Queryable, before: Instant) =>
  db.rows(sql`select delete_old_bank_references(${before}::timestamptz) as "n"`)
