import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import { type AccountId, byIdentifier, type CustomerId, type Id } from '../../kernel/ids.ts'
import { countOf, firstRow, oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { bigints, dates } from '../../platform/database/columns.ts'
import { column, fragment, type Fragment, sql } from '../../platform/database/sql.ts'
import { inPage, type PageStart } from '../../platform/http/paging.ts'
import type { LineKind, LineState } from './rules.ts'

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
}

export interface ResultFile extends Counts {
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
}

const fileColumns = (account: AccountId): Fragment => fragment`
  f.result_file_id as "id", f.gateway_id as "gatewayId", f.sha256, f.format, f.lines_done as "linesDone", f.finished_at is not null as "isFinished",
  f.matched, f.applied, f.already_known as "alreadyKnown", f.unmatched,
  (select count(*)::integer from result_lines l
    where l.account_id = ${account} and l.result_file_id = f.result_file_id and l.state = 'open') as "open"`

export const findResultFile = (db: Queryable, account: AccountId, id: Id) =>
  firstRow<ResultFile>(
    db,
    sql`select ${fileColumns(account)} from result_files f where f.account_id = ${account} and f.result_file_id = ${id}`,
  )

export const findFileByHash = (db: Queryable, account: AccountId, gatewayId: Id, sha256: Buffer) =>
  firstRow<ResultFile>(
    db,
    sql`select ${fileColumns(account)} from result_files f where f.account_id = ${account} and f.gateway_id = ${gatewayId} and f.sha256 = ${sha256}`,
  )

export const listResultFiles = (db: Queryable, account: AccountId, _all: object, start: PageStart, limit: number) =>
  db.rows<ResultFile>(sql`
    select ${fileColumns(account)} from result_files f where f.account_id = ${account} order by f.result_file_id ${inPage(start, limit)}`)

export const countResultFiles = (db: Queryable, account: AccountId) =>
  countOf(db, sql`select count(*) as "n" from result_files where account_id = ${account}`)

type NewFile = Pick<ResultFile, 'gatewayId' | 'sha256' | 'format' | 'unmatched' | 'isFinished'>

export const insertResultFile = async (tx: Transaction, file: NewFile, now: Instant): Promise<Id> =>
  (
    await oneRow<{ id: Id }>(
      tx,
      sql`insert into result_files (account_id, gateway_id, sha256, format, created_at, unmatched, finished_at)
          values (${tx.account}, ${file.gatewayId}, ${file.sha256}, ${file.format}, ${now}, ${file.unmatched},
                  ${file.isFinished ? now : null}) returning result_file_id as "id"`,
    )
  ).id

/** Adds what became of some lines, in the transaction that wrote it. */
export const sendFileProgress = (tx: Transaction, id: Id, linesDone: number, counts: Counts): void =>
  tx.send(sql`
    update result_files set lines_done = lines_done + ${linesDone}, matched = matched + ${counts.matched}, applied = applied + ${counts.applied},
           already_known = already_known + ${counts.alreadyKnown}, unmatched = unmatched + ${counts.unmatched}, is_line_begun = false
     where account_id = ${tx.account} and result_file_id = ${id}`)

/** Counts the line that is being applied to a whole batch as applied, once, whoever goes on with it. */
export const sendLineBegun = (tx: Transaction, id: Id): void =>
  tx.send(sql`
    update result_files set applied = applied + 1, is_line_begun = true
     where account_id = ${tx.account} and result_file_id = ${id} and not is_line_begun`)

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
  sameAs: Id | null
  paymentId: Id | null
  invoiceId: Id | null
}

const lineColumns = (account: AccountId): Fragment => fragment`
  l.result_line_id as "id", l.result_file_id as "fileId",
  (select f.gateway_id from result_files f where f.account_id = ${account} and f.result_file_id = l.result_file_id) as "gatewayId",
  l.kind, l.dated, l.amount_minor as "amountMinor", l.currency, l.code, l.sealed_texts as "sealedTexts", l.state, l.same_as as "sameAs",
  l.payment_id as "paymentId", l.invoice_id as "invoiceId"`

/** Lists the lines of a file in the order of the file; undefined bounds nothing. */
export const listLinesOfFile = (db: Queryable, account: AccountId, fileId: Id, after: Id, limit: number) =>
  db.rows<ListedLine>(sql`
    select ${lineColumns(account)} from result_lines l
     where l.account_id = ${account} and l.result_file_id = ${fileId} and l.result_line_id > ${after}
     order by l.result_line_id limit ${limit}`)

export async function lockListedLine(tx: Transaction, fileId: Id, id: Id): Promise<ListedLine | undefined> {
  return firstRow<ListedLine>(
    tx,
    sql`select ${lineColumns(tx.account)} from result_lines l
         where l.account_id = ${tx.account} and l.result_file_id = ${fileId} and l.result_line_id = ${id} for no key update of l`,
  )
}

/** Draws identifiers of lines, ascending: their texts are sealed for them before they are written. */
export const drawLineIds = async (tx: Transaction, count: number): Promise<Id[]> =>
  (
    await tx.rows<{ id: Id }>(
      sql`select nextval('result_lines_result_line_id_seq') as "id" from generate_series(1, ${count})`,
    )
  )
    .map(({ id }) => id)
    .sort(byIdentifier)

