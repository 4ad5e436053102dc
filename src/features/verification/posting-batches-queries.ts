import type { AccountId, Id } from '../../kernel/ids.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { sql } from '../../platform/database/sql.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'

/** A batch whose identifiers are another's too. */
export interface MisplacedBatch {
  id: Id
  what: 'entries' | 'invoices' | 'rows'
  /** Identifier that is given twice. */
  twice: Id
}

/** Lists the first thousand batches that share identifiers of entries or invoices with the next one, or of entries with one that was posted on its own. */
export const listMisplacedBatches = (db: Queryable, account: AccountId) =>
  db.rows<MisplacedBatch>(sql`
    with b as (
      select first_entry_id as id, first_entry_id + cardinality(customer_ids) * stride as entries_end,
             first_invoice_id + cardinality(customer_ids) as invoices_end,
             lead(first_entry_id) over (order by first_entry_id) as next_entry, lead(first_invoice_id) over (order by first_invoice_id) as next_invoice
        from ledger_packs where account_id = ${account})
    select b.id, 'entries' as "what", b.next_entry as "twice" from b where b.next_entry < b.entries_end
    union all
    select b.id, 'invoices', b.next_invoice from b where b.next_invoice < b.invoices_end
    union all
    select b.id, 'rows', e.entry_id from b join ledger_rows e on e.account_id = ${account} and e.entry_id >= b.id and e.entry_id < b.entries_end
     order by 1, 2 limit 1000`)

/** Identifiers that lines and taxes of the invoices of a batch have, as texts of `ledger/line-identifiers.ts`. */
export interface BatchIdentifiers {
  /** Identifier of the first entry of the batch. */
  id: Id
  charges: string
  taxes: string
}

/** Lists the identifiers of lines and taxes of batches that stand between the first entries of two. */
export const listBatchIdentifiers = (db: Queryable, account: AccountId, { first, last }: { first: Id; last: Id }) =>
  hashedRows<BatchIdentifiers>(
    db,
    sql`
    with members as materialized (
      select b.first_entry_id as batch, m.place, b.first_invoice_id + m.place as invoice_id
        from ledger_packs b cross join lateral generate_series(0, cardinality(b.customer_ids) - 1) as m(place)
       where b.account_id = ${account} and b.first_entry_id >= ${first} and b.first_entry_id <= ${last}),
    own as materialized (
      select invoice_id, template_id, first_charge_id, first_tax_id from invoices
       where account_id = ${account} and invoice_id = any(array(select invoice_id from members))),
    lines as materialized (
      select invoice_id, min(charge_id) as first, count(*) as count from charge_rows
       where account_id = ${account} and invoice_id = any(array(select invoice_id from own where template_id is null)) group by invoice_id),
    taxes as materialized (
      select invoice_id, min(invoice_tax_id) as first, count(*) as count from invoice_tax_rows
       where account_id = ${account} and invoice_id = any(array(select invoice_id from own where template_id is null)) group by invoice_id),
    given as materialized (
      select m.batch, m.place, coalesce(i.first_charge_id, l.first) as charge, coalesce(k.charges, l.count) as charges,
             coalesce(i.first_tax_id, t.first) as tax, coalesce(k.taxes, t.count) as taxes
        from members m
        left join own i on i.invoice_id = m.invoice_id
        left join (select template_id, charges, taxes from invoice_templates
                    where account_id = ${account} and template_id = any(array(select distinct template_id from own)) offset 0) k on k.template_id = i.template_id
        left join lines l on l.invoice_id = i.invoice_id
        left join taxes t on t.invoice_id = i.invoice_id),
    begun as (
      select batch, place, 'charge' as kind, charge as first, lag(charge + charges) over w as next from given where charge is not null
      window w as (partition by batch order by place)
      union all
      select batch, place, 'tax', tax, lag(tax + taxes) over w from given where tax is not null window w as (partition by batch order by place))
    select batch as "id",
           coalesce(string_agg(concat(E'\\n', place, E'\\x1f', first), '' order by place) filter (where kind = 'charge'), '') as "charges",
           coalesce(string_agg(concat(E'\\n', place, E'\\x1f', first), '' order by place) filter (where kind = 'tax'), '') as "taxes"
      from begun where first is distinct from next group by batch`,
  )
