import type { DeclineClass } from '../../kernel/rails.ts'
import type { FailureReason } from '../../engine/collection/reasons.ts'
import type { Instant, IsoDate } from '../../kernel/calendar.ts'
import type { SentDebit } from '../../rails/nacha/repeats.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { instantOf } from '../../kernel/zone.ts'
import type { OfMany, Queryable, Transaction } from '../../platform/database/database.ts'
import { bigints, bigintList, dates } from '../../platform/database/columns.ts'
import { column, fragment, sql } from '../../platform/database/sql.ts'
import { drawNonce } from '../gateways/references.ts'

/** Statements of the lines of batches. Amount and allocations of a line are those of its payment. */

export type ResultSource = 'gateway' | 'file' | 'hand'

export interface BatchLine {
  /** The identifier of its payment. */
  id: Id
  /** Of its reference at the gateway; null of lines of programs before. */
  nonce: string | null
  /** The gateway's name of it, null where none is kept. */
  gatewayReference: string | null
  /** When it was handed over last, where lines are one by one; null: it surely was not, or its batch goes as one. */
  sentAt: Instant | null
  /** How its gateway refused it, until its batch is submitted; null: it did not, or that is its result by now. */
  refusal: (FailureReason & { on: IsoDate }) | null
  batchId: Id
  customerId: CustomerId
  paymentMethodId: Id
  isServiceMade: boolean
  /** The day of the debit that the newest notice to the payer names; null: there was none. */
  announcedOn: IsoDate | null
  /** Keyed hash of the account number that the batch was built with, or that its bank has corrected it to since. */
  sentNumberHash: Buffer | null
  sentMandate: string | null
  /** By which the bank of an ach-file gateway names it. */
  sentTrace: string | null
  result: 'success' | 'failed' | null
  resultOn: IsoDate | null
  resultClass: DeclineClass | null
  resultCode: string | null
  resultReason: string | null
  resultSource: ResultSource | null
  returnedOn: IsoDate | null
  returnedClass: DeclineClass | null
  returnedCode: string | null
  returnedReason: string | null
  returnedSource: ResultSource | null
}

const COLUMNS = fragment`
  l.payment_id as "id", l.nonce, l.gateway_reference as "gatewayReference", l.sent_at as "sentAt", l.refusal, l.batch_id as "batchId", l.customer_id as "customerId", l.payment_method_id as "paymentMethodId",
  l.is_service_made as "isServiceMade", l.announced_on as "announcedOn", l.sent_number_hash as "sentNumberHash",
  l.sent_mandate as "sentMandate", l.sent_trace as "sentTrace", l.result, l.result_on as "resultOn", l.result_class as "resultClass", l.result_code as "resultCode",
  l.result_reason as "resultReason", l.result_source as "resultSource", l.returned_on as "returnedOn",
  l.returned_class as "returnedClass", l.returned_code as "returnedCode", l.returned_reason as "returnedReason",
  l.returned_source as "returnedSource"`

export const findLine = (db: Queryable, account: AccountId, id: Id) =>
  db.first<BatchLine>(sql`
    select ${COLUMNS} from batch_lines l where l.account_id = ${account} and l.payment_id = ${id}`)

export const listLinesById = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<BatchLine>(
    sql`select ${COLUMNS} from batch_lines l where l.account_id = ${account} and l.payment_id = any(${bigintList(ids)}::bigint[])`,
  )

/** Lists the lines of a batch, in the order in which they were added. */
export const listLines = (db: Queryable, account: AccountId, batchId: Id) =>
  db.rows<BatchLine>(
    sql`select ${COLUMNS} from batch_lines l where l.account_id = ${account} and l.batch_id = ${batchId} order by l.payment_id`,
  )

