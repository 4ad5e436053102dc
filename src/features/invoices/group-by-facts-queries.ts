import { bigints, positionsColumn } from '../../platform/database/columns.ts'
import type { AccountId, CustomerId, Id, InvoiceId } from '../../kernel/ids.ts'
import { PAGE_ENDS, type PageEnds, type Span } from '../../platform/checks/pages-queries.ts'
import type { Queryable } from '../../platform/database/database.ts'
import { hashedRows } from '../../platform/database/planner-hints.ts'
import { arrayLiteral, type Fragment, fragment, sql } from '../../platform/database/sql.ts'
import type { ListLineIdentifiers } from '../ledger/post-in-bulk.ts'
import { bracketsOf, type PricedBracketsJson } from '../components/brackets.ts'
import type { Charge } from './queries.ts'

/** Invoices and their lines as checks read them, whether these are rows or kept with shapes; and invoices as groups that are alike (decision 39). */

export const findInvoices = (db: Queryable, account: AccountId, after: InvoiceId, limit: number) =>
  db.one<PageEnds>(sql`
    select ${PAGE_ENDS} from (
  select invoice_id as id from invoices where account_id = ${account} and invoice_id > ${after} order by invoice_id limit ${limit}) p`)

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

/** The columns of a line `c` as checks compute it again. */
export const CHECKED_CHARGE = fragment`
  c.charge_id as "id", c.invoice_id as "invoiceId", c.display_order as "displayOrder", c.kind, c.name, c.description, c.quantity,
  c.unit_price as "unitPrice", c.net_minor as "netMinor", c.gross_minor as "grossMinor", c.period_from as "from", c.period_until as "until",
  c.whole_from as "wholeFrom", c.whole_until as "wholeUntil", c.price, c.brackets, c.subscription_id as "subscriptionId", c.stretch,
  c.item_id as "itemId", c.part`

type StoredCharge = Omit<Charge, 'brackets'> & { brackets: PricedBracketsJson | null }

/** Lists the lines of invoices, by identifier of the invoice and in their order on it. */
export const listCheckedCharges = async (
  db: Queryable,
  account: AccountId,
  ids: readonly InvoiceId[],
): Promise<Charge[]> =>
  (
    await db.rows<StoredCharge>(sql`
    select ${CHECKED_CHARGE} from charges c
     where c.account_id = ${account} and c.invoice_id = any(${arrayLiteral(ids)}::bigint[]) order by c.invoice_id, c.display_order`)
  ).map((row) => ({ ...row, brackets: bracketsOf(row.brackets) }))

export interface CheckedInvoice {
  id: InvoiceId
  customerId: CustomerId
  number: bigint | null
  /** Null where its lines are rows. */
  shapeId: Id | null
  currency: string
  isIssued: boolean
  isCancelled: boolean
  totalMinor: bigint
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
  creditedMinor: bigint
  writtenOffMinor: bigint
  /** The version of the customer that the document froze exists, as the present record or as an earlier one; likewise for the account. */
  isCustomerFrozen: boolean
  isAccountFrozen: boolean
  /** The subscription that it names is its customer's, and it names one where its lines are kept with a shape. */
  isOfOwnSubscription: boolean
}

export const listInvoicePage = (db: Queryable, account: AccountId, { after, upTo }: Span, limit: number) =>
  listChecked(
    db,
    account,
    fragment`
      select * from invoices where account_id = ${account} and invoice_id > ${after} and invoice_id <= ${upTo} order by invoice_id limit ${limit}`,
  )

export const listInvoicesOf = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  listChecked(
    db,
    account,
    fragment`select * from invoices where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])`,
  )

const listChecked = (db: Queryable, account: AccountId, chosen: Fragment) =>
  db.rows<CheckedInvoice>(sql`
    select i.invoice_id as "id", i.customer_id as "customerId", i.number, i.template_id as "shapeId", i.currency, i.issued_at is not null as "isIssued",
           i.cancelled_at is not null as "isCancelled", i.total_minor as "totalMinor", i.paid_minor as "paidMinor",
           i.pending_minor as "pendingMinor", i.negative_minor as "negativeMinor",
           i.credited_minor as "creditedMinor", i.written_off_minor as "writtenOffMinor",
           coalesce(c.version = i.customer_version, false) or exists (select 1 from customer_versions v
             where v.account_id = ${account} and v.customer_id = i.customer_id and v.version = i.customer_version) as "isCustomerFrozen",
           a.version = i.account_version or exists (select 1 from account_versions v
             where v.account_id = ${account} and v.version = i.account_version) as "isAccountFrozen",
           case when i.subscription_id is null then i.template_id is null else exists (select 1 from subscriptions s
             where s.account_id = ${account} and s.subscription_id = i.subscription_id and s.customer_id = i.customer_id) end as "isOfOwnSubscription"
      from (${chosen}) i
      join accounts a on a.account_id = ${account}
      left join customers c on c.account_id = ${account} and c.customer_id = i.customer_id
     order by i.invoice_id`)

