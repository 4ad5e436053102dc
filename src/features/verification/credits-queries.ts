import type { CreditLine } from '../../engine/subscription/credits.ts'
import type { NegativeKind } from '../../engine/money/postings.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { arrayLiteral, sql } from '../../platform/database/sql.ts'
import { writtenOutCharges } from '../invoices/state-queries.ts'
import { writtenEntries } from '../ledger/group-by-facts-queries.ts'

/** A negative adjustment; what is about an invoice is of credit notes of the service, and null for any other. */
export interface CheckedNote {
  id: Id
  customerId: CustomerId
  kind: NegativeKind
  invoiceId: InvoiceId | null
  currency: string
  amountMinor: bigint
  appliedMinor: bigint
  /** The sum of its allocations, in minor units. */
  allocatedMinor: bigint
  invoiceCustomerId: CustomerId | null
  invoiceCurrency: string | null
  invoiceTotalMinor: bigint | null
  /** Net that is settled by lines, in minor units: of notes of callers. */
  linesMinor: bigint
  /** The sum of all credit notes that the rules made for its invoice, in minor units. */
  creditedMinor: bigint
}

export const listNotePage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedNote>(sql`
    select n.negative_adjustment_id as "id", n.customer_id as "customerId", n.kind, n.invoice_id as "invoiceId", n.currency,
           n.amount_minor as "amountMinor", n.applied_minor as "appliedMinor",
           coalesce((select sum(l.amount_minor) from allocations l where l.account_id = ${account} and l.ended_on is null
             and l.given_kind = 'negative_adjustment' and l.given_id = n.negative_adjustment_id), 0)::bigint as "allocatedMinor",
           i.customer_id as "invoiceCustomerId", i.currency as "invoiceCurrency", i.total_minor as "invoiceTotalMinor",
           coalesce((select sum(s.gross_minor - coalesce((select sum(t.amount_minor) from settlement_taxes t
                 where t.account_id = ${account} and t.settlement_id = s.settlement_id), 0)) from settlements s
              where s.account_id = ${account} and s.negative_adjustment_id = n.negative_adjustment_id and s.basis = 'lines'
                and s.ended_on is null), 0)::bigint as "linesMinor",
           coalesce((select sum(o.amount_minor) from negative_adjustments o
              where o.account_id = ${account} and o.invoice_id = n.invoice_id), 0)::bigint as "creditedMinor"
      from negative_adjustments n left join invoices i on i.account_id = ${account} and i.invoice_id = n.invoice_id
     where n.account_id = ${account} and n.negative_adjustment_id > ${after} order by n.negative_adjustment_id limit ${limit}`)

export interface CheckedNoteLine extends Pick<
  CreditLine,
  'chargeId' | 'from' | 'until' | 'wholeFrom' | 'wholeUntil' | 'price' | 'mostMinor' | 'netMinor'
> {
  noteId: Id
  line: number
  /** The charge is on the invoice that the note credits. */
  isOfItsInvoice: boolean
}

export const listNoteLines = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<CheckedNoteLine>(sql`
    select l.credit_note_id as "noteId", l.line, l.charge_id as "chargeId", l.period_from as "from", l.period_until as "until",
           l.whole_from as "wholeFrom", l.whole_until as "wholeUntil", l.price, l.most_minor as "mostMinor", l.net_minor as "netMinor",
           coalesce(c.invoice_id = n.invoice_id, exists (
             select 1 from settlements s where s.account_id = ${account} and s.negative_adjustment_id = n.negative_adjustment_id
                and s.invoice_id = c.invoice_id and s.basis = 'lines' and s.ended_on is null), false) as "isOfItsInvoice"
      from credit_note_lines l
      join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = l.credit_note_id
      left join ${writtenOutCharges(account)} c on c.charge_id = l.charge_id
     where l.account_id = ${account} and l.credit_note_id = any(${arrayLiteral(ids)}::bigint[]) order by l.credit_note_id, l.line`)

