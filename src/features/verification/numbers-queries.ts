import type { AccountId, CustomerId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'

export const getCounters = (db: Queryable, account: AccountId) =>
  db.one<{ nextInvoiceNumber: bigint; nextCreditNumber: bigint }>(sql`
    select next_invoice_number as "nextInvoiceNumber", next_credit_number as "nextCreditNumber" from account_counters
     where account_id = ${account}`)

/** Reads how many invoices have a number, and the last one; 0 before the first. */
export const getNumberEnds = (db: Queryable, account: AccountId) =>
  db.one<{ count: bigint; last: bigint }>(sql`
    select count(*) as "count", coalesce(max(number), 0) as "last" from invoices where account_id = ${account} and number is not null`)

/** Numbers from one until before another that no invoice has; the invoice after them, or null where they lie before the account's next. */
export interface NumberGap {
  from: bigint
  until: bigint
  recordId: Id | null
  customerId: CustomerId | null
}

export const listInvoiceGaps = (db: Queryable, account: AccountId, limit: number) =>
  db.rows<NumberGap>(sql`
    select n.before + 1 as "from", n.number as "until", n.invoice_id as "recordId", n.customer_id as "customerId"
      from (select number, invoice_id, customer_id, lag(number, 1, 0::bigint) over (order by number) as before
              from invoices where account_id = ${account} and number is not null) n
     where n.number <> n.before + 1 order by n.number limit ${limit}`)

export interface NumberRaise {
  from: bigint
  to: bigint
}

/** Lists the events of a raised next number, of invoices or of credit notes. */
export const listNumberRaises = (db: Queryable, account: AccountId, of: 'invoice' | 'credit') =>
  db.rows<NumberRaise>(sql`
    select (record ->> 'From')::bigint as "from", (record ->> 'To')::bigint as "to" from events
     where account_id = ${account} and type = ${`account.${of}_number_raised`} order by event_id`)

/** Lists the numbers of the account's own sequence of credit notes, below its next, that no credit note has. */
export const listCreditGaps = (db: Queryable, account: AccountId, next: bigint, limit: number) =>
  db.rows<{ from: bigint; until: bigint }>(sql`
    select n.before + 1 as "from", n.number as "until"
      from (select number, lag(number, 1, 0::bigint) over (order by number) as before
              from (select substr(ref_key, 4)::bigint as number from negative_adjustments
                     where account_id = ${account} and kind = 'credit_note' and ref_key ~ '^cn-[1-9][0-9]{0,14}$'
                    union all select ${next}::bigint) own
             where number <= ${next}) n
     where n.number > n.before + 1 order by n.number limit ${limit}`)

/** Lists the numbers of the account's own sequence that credit notes had which were deleted or renumbered since, as events report. */
export const listNumbersGivenUp = (db: Queryable, account: AccountId) =>
  db.rows<{ number: bigint }>(sql`
    select distinct substr(e.record ->> 'CreditNumber', 4)::bigint as "number" from events e
     where e.account_id = ${account} and e.type in ('credit_note.created', 'credit_note.updated')
       and e.record ->> 'CreditNumber' ~* '^cn-[1-9][0-9]{0,14}$'
       and exists (select 1 from events l where l.account_id = ${account} and l.record_id = e.record_id and l.event_id > e.event_id
         and l.type in ('credit_note.deleted', 'credit_note.updated'))`)

/** Lists the service's own credit notes with a number that it cannot have given yet, and that no caller gave them. */
export const listNotesBeyond = (db: Queryable, account: AccountId, next: bigint, limit: number) =>
  db.rows<{ id: Id; customerId: CustomerId; number: string }>(sql`
    select n.negative_adjustment_id as "id", n.customer_id as "customerId", n.ref as "number" from negative_adjustments n
     where n.account_id = ${account} and n.kind = 'credit_note' and n.invoice_id is not null
       and (n.ref_key !~ '^cn-[1-9][0-9]{0,14}$' or substr(n.ref_key, 4)::numeric >= ${next}::bigint)
       and not exists (select 1 from events e where e.account_id = ${account} and e.type = 'credit_note.updated'
         and e.record_id = n.negative_adjustment_id and e.record ->> 'CreditNumber' = n.ref)
     order by n.negative_adjustment_id limit ${limit}`)

/** Lists the numbers that more than one credit note has, whatever their letter case. */
export const listNumbersGivenTwice = (db: Queryable, account: AccountId, limit: number) =>
  db.rows<{ id: Id; customerId: CustomerId; number: string; firstId: Id }>(sql`
    select n.id as "id", n.customer_id as "customerId", n.ref as "number", n.first_id as "firstId"
      from (select negative_adjustment_id as id, customer_id, ref,
                   min(negative_adjustment_id) over (partition by lower(ref)) as first_id
              from negative_adjustments where account_id = ${account} and kind = 'credit_note') n
     where n.id <> n.first_id order by n.id limit ${limit}`)