/** Lists the lines of a customer without a result, by ascending batch. */
export const listOpenLinesOf = (tx: Transaction, customerId: CustomerId) =>
  tx.rows<BatchLine>(sql`
    select ${COLUMNS} from batch_lines l
     where l.account_id = ${tx.account} and l.customer_id = ${customerId} and l.result is null order by l.batch_id, l.payment_id`)

/** Lists the amounts of a batch's lines, in the order in which they were added. */
export const listLineAmounts = (db: Queryable, account: AccountId, batchId: Id) =>
  db.rows<{ id: Id; amountMinor: bigint }>(sql`
    select l.payment_id as "id", p.amount_minor as "amountMinor"
      from batch_lines l join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
     where l.account_id = ${account} and l.batch_id = ${batchId} order by l.payment_id`)

export type NewBatchLine = Pick<
  BatchLine,
  'id' | 'batchId' | 'customerId' | 'paymentMethodId' | 'isServiceMade' | 'announcedOn'
>

export const insertLine = (tx: Transaction, row: NewBatchLine) =>
  tx.rows(sql`
    insert into batch_lines (account_id, payment_id, batch_id, customer_id, payment_method_id, is_service_made, announced_on, nonce)
    values (${tx.account}, ${row.id}, ${row.batchId}, ${row.customerId}, ${row.paymentMethodId}, ${row.isServiceMade}, ${row.announcedOn},
      ${drawNonce()})`)

/** Gives a line that bears no name the one by which its gateway has answered, unless another line bears it. Returns the name that it has then. */
export const nameLine = async (tx: Transaction, id: Id, name: string): Promise<string | null> => {
  await tx.rows(sql`
    update batch_lines l set gateway_reference = ${name}
     where l.account_id = ${tx.account} and l.payment_id = ${id} and l.gateway_reference is null
       and not exists (select 1 from batch_lines o where o.account_id = ${tx.account} and o.gateway_reference = ${name})`)
  return (await findLine(tx, tx.account, id))?.gatewayReference ?? null
}

/** Marks lines as being handed over now, as far as nobody else has since they were read. Returns those that are. */
export const markLines = (tx: Transaction, lines: readonly Pick<BatchLine, 'id' | 'sentAt'>[]): Promise<Id[]> => {
  // Moments are read to the millisecond.
  const rows = lines.map(({ id, sentAt }) => ({ id, sentAt, until: sentAt && instantOf(Date.parse(sentAt) + 1) }))
  return tx.values<Id>(sql`
    update batch_lines l set sent_at = moment()
      from unnest(${bigints(rows, 'id')}::bigint[], ${column(rows, 'sentAt')}::timestamptz[], ${column(rows, 'until')}::timestamptz[])
        as r (id, at, until)
     where l.account_id = ${tx.account} and l.payment_id = r.id
       and (r.at is null and l.sent_at is null or l.sent_at >= r.at and l.sent_at < r.until) returning l.payment_id as "id"`)
}

/** Writes that lines surely were not handed over. */
export const unmarkLines = (tx: Transaction, ids: readonly Id[]) =>
  tx.rows(sql`
    update batch_lines set sent_at = null where account_id = ${tx.account} and payment_id = any(${bigintList(ids)}::bigint[])`)

/** Keeps how a gateway refused a line until its batch is submitted. */
export const noteRefused = (tx: Transaction, id: Id, refusal: NonNullable<BatchLine['refusal']>) =>
  tx.rows(sql`
    update batch_lines set refusal = ${JSON.stringify(refusal)}::jsonb where account_id = ${tx.account} and payment_id = ${id}`)

/** Writes what a caller can change of a line, and whose it is. */
export const updateLine = (tx: Transaction, row: Pick<BatchLine, 'id' | 'paymentMethodId' | 'isServiceMade'>) =>
  tx.rows(sql`
    update batch_lines set payment_method_id = ${row.paymentMethodId}, is_service_made = ${row.isServiceMade}
     where account_id = ${tx.account} and payment_id = ${row.id}`)