export interface CheckedNoteTax {
  noteId: Id
  name: string
  rate: Decimal
  amountMinor: bigint
  /** Amount of it in its settlement; null where that is missing. */
  settledMinor: bigint | null
  /** Its settlement gives back the net of its lines, instead of a gross amount to which they were cut. */
  isGivenBack: boolean
}

export const listCheckedNoteTaxes = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<CheckedNoteTax>(sql`
    select c.credit_note_id as "noteId", c.name, c.rate, c.amount_minor as "amountMinor", t.amount_minor as "settledMinor",
           coalesce(s.basis = 'given_back', false) as "isGivenBack"
      from credit_note_taxes c
      left join settlements s on s.account_id = ${account} and s.negative_adjustment_id = c.credit_note_id
      left join settlement_taxes t on t.account_id = ${account} and t.settlement_id = s.settlement_id and t.line = c.line
     where c.account_id = ${account} and c.credit_note_id = any(${arrayLiteral(ids)}::bigint[]) order by c.credit_note_id, c.line`)

export interface CreditedCharge {
  id: Id
  customerId: CustomerId
  currency: string
  netMinor: bigint
  creditedMinor: bigint
  /** The sum of the credit note lines for this charge, in minor units. */
  givenMinor: bigint
}

/** Lists charges of which more was given back than charged, or not the sum of their credit note lines. What was given back of is a row. */
export const listCreditedDifferences = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CreditedCharge>(sql`
    select c.charge_id as "id", i.customer_id as "customerId", i.currency, c.net_minor as "netMinor", c.credited_minor as "creditedMinor",
           coalesce(g.net, 0)::bigint as "givenMinor"
      from ${writtenOutCharges(account)} c
      join invoices i on i.account_id = ${account} and i.invoice_id = c.invoice_id
      left join (select charge_id, sum(net_minor) as net from credit_note_lines where account_id = ${account} group by charge_id) g
        on g.charge_id = c.charge_id
     where c.charge_id > ${after} and (c.credited_minor <> 0 or g.net is not null)
       and (c.credited_minor <> coalesce(g.net, 0) or c.credited_minor > c.net_minor or c.credited_minor < 0)
     order by c.charge_id limit ${limit}`)

export interface TakenTax {
  id: InvoiceId
  customerId: CustomerId
  currency: string
  name: string
  amountMinor: bigint
  takenMinor: bigint
}

/**
 * Lists the taxes of which more was taken back than was charged: by the service's credit notes, and by what callers' settle, as
 * the ledger has it.
 */
export const listTaxesTakenTooFar = (db: Queryable, account: AccountId, after: InvoiceId, limit: number) =>
  db.rows<TakenTax>(sql`
    with taken as (
      select n.invoice_id, c.name, c.rate, c.amount_minor as amount from negative_adjustments n
        join credit_note_taxes c on c.account_id = ${account} and c.credit_note_id = n.negative_adjustment_id
       where n.account_id = ${account} and n.invoice_id > ${after}
      union all
      select s.invoice_id, e.tax_name, e.tax_rate, case when e.debit = 'tax' then e.amount_minor else -e.amount_minor end
        from ${writtenEntries(account)} e join settlements s on s.account_id = ${account}
         and e.record_id = case e.record_type when 'settlement' then s.settlement_id when 'allocation' then s.old_allocation_id end
       where e.event = 'tax_taken_back' and s.invoice_id > ${after}),
    summed as (select invoice_id, name, rate, sum(amount) as amount from taken group by invoice_id, name, rate)
    select i.invoice_id as "id", i.customer_id as "customerId", i.currency, s.name, coalesce(t.amount, 0)::bigint as "amountMinor",
           s.amount::bigint as "takenMinor"
      from summed s join invoices i on i.account_id = ${account} and i.invoice_id = s.invoice_id
      left join lateral (select sum(t.amount_minor) as amount from invoice_taxes t
        where t.account_id = ${account} and t.invoice_id = i.invoice_id and t.name = s.name and t.rate = s.rate) t on true
     where s.amount > coalesce(t.amount, 0)
     order by i.invoice_id limit ${limit}`)