/** Invoice that refers to a shape and should not, or not to this one. */
interface MisshapenInvoice {
  id: InvoiceId
  customerId: CustomerId
  shapeId: Id
  isMissing: boolean
  /** It has lines or taxes as rows beside those of the shape. */
  hasRows: boolean
}

/** Lists those of some invoices whose shape is missing, has taxes where none were drawn for, or does not stand alone. */
export const listMisshapen = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<MisshapenInvoice>(sql`
    select s.* from (
      select i.invoice_id as "id", i.customer_id as "customerId", i.template_id as "shapeId",
             k.template_id is null or (k.taxes = 0) <> (i.first_tax_id is null) as "isMissing",
             exists (select 1 from charge_rows c where c.account_id = ${account} and c.invoice_id = i.invoice_id)
               or exists (select 1 from invoice_tax_rows t where t.account_id = ${account} and t.invoice_id = i.invoice_id) as "hasRows"
        from invoices i left join invoice_templates k on k.account_id = ${account} and k.template_id = i.template_id
       where i.account_id = ${account} and i.invoice_id = any(${arrayLiteral(ids)}::bigint[]) and i.template_id is not null) s
     where s."isMissing" or s."hasRows" order by s."id"`)

/** Returns the lines of a span of subscriptions that meet a condition as the relation `charged`, to stand behind WITH; `stamped` are invoices with shapes. */
export function chargedOf(account: AccountId, { after, upTo }: Span, condition: Fragment): Fragment {
  const theirs = fragment`account_id = ${account} and subscription_id > ${after} and subscription_id <= ${upTo}`
  const columns = fragment`kind, item_id, stretch, part, bracket_index, period_from, period_until, quantity, brackets`
  return fragment`
    stamped as materialized (
      select subscription_id, template_id, first_charge_id from invoices
       where ${theirs} and template_id is not null
         and customer_id = any(array(select s.customer_id from subscriptions s where s.account_id = ${account} and s.subscription_id > ${after} and s.subscription_id <= ${upTo}))),
    charged as (
      select charge_id, subscription_id, ${columns} from charge_rows where ${theirs} and ${condition}
      union all
      select i.first_charge_id + c.line - 1, i.subscription_id, ${columns}
        from stamped i
        join (select * from invoice_template_charges where account_id = ${account} and template_id = any(array(select distinct template_id from stamped))
                 and ${condition} offset 0) c on c.template_id = i.template_id)`
}

/** Returns a relation of all lines of some subscriptions; `ids` is a bigint[]. The lines of each invoice with a template are looked up alone. */
export const linesOfSubscriptions = (account: AccountId, ids: Fragment): Fragment => fragment`
  select * from charge_rows where account_id = ${account} and subscription_id = any(${ids})
  union all
  select c.* from (
    select i.invoice_id from invoices i
     where i.account_id = ${account} and i.template_id is not null and i.subscription_id = any(${ids}) and i.customer_id = any(array(
             select s.customer_id from subscriptions s where s.account_id = ${account} and s.subscription_id = any(${ids}))) offset 0) k
    cross join lateral (select * from charges where account_id = ${account} and invoice_id = k.invoice_id offset 0) c`

/** Lists the identifiers that lines and taxes of invoices have which were posted in batches: what the hashes of these cover. */
export const listLineIdentifiers: ListLineIdentifiers = (db, account, ranges) =>
  hashedRows(
    db,
    sql`
    with members as materialized (
      select b.id as batch, m.place, b.first + m.place as invoice_id
        from unnest(${bigints(ranges, 'batchId')}::bigint[], ${bigints(ranges, 'firstInvoiceId')}::bigint[],
               ${positionsColumn(ranges.map(({ count }) => count))}::integer[]) as b(id, first, count)
        cross join lateral generate_series(0, b.count - 1) as m(place)),
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
    select batch as "batchId",
           coalesce(string_agg(concat(E'\\n', place, E'\\x1f', first), '' order by place) filter (where kind = 'charge'), '') as "charges",
           coalesce(string_agg(concat(E'\\n', place, E'\\x1f', first), '' order by place) filter (where kind = 'tax'), '') as "taxes"
      from begun where first is distinct from next group by batch`,
  )