/** Writes the accounts, the mandates and the traces that lines were handed over with. */
export const updateSent = (tx: Transaction, rows: readonly SentWith[]) => {
  const hashes = rows.map(({ numberHash }) => ({ hex: numberHash?.toString('hex') ?? null }))
  return tx.rows(sql`
    update batch_lines l set sent_number_hash = decode(s.hash, 'hex'), sent_mandate = s.mandate, sent_trace = s.trace
      from unnest(${bigints(rows, 'id')}::bigint[], ${column(hashes, 'hex')}::text[], ${column(rows, 'mandate')}::text[],
        ${column(rows, 'trace')}::text[]) as s(id, hash, mandate, trace)
     where l.account_id = ${tx.account} and l.payment_id = s.id`)
}

/** The account, as a keyed hash of its number, and the mandate that a line was handed over with; the trace by which its bank names it. */
export interface SentWith {
  id: Id
  numberHash: Buffer | null
  mandate: string | null
  trace: string | null
}

/** Lets the debits of a method that went to an account under one number be of the account under the number that its bank has corrected it to. */
export const renameSentAccount = (tx: Transaction, methodId: Id, { from, to }: { from: Buffer; to: Buffer }) =>
  tx.rows(sql`
    update batch_lines set sent_number_hash = ${to}
     where account_id = ${tx.account} and payment_method_id = ${methodId} and sent_number_hash = ${from} and sent_number_hash <> ${to}`)

const results: OfMany<BatchLine> = (account, rows) => sql`
    update batch_lines l
       set result = r.result, result_on = r.result_on, result_class = r.result_class, result_code = r.result_code, result_reason = r.result_reason,
           result_source = r.result_source, returned_on = r.returned_on, returned_class = r.returned_class, returned_code = r.returned_code,
           returned_reason = r.returned_reason, returned_source = r.returned_source
      from unnest(${bigints(rows, 'id')}::bigint[], ${column(rows, 'result')}::text[], ${dates(rows, 'resultOn')}::date[],
        ${column(rows, 'resultClass')}::text[], ${column(rows, 'resultCode')}::text[], ${column(rows, 'resultReason')}::text[],
        ${column(rows, 'resultSource')}::text[], ${dates(rows, 'returnedOn')}::date[], ${column(rows, 'returnedClass')}::text[],
        ${column(rows, 'returnedCode')}::text[], ${column(rows, 'returnedReason')}::text[], ${column(rows, 'returnedSource')}::text[])
        as r(id, result, result_on, result_class, result_code, result_reason, result_source, returned_on, returned_class, returned_code,
          returned_reason, returned_source)
     where l.account_id = ${account} and l.payment_id = r.id`

/** Writes the result of a line, or that its money was lost again. */
export const sendResult = (tx: Transaction, row: BatchLine): void => tx.sendGrouped(results, [row])

/** Reports whether a line of a batch has no result. Results come in the order of lines more often than not, so it begins with the last one. */
export const hasLineWithoutResult = async (tx: Transaction, batchId: Id): Promise<boolean> =>
  (await tx.first(sql`
    select 1 from batch_lines where account_id = ${tx.account} and batch_id = ${batchId} and result is null
     order by account_id desc, batch_id desc, payment_id desc limit 1`)) !== undefined

/** Keeps what lines are to pay as their batch is handed over, and returns the invoices that count them as tries, once for each line. */
export const insertLineInvoices = (tx: Transaction, lineIds: readonly Id[]): Promise<InvoiceId[]> =>
  tx.values<InvoiceId>(sql`
    insert into batch_line_invoices (account_id, invoice_id, payment_id, amount_minor)
    select ${tx.account}, a.owed_id, a.given_id, sum(a.amount_minor) from allocations a
     where a.account_id = ${tx.account} and a.given_kind = 'payment' and a.given_id = any(${bigintList(lineIds)}::bigint[])
       and a.owed_kind = 'invoice' and a.ended_on is null
     group by a.given_id, a.owed_id returning invoice_id as "id"`)