export type NewLine = Omit<ListedLine, 'fileId' | 'gatewayId' | 'state'> & Likeness

export function sendListedLines(tx: Transaction, fileId: Id, lines: readonly NewLine[], now: Instant): void {
  if (lines.length === 0) return
  tx.send(sql`
    insert into result_lines (account_id, result_file_id, created_at, result_line_id, kind, dated, amount_minor, currency, code, sealed_texts,
      likeness, has_bank_reference, same_as, payment_id, invoice_id)
    select ${tx.account}, ${fileId}, ${now}::timestamptz, * from unnest(
      ${bigints(lines, 'id')}::bigint[], ${column(lines, 'kind')}::text[], ${dates(lines, 'dated')}::date[],
      ${bigints(lines, 'amountMinor')}::bigint[], ${column(lines, 'currency')}::text[], ${column(lines, 'code')}::text[],
      ${byteas(lines.map(({ sealedTexts }) => sealedTexts))}::bytea[], ${byteas(lines.map(({ likeness }) => likeness))}::bytea[],
      ${column(lines, 'hasBankReference')}::boolean[],
      ${bigints(lines, 'sameAs')}::bigint[], ${bigints(lines, 'paymentId')}::bigint[], ${bigints(lines, 'invoiceId')}::bigint[])`)
}

const byteas = (values: readonly (Buffer | null)[]): string =>
  `{${values.map((value) => (value === null ? 'null' : `"\\\\x${value.toString('hex')}"`)).join(',')}}`

export const updateListedLine = (tx: Transaction, line: Pick<ListedLine, 'id' | 'state' | 'paymentId' | 'invoiceId'>) =>
  tx.rows(sql`
    update result_lines set state = ${line.state}, payment_id = ${line.paymentId}, invoice_id = ${line.invoiceId}
     where account_id = ${tx.account} and result_line_id = ${line.id}`)

/** Line whose like is looked for: the keyed hash of its texts, and whether its bank has a reference of it. */
export interface Likeness {
  likeness: Buffer
  hasBankReference: boolean
}

/**
 * Finds for each line the first that is like it; one with a reference of the bank is like those without. Each is looked up by itself: the table
 * may have grown since it was analysed.
 */
export const listAlike = (tx: Transaction, asked: readonly Likeness[]) =>
  tx.rows<Likeness & { id: Id }>(sql`
    select asked.likeness, asked.has_bank_reference as "hasBankReference", earlier.id
      from unnest(${byteas(asked.map(({ likeness }) => likeness))}::bytea[], ${column(asked, 'hasBankReference')}::boolean[])
             as asked (likeness, has_bank_reference)
     cross join lateral (select l.result_line_id as id from result_lines l
       where l.account_id = ${tx.account} and l.likeness = asked.likeness and not (l.has_bank_reference and asked.has_bank_reference)
       order by l.result_line_id limit 1) earlier`)

/** Reference of a bank and the account that it is of, both as hashes. */
export interface BankReference {
  reference: Buffer
  /** Null where the file names no account: it is then of its gateway alone. */
  ofAccount: Buffer | null
}

/** Reference that was read in another file, as it was asked for. */
export interface ReadReference {
  place: bigint
  /** It was read for the same gateway. */
  isOfGateway: boolean
}

/** Lists which references were read in another file: of the same gateway, or of the same account for whichever gateway. */
export const listReadReferences = (
  tx: Transaction,
  { gatewayId, id }: Pick<ResultFile, 'gatewayId' | 'id'>,
  references: readonly (BankReference & { place: bigint })[],
) =>
  tx.rows<ReadReference>(sql`
    select asked.place, known.is_of_gateway as "isOfGateway"
      from unnest(${bigints(references, 'place')}::bigint[], ${byteas(references.map(({ reference }) => reference))}::bytea[],
                  ${byteas(references.map(({ ofAccount }) => ofAccount))}::bytea[]) as asked (place, reference, of_account)
     cross join lateral (select bool_or(b.gateway_id = ${gatewayId}) as is_of_gateway from bank_references b
       where b.account_id = ${tx.account} and b.reference = asked.reference and b.result_file_id <> ${id}
         and (b.gateway_id = ${gatewayId} or b.of_account = asked.of_account)) known
     where known.is_of_gateway is not null`)

export function sendReadReferences(
  tx: Transaction,
  { gatewayId, id }: Pick<ResultFile, 'gatewayId' | 'id'>,
  references: readonly BankReference[],
  now: Instant,
): void {
  if (references.length === 0) return
  tx.send(sql`
    insert into bank_references (account_id, gateway_id, result_file_id, read_at, reference, of_account)
    select ${tx.account}, ${gatewayId}, ${id}, ${now}::timestamptz, * from unnest(
      ${byteas(references.map(({ reference }) => reference))}::bytea[], ${byteas(references.map(({ ofAccount }) => ofAccount))}::bytea[])
    on conflict (account_id, reference, gateway_id) do nothing`)
}

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
