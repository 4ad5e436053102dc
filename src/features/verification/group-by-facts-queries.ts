import type { AccountId, Id, InvoiceId } from '../../kernel/ids.ts'
import { oneRow, type Queryable } from '../../platform/database/database.ts'
import { fragment, sql } from '../../platform/database/sql.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'
import { PAGE_ENDS, type PageEnds, type Span } from './pages-queries.ts'

export const findInvoices = (db: Queryable, account: AccountId, after: InvoiceId, limit: number) =>
  oneRow<PageEnds>(
    db,
    sql`select ${PAGE_ENDS} from (
      select invoice_id as id from invoices where account_id = ${account} and invoice_id > ${after} order by invoice_id limit ${limit}) p`,
  )

/** Invoices that are alike in all that lines, taxes and total are checked by. */
export interface AlikeInvoices {
  /** Null where their lines are rows. */
  shapeId: Id | null
  /** Hash of what their lines and taxes have in common, where these are rows. */
  content: bigint | null
  currency: string
  totalMinor: bigint
  count: number
  firstId: InvoiceId
  /** Identifiers, separated by commas, where what else is checked of them is not as it should be; otherwise null. */
  oddIds: string | null
}

/**
 * Lists the invoices of a span as groups that are alike. Rule for what is not odd: sums that an invoice keeps are those of its allocations and settlements, and
 * within its total; versions that it froze are there; its subscription is its customer's; a shape that it refers to is there and its lines are nowhere else. What else could be wrong follows from
 * what a group has in common. Rows are hashed with a seed that nobody knows before, so that different ones cannot be made to look alike.
 */
export const listAlikeInvoices = (db: Queryable, account: AccountId, { after, upTo }: Span, seed: bigint) => {
  const within = fragment`account_id = ${account} and invoice_id > ${after} and invoice_id <= ${upTo}`
  return hashedRows<AlikeInvoices>(
    db,
    sql`
    with chosen as materialized (
      select invoice_id, customer_id, customer_version, account_version, subscription_id, template_id, first_tax_id, currency, issued_at, cancelled_at, total_minor,
             paid_minor, pending_minor, negative_minor, credited_minor, written_off_minor from invoices where ${within}),
    lines as materialized (
      select invoice_id, count(*) as count, bit_xor(hash_record_extended(row(display_order, kind, quantity, unit_price, net_minor, gross_minor,
               period_from, period_until, whole_from, whole_until, price, brackets, stretch, item_id, part), ${seed}::bigint)) as hash
        from charge_rows where ${within} group by invoice_id),
    taxes as materialized (
      select invoice_id, array_agg(hash_record_extended(row(name, rate, base_minor, amount_minor, shares), ${seed}::bigint)
               order by invoice_tax_id) as hashes
        from invoice_tax_rows where ${within} group by invoice_id),
    applied as materialized (
      select l.owed_id as invoice_id,
             coalesce(sum(l.amount_minor) filter (where l.given_kind = 'payment' and not s.pending), 0)::bigint as paid,
             coalesce(sum(l.amount_minor) filter (where l.given_kind = 'payment' and s.pending), 0)::bigint as pending,
             coalesce(sum(l.amount_minor) filter (where l.given_kind = 'negative_adjustment'), 0)::bigint as negative,
             coalesce(sum(l.amount_minor) filter (where n.kind = 'bad_debt'), 0)::bigint as written_off
        from allocations l
        left join negative_adjustments n on l.given_kind = 'negative_adjustment' and n.account_id = ${account} and n.negative_adjustment_id = l.given_id
        left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id
        cross join lateral (select coalesce(p.origin <> 'recorded' and p.settled_on is null, false) as pending) s
       where l.account_id = ${account} and l.owed_kind = 'invoice' and l.owed_id > ${after} and l.owed_id <= ${upTo} and l.ended_on is null
       group by l.owed_id),
    credited as materialized (
      select invoice_id, sum(gross_minor)::bigint as credited from settlements
       where ${within} and ended_on is null and basis <> 'relief' group by invoice_id),
    judged as materialized (
      select i.invoice_id, i.template_id, i.currency, i.total_minor,
             case when i.template_id is null then hash_record_extended(row(c.count, c.hash, t.hashes), ${seed}::bigint) end as content,
             coalesce(i.paid_minor = coalesce(a.paid, 0) and i.pending_minor = coalesce(a.pending, 0) and i.negative_minor = coalesce(a.negative, 0)
               and i.written_off_minor = coalesce(a.written_off, 0) and i.credited_minor = coalesce(g.credited, 0)
               and i.paid_minor >= 0 and i.pending_minor >= 0 and i.negative_minor >= 0
               and i.paid_minor + i.pending_minor + i.negative_minor <= i.total_minor
               and (i.paid_minor + i.pending_minor + i.negative_minor = 0 or i.issued_at is not null and i.cancelled_at is null)
               and (i.issued_at is not null or i.cancelled_at is null)
               and (i.template_id is null or (k.taxes = 0) = (i.first_tax_id is null)
                 and c.count is null and t.hashes is null and i.subscription_id is not null)
               and (i.subscription_id is null or b.customer_id = i.customer_id)
               and (coalesce(u.version = i.customer_version, false) or exists (select 1 from customer_versions v
                 where v.account_id = ${account} and v.customer_id = i.customer_id and v.version = i.customer_version))
               and (o.version = i.account_version or exists (select 1 from account_versions v
                 where v.account_id = ${account} and v.version = i.account_version)), false) as is_even
        from chosen i
        join accounts o on o.account_id = ${account}
        left join (select customer_id, version from customers
                    where account_id = ${account} and customer_id = any(array(select customer_id from chosen)) offset 0) u on u.customer_id = i.customer_id
        left join (select subscription_id, customer_id from subscriptions
                    where account_id = ${account} and subscription_id = any(array(select subscription_id from chosen)) offset 0) b on b.subscription_id = i.subscription_id
        left join (select template_id, taxes from invoice_templates
                    where account_id = ${account} and template_id = any(array(select distinct template_id from chosen)) offset 0) k on k.template_id = i.template_id
        left join lines c on c.invoice_id = i.invoice_id
        left join taxes t on t.invoice_id = i.invoice_id
        left join applied a on a.invoice_id = i.invoice_id
        left join credited g on g.invoice_id = i.invoice_id)
    select template_id as "shapeId", content, currency, total_minor as "totalMinor", count(*)::integer as "count", min(invoice_id) as "firstId",
           string_agg(invoice_id::text, ',') filter (where not is_even) as "oddIds"
      from judged group by template_id, content, currency, total_minor, is_even`,
  )
}