export const listLineInvoices = (tx: Transaction, id: Id): Promise<InvoiceId[]> =>
  tx.values<InvoiceId>(sql`
    select invoice_id as "id" from batch_line_invoices where account_id = ${tx.account} and payment_id = ${id} order by invoice_id`)

/** A line by hand as a try of an invoice that it was to pay, or pays. */
export interface LineAttempt extends Pick<
  BatchLine,
  | 'id'
  | 'paymentMethodId'
  | 'result'
  | 'resultClass'
  | 'resultCode'
  | 'resultReason'
  | 'returnedOn'
  | 'returnedClass'
  | 'returnedCode'
  | 'returnedReason'
  | 'gatewayReference'
> {
  batchToken: string
  gatewayId: Id
  actionDate: IsoDate
  currency: string
  amountMinor: bigint
}

/** Lists the lines by hand that were to pay an invoice when their batches were handed over, or pay it in one that was not, oldest first. */
export const listLineAttempts = (db: Queryable, account: AccountId, invoiceId: InvoiceId) =>
  db.rows<LineAttempt>(sql`
    with paying as (
      select i.payment_id, i.amount_minor from batch_line_invoices i where i.account_id = ${account} and i.invoice_id = ${invoiceId}
      union all
      select a.given_id, sum(a.amount_minor)::bigint from allocations a
       where a.account_id = ${account} and a.owed_kind = 'invoice' and a.owed_id = ${invoiceId} and a.given_kind = 'payment'
         and not exists (select 1 from batch_line_invoices i where i.account_id = ${account} and i.invoice_id = ${invoiceId} and i.payment_id = a.given_id)
       group by a.given_id)
    select l.payment_id as "id", l.payment_method_id as "paymentMethodId", l.result, l.result_class as "resultClass",
           l.result_code as "resultCode", l.result_reason as "resultReason", l.returned_on as "returnedOn",
           l.returned_class as "returnedClass", l.returned_code as "returnedCode", l.returned_reason as "returnedReason",
           l.gateway_reference as "gatewayReference", b.token::text as "batchToken", b.gateway_id as "gatewayId", b.action_date as "actionDate", b.currency,
           y.amount_minor as "amountMinor"
      from paying y
      join batch_lines l on l.account_id = ${account} and l.payment_id = y.payment_id and not l.is_service_made
      join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id
     order by l.payment_id`)

/** A line with what its batch is built from. */
export interface LineFacts extends Pick<BatchLine, 'sentAt' | 'refusal' | 'gatewayReference'> {
  id: Id
  nonce: string | null
  paymentMethodId: Id
  isServiceMade: boolean
  amountMinor: bigint
  /** Address of the customer, as it was written. */
  address1: string | null
  address2: string | null
  city: string | null
  postalCode: string | null
  country: string | null
  isCompany: boolean
  /** Of the eMandate that the payer signed here for the method; null where there is none. */
  frequency: string | null
}

export const listLineFacts = (db: Queryable, account: AccountId, batchId: Id) =>
  db.rows<LineFacts>(sql`
    select l.payment_id as "id", l.nonce, l.sent_at as "sentAt", l.refusal, l.gateway_reference as "gatewayReference",
           l.payment_method_id as "paymentMethodId", l.is_service_made as "isServiceMade",
           p.amount_minor as "amountMinor", c.address1, c.address2, c.city, c.zip_code as "postalCode", c.country, c.is_company as "isCompany",
           (select e.terms ->> 'frequency' from payment_methods m join emandates e on e.account_id = ${account} and e.emandate_id = m.emandate_id
             where m.account_id = ${account} and m.payment_method_id = l.payment_method_id and e.signed_at is not null) as "frequency"
      from batch_lines l join payments p on p.account_id = ${account} and p.payment_id = l.payment_id
      join customers c on c.account_id = ${account} and c.customer_id = l.customer_id
     where l.account_id = ${account} and l.batch_id = ${batchId} order by l.payment_id`)

/** Lists the invoices that lines pay, by line. */
export const listPaidInvoices = (db: Queryable, account: AccountId, lineIds: readonly Id[]) =>
  db.rows<{ lineId: Id; invoiceId: InvoiceId }>(sql`
    select distinct given_id as "lineId", owed_id as "invoiceId" from allocations
     where account_id = ${account} and given_kind = 'payment' and given_id = any(${bigintList(lineIds)}::bigint[])
       and owed_kind = 'invoice' and ended_on is null`)

/** Debit with a trace that left to pay an invoice, and what has become of it. */
export interface TracedDebit extends SentDebit {
  id: Id
  invoiceId: InvoiceId
}

/** Lists the debits with a trace that left to pay invoices, by hand or by the service, oldest first. What was never sent is none. */
export const listTracedDebits = (db: Queryable, account: AccountId, invoiceIds: readonly InvoiceId[]) =>
  db.rows<TracedDebit>(sql`
    with paying as (
      select i.invoice_id, i.payment_id from batch_line_invoices i
       where i.account_id = ${account} and i.invoice_id = any(${bigintList(invoiceIds)}::bigint[])
      union
      select t.invoice_id, t.payment_id from collection_tries t
       where t.account_id = ${account} and t.is_line and t.invoice_id = any(${bigintList(invoiceIds)}::bigint[]))
    select y.invoice_id as "invoiceId", l.payment_id as "id", p.amount_minor as "amountMinor", b.action_date as "actionDate",
           encode(l.sent_number_hash, 'hex') as "account", coalesce(l.returned_code, l.result_code) as "code"
      from paying y
      join batch_lines l on l.account_id = ${account} and l.payment_id = y.payment_id and l.sent_trace is not null
      join payment_batches b on b.account_id = ${account} and b.batch_id = l.batch_id and b.state in ('submitted', 'completed')
      join payments p on p.account_id = ${account} and p.payment_id = y.payment_id
     where l.result_class is distinct from 'not_sent' and l.returned_class is distinct from 'not_sent'
     order by b.action_date, l.payment_id`)

/** Lists the invoices that lines left to pay, by hand or by the service. */
export const listInvoicesOfSent = (tx: Transaction, lineIds: readonly Id[]): Promise<InvoiceId[]> =>
  tx.values<InvoiceId>(sql`
    select i.invoice_id as "id" from batch_line_invoices i
     where i.account_id = ${tx.account} and i.payment_id = any(${bigintList(lineIds)}::bigint[])
    union
    select t.invoice_id from collection_tries t
     where t.account_id = ${tx.account} and t.is_line and t.payment_id = any(${bigintList(lineIds)}::bigint[])`)

/**
 * Lists the invoices with a number that lines pay, by line and number. Two statements by lists of identifiers and no join: where the tables are new and
 * PostgreSQL knows nothing of them it would go through all allocations of the account for each line.
 */
export async function listPaidNumbers(
  db: Queryable,
  account: AccountId,
  lineIds: readonly Id[],
): Promise<{ lineId: Id; number: bigint }[]> {
  const paid = await listPaidInvoices(db, account, lineIds)
  const numbered = await db.rows<{ id: InvoiceId; number: bigint }>(sql`
    select invoice_id as "id", number from invoices
     where account_id = ${account} and invoice_id = any(${bigintList([...new Set(paid.map(({ invoiceId }) => invoiceId))])}::bigint[])
       and number is not null`)
  const numberOf = new Map(numbered.map(({ id, number }) => [id, number]))
  return paid
    .flatMap(({ lineId, invoiceId }) => {
      const number = numberOf.get(invoiceId)
      return number === undefined ? [] : [{ lineId, number }]
    })
    .toSorted((a, b) => Number(a.lineId - b.lineId || a.number - b.number))
}
