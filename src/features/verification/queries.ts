import type { GivenKind, OwedKind } from '../../engine/money/allocating.ts'
import type { ChargeKind } from '../../engine/subscription/charges.ts'
import type { CreditLine } from '../../engine/subscription/credits.ts'
import type { NegativeKind } from '../../engine/money/postings.ts'
import type { IsoDate } from '../../kernel/calendar.ts'
import type { Decimal } from '../../kernel/decimal.ts'
import type { AccountId, ComponentId, CustomerId, Id, InvoiceId, SubscriptionId } from '../../kernel/ids.ts'
import { oneRow, type Queryable, type Transaction } from '../../platform/database/database.ts'
import { COUNTED_LISTS } from '../../platform/database/housekeeping.ts'
import { arrayLiteral, fragment, type Fragment, namesOf, sql } from '../../platform/database/sql.ts'
import type { Figure } from '../../platform/metrics.ts'
import { bracketsOf, type PricedBracketsJson } from '../invoices/brackets.ts'
import type { Charge } from '../invoices/queries.ts'

/** Queries of a verification: pages by identifier, and sums made by the database where fetching the rows would be waste. */

/** From here on the transaction can write nothing, whatever a check says. */
export const makeReadOnly = (tx: Transaction) => tx.rows(sql`select set_config('transaction_read_only', 'on', true)`)

export interface CheckedInvoice {
  id: InvoiceId
  customerId: CustomerId
  number: bigint | null
  currency: string
  isIssued: boolean
  isCancelled: boolean
  totalMinor: bigint
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
  /** The version of the customer that the document froze exists, as the present record or as an earlier one; likewise for the account. */
  isCustomerFrozen: boolean
  isAccountFrozen: boolean
}

export const listInvoicePage = (db: Queryable, account: AccountId, after: InvoiceId, limit: number) =>
  db.rows<CheckedInvoice>(sql`
    select i.invoice_id as "id", i.customer_id as "customerId", i.number, i.currency, i.issued_at is not null as "isIssued",
           i.cancelled_at is not null as "isCancelled", i.total_minor as "totalMinor", i.paid_minor as "paidMinor",
           i.pending_minor as "pendingMinor", i.negative_minor as "negativeMinor",
           coalesce(c.version = i.customer_version, false) or exists (select 1 from customer_versions v
             where v.account_id = ${account} and v.customer_id = i.customer_id and v.version = i.customer_version) as "isCustomerFrozen",
           a.version = i.account_version or exists (select 1 from account_versions v
             where v.account_id = ${account} and v.version = i.account_version) as "isAccountFrozen"
      from (select * from invoices where account_id = ${account} and invoice_id > ${after} order by invoice_id limit ${limit}) i
      join accounts a on a.account_id = ${account}
      left join customers c on c.account_id = ${account} and c.customer_id = i.customer_id
     order by i.invoice_id`)

export interface CheckedTax {
  invoiceId: InvoiceId
  name: string
  rate: Decimal
  baseMinor: bigint
  amountMinor: bigint
  /** Null where the one line of the invoice carries it whole. */
  shares: bigint[] | null
}

export const listCheckedTaxes = (db: Queryable, account: AccountId, ids: readonly InvoiceId[]) =>
  db.rows<CheckedTax>(sql`
    select invoice_id as "invoiceId", name, rate, base_minor as "baseMinor", amount_minor as "amountMinor", shares
      from invoice_taxes where account_id = ${account} and invoice_id = any(${arrayLiteral(ids)}::bigint[])
     order by invoice_id, invoice_tax_id`)

/** Sums of the allocations in force to a document owed, in minor units, by how they count. */
export interface AppliedTo {
  id: Id
  paidMinor: bigint
  pendingMinor: bigint
  negativeMinor: bigint
}

export const listAppliedTo = (db: Queryable, account: AccountId, kind: OwedKind, ids: readonly Id[]) =>
  db.rows<AppliedTo>(sql`
    select l.owed_id as "id",
           coalesce(sum(l.amount_minor) filter (where l.given_kind = 'payment' and not s.pending), 0)::bigint as "paidMinor",
           coalesce(sum(l.amount_minor) filter (where l.given_kind = 'payment' and s.pending), 0)::bigint as "pendingMinor",
           coalesce(sum(l.amount_minor) filter (where l.given_kind = 'negative_adjustment'), 0)::bigint as "negativeMinor"
      from allocations l
      left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id
      cross join lateral (select coalesce(p.origin <> 'recorded' and p.settled_on is null, false) as pending) s
     where l.account_id = ${account} and l.owed_kind = ${kind} and l.ended_on is null and l.owed_id = any(${arrayLiteral(ids)}::bigint[])
     group by l.owed_id`)

export interface UninvoicedCharge extends Charge {
  customerId: CustomerId
  currency: string
}

/** Charges on no invoice, with the currency of their subscription. */
export const listUninvoicedCharges = async (
  db: Queryable,
  account: AccountId,
  after: Id,
  limit: number,
): Promise<UninvoicedCharge[]> =>
  (
    await db.rows<Omit<UninvoicedCharge, 'brackets'> & { brackets: PricedBracketsJson | null }>(sql`
    select c.charge_id as "id", c.invoice_id as "invoiceId", c.display_order as "displayOrder", c.kind, c.name, c.description, c.quantity,
           c.unit_price as "unitPrice", c.net_minor as "netMinor", c.gross_minor as "grossMinor", c.period_from as "from",
           c.period_until as "until", c.whole_from as "wholeFrom", c.whole_until as "wholeUntil", c.price, c.brackets,
           c.subscription_id as "subscriptionId", c.stretch, c.item_id as "itemId", c.part, s.customer_id as "customerId", s.currency
      from charges c join subscriptions s on s.account_id = ${account} and s.subscription_id = c.subscription_id
     where c.account_id = ${account} and c.invoice_id is null and c.charge_id > ${after} order by c.charge_id limit ${limit}`)
  ).map((row) => ({ ...row, brackets: bracketsOf(row.brackets) }))

/** Lines of invoices, or of subscriptions, that are not there. */
export const listOrphanCharges = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id; of: Id | null }>(sql`
    select c.charge_id as "id", c.invoice_id as "of" from charges c
     where c.account_id = ${account} and c.charge_id > ${after}
       and case when c.invoice_id is null
             then not exists (select 1 from subscriptions s where s.account_id = ${account} and s.subscription_id = c.subscription_id)
             else not exists (select 1 from invoices i where i.account_id = ${account} and i.invoice_id = c.invoice_id) end
     order by c.charge_id limit ${limit}`)

export const listOrphanTaxes = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<{ id: Id; of: Id }>(sql`
    select t.invoice_tax_id as "id", t.invoice_id as "of" from invoice_taxes t
     where t.account_id = ${account} and t.invoice_tax_id > ${after}
       and not exists (select 1 from invoices i where i.account_id = ${account} and i.invoice_id = t.invoice_id)
     order by t.invoice_tax_id limit ${limit}`)

export const getCounters = (db: Queryable, account: AccountId) =>
  oneRow<{ nextInvoiceNumber: bigint; nextCreditNumber: bigint }>(
    db,
    sql`select next_invoice_number as "nextInvoiceNumber", next_credit_number as "nextCreditNumber" from account_counters
         where account_id = ${account}`,
  )

/** How many invoices have a number, and the last one; 0 before the first. */
export const getNumberEnds = (db: Queryable, account: AccountId) =>
  oneRow<{ count: bigint; last: bigint }>(
    db,
    sql`select count(*) as "count", coalesce(max(number), 0) as "last" from invoices where account_id = ${account} and number is not null`,
  )

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

/** Events that tell of a raised next number. */
export const listNumberRaises = (db: Queryable, account: AccountId) =>
  db.rows<NumberRaise>(sql`
    select (record ->> 'From')::bigint as "from", (record ->> 'To')::bigint as "to" from events
     where account_id = ${account} and type = 'account.invoice_number_raised' order by event_id`)

/** Numbers of the account's own sequence of credit notes, below its next, that no credit note has. */
export const listCreditGaps = (db: Queryable, account: AccountId, next: bigint, limit: number) =>
  db.rows<{ from: bigint; until: bigint }>(sql`
    select n.before + 1 as "from", n.number as "until"
      from (select number, lag(number, 1, 0::bigint) over (order by number) as before
              from (select substr(ref_key, 4)::bigint as number from negative_adjustments
                     where account_id = ${account} and kind = 'credit_note' and ref_key ~ '^cn-[1-9][0-9]{0,14}$'
                    union all select ${next}::bigint) own
             where number <= ${next}) n
     where n.number > n.before + 1 order by n.number limit ${limit}`)

/** Numbers of the account's own sequence that credit notes had which were deleted or renumbered since, as events tell. */
export const listNumbersGivenUp = (db: Queryable, account: AccountId) =>
  db.rows<{ number: bigint }>(sql`
    select distinct substr(e.record ->> 'CreditNumber', 4)::bigint as "number" from events e
     where e.account_id = ${account} and e.type in ('credit_note.created', 'credit_note.updated')
       and e.record ->> 'CreditNumber' ~* '^cn-[1-9][0-9]{0,14}$'
       and exists (select 1 from events l where l.account_id = ${account} and l.record_id = e.record_id and l.event_id > e.event_id
         and l.type in ('credit_note.deleted', 'credit_note.updated'))`)

/** The service's own credit notes with a number that it cannot have given yet, and that no caller gave them. */
export const listNotesBeyond = (db: Queryable, account: AccountId, next: bigint, limit: number) =>
  db.rows<{ id: Id; customerId: CustomerId; number: string }>(sql`
    select n.negative_adjustment_id as "id", n.customer_id as "customerId", n.ref as "number" from negative_adjustments n
     where n.account_id = ${account} and n.kind = 'credit_note' and n.invoice_id is not null
       and (n.ref_key !~ '^cn-[1-9][0-9]{0,14}$' or substr(n.ref_key, 4)::numeric >= ${next}::bigint)
       and not exists (select 1 from events e where e.account_id = ${account} and e.type = 'credit_note.updated'
         and e.record_id = n.negative_adjustment_id and e.record ->> 'CreditNumber' = n.ref)
     order by n.negative_adjustment_id limit ${limit}`)

/** Numbers that more than one credit note has, whatever their letter case. */
export const listNumbersGivenTwice = (db: Queryable, account: AccountId, limit: number) =>
  db.rows<{ id: Id; customerId: CustomerId; number: string; firstId: Id }>(sql`
    select n.id as "id", n.customer_id as "customerId", n.ref as "number", n.first_id as "firstId"
      from (select negative_adjustment_id as id, customer_id, ref,
                   min(negative_adjustment_id) over (partition by lower(ref)) as first_id
              from negative_adjustments where account_id = ${account} and kind = 'credit_note') n
     where n.id <> n.first_id order by n.id limit ${limit}`)

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
           coalesce(c.invoice_id = n.invoice_id, false) as "isOfItsInvoice"
      from credit_note_lines l
      join negative_adjustments n on n.account_id = ${account} and n.negative_adjustment_id = l.credit_note_id
      left join charges c on c.account_id = ${account} and c.charge_id = l.charge_id
     where l.account_id = ${account} and l.credit_note_id = any(${arrayLiteral(ids)}::bigint[]) order by l.credit_note_id, l.line`)

export interface CheckedNoteTax {
  noteId: Id
  name: string
  rate: Decimal
  amountMinor: bigint
}

export const listCheckedNoteTaxes = (db: Queryable, account: AccountId, ids: readonly Id[]) =>
  db.rows<CheckedNoteTax>(sql`
    select credit_note_id as "noteId", name, rate, amount_minor as "amountMinor" from credit_note_taxes
     where account_id = ${account} and credit_note_id = any(${arrayLiteral(ids)}::bigint[]) order by credit_note_id, line`)

export interface CreditedCharge {
  id: Id
  customerId: CustomerId
  currency: string
  netMinor: bigint
  creditedMinor: bigint
  /** The sum of the credit note lines for this charge, in minor units. */
  givenMinor: bigint
}

/** Charges of which more, or other than their credit notes say, was given back. */
export const listCreditedDifferences = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CreditedCharge>(sql`
    select c.charge_id as "id", i.customer_id as "customerId", i.currency, c.net_minor as "netMinor", c.credited_minor as "creditedMinor",
           coalesce(g.net, 0)::bigint as "givenMinor"
      from charges c
      join invoices i on i.account_id = ${account} and i.invoice_id = c.invoice_id
      left join (select charge_id, sum(net_minor) as net from credit_note_lines where account_id = ${account} group by charge_id) g
        on g.charge_id = c.charge_id
     where c.account_id = ${account} and c.charge_id > ${after} and (c.credited_minor <> 0 or g.net is not null)
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
 * Taxes of which more was taken back than was charged: by the service's credit notes, and by what callers allocated of theirs, as the
 * ledger says it.
 */
export const listTaxesTakenTooFar = (db: Queryable, account: AccountId, after: InvoiceId, limit: number) =>
  db.rows<TakenTax>(sql`
    with taken as (
      select n.invoice_id, c.name, c.rate, c.amount_minor as amount from negative_adjustments n
        join credit_note_taxes c on c.account_id = ${account} and c.credit_note_id = n.negative_adjustment_id
       where n.account_id = ${account} and n.invoice_id > ${after}
      union all
      select l.owed_id, e.tax_name, e.tax_rate, case when e.debit = 'tax' then e.amount_minor else -e.amount_minor end
        from ledger_entries e join allocations l on l.account_id = ${account} and l.allocation_id = e.record_id
       where e.account_id = ${account} and e.event = 'tax_taken_back' and l.owed_kind = 'invoice' and l.owed_id > ${after}),
    summed as (select invoice_id, name, rate, sum(amount) as amount from taken group by invoice_id, name, rate)
    select i.invoice_id as "id", i.customer_id as "customerId", i.currency, s.name, coalesce(t.amount, 0)::bigint as "amountMinor",
           s.amount::bigint as "takenMinor"
      from summed s join invoices i on i.account_id = ${account} and i.invoice_id = s.invoice_id
      left join lateral (select sum(t.amount_minor) as amount from invoice_taxes t
        where t.account_id = ${account} and t.invoice_id = i.invoice_id and t.name = s.name and t.rate = s.rate) t on true
     where s.amount > coalesce(t.amount, 0)
     order by i.invoice_id limit ${limit}`)

export interface CheckedAllocation {
  id: Id
  customerId: CustomerId
  givenKind: GivenKind
  givenId: Id
  owedKind: OwedKind
  owedId: Id
  dated: IsoDate
  /** Taken away by a failure: kept as history, whatever became of the documents since. */
  isEnded: boolean
  /** Of the document owed; null where there is none. */
  owedCustomerId: CustomerId | null
  owedCurrency: string | null
  owedDated: IsoDate | null
  /** Of the document given; null where there is none. */
  givenCustomerId: CustomerId | null
  givenCurrency: string | null
  givenDated: IsoDate | null
}

export const listAllocationPage = (db: Queryable, account: AccountId, after: Id, limit: number) =>
  db.rows<CheckedAllocation>(sql`
    select l.allocation_id as "id", l.customer_id as "customerId", l.given_kind as "givenKind", l.given_id as "givenId",
           l.owed_kind as "owedKind", l.owed_id as "owedId", l.dated, l.ended_on is not null as "isEnded",
           coalesce(i.customer_id, o.customer_id) as "owedCustomerId", coalesce(i.currency, o.currency) as "owedCurrency",
           coalesce(i.invoice_date, o.dated) as "owedDated", coalesce(p.customer_id, n.customer_id) as "givenCustomerId",
           coalesce(p.currency, n.currency) as "givenCurrency", coalesce(p.dated, n.dated) as "givenDated"
      from (select * from allocations where account_id = ${account} and allocation_id > ${after} order by allocation_id limit ${limit}) l
      left join invoices i on l.owed_kind = 'invoice' and i.account_id = ${account} and i.invoice_id = l.owed_id
      left join positive_adjustments o
        on l.owed_kind = 'positive_adjustment' and o.account_id = ${account} and o.positive_adjustment_id = l.owed_id
      left join payments p on l.given_kind = 'payment' and p.account_id = ${account} and p.payment_id = l.given_id
      left join negative_adjustments n
        on l.given_kind = 'negative_adjustment' and n.account_id = ${account} and n.negative_adjustment_id = l.given_id
     order by l.allocation_id`)

export const listCustomerPage = (db: Queryable, account: AccountId, after: CustomerId, limit: number) =>
  db.rows<{ id: CustomerId }>(sql`
    select customer_id as "id" from customers where account_id = ${account} and customer_id > ${after} order by customer_id limit ${limit}`)

export const listSubscriptionPage = (db: Queryable, account: AccountId, after: SubscriptionId, limit: number) =>
  db.rows<{ id: SubscriptionId; customerId: CustomerId }>(sql`
    select subscription_id as "id", customer_id as "customerId" from subscriptions
     where account_id = ${account} and subscription_id > ${after} order by subscription_id limit ${limit}`)

/** Charge with the days that it covers. */
export interface CoveringCharge {
  id: Id
  subscriptionId: SubscriptionId
  kind: ChargeKind
  itemId: Id
  stretch: number
  part: number
  from: IsoDate
  until: IsoDate
  wholeFrom: IsoDate | null
  wholeUntil: IsoDate | null
  creditedFrom: IsoDate | null
}

/** Charges of subscriptions that cover days by themselves, in the order in which they were made. */
export const listCoveringCharges = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<CoveringCharge>(sql`
    select charge_id as "id", subscription_id as "subscriptionId", kind, item_id as "itemId", stretch, part, period_from as "from",
           period_until as "until", whole_from as "wholeFrom", whole_until as "wholeUntil", credited_from as "creditedFrom"
      from charges
     where account_id = ${account} and subscription_id = any(${arrayLiteral(ids)}::bigint[]) and period_from is not null
       and kind in ('package', 'package_extension', 'component', 'component_extension', 'metered')
     order by subscription_id, charge_id`)

/** A usage cycle that says another number of units was invoiced than its last charge priced. */
export interface UsageDifference {
  subscriptionId: SubscriptionId
  componentId: ComponentId
  from: IsoDate
  invoiced: Decimal
  charged: Decimal | null
}

/** Lines of several brackets have a share of the units each; what brackets price as one line stands in them whole. */
export const listUsageDifferences = (db: Queryable, account: AccountId, ids: readonly SubscriptionId[]) =>
  db.rows<UsageDifference>(sql`
    select u.subscription_id as "subscriptionId", u.component_id as "componentId", u.cycle_from as "from", u.invoiced, c.units as "charged"
      from usage_cycles u
      left join lateral (
        select part, stretch from charges
         where account_id = ${account} and subscription_id = u.subscription_id and item_id = u.component_id and period_from = u.cycle_from
           and kind in ('metered', 'late_usage') order by charge_id desc limit 1) last on true
      left join lateral (
        select coalesce(max((brackets ->> 'quantity')::numeric), sum(quantity)) as units from charges
         where account_id = ${account} and subscription_id = u.subscription_id and item_id = u.component_id and period_from = u.cycle_from
           and kind in ('metered', 'late_usage') and part = last.part and stretch = last.stretch) c on true
     where u.account_id = ${account} and u.subscription_id = any(${arrayLiteral(ids)}::bigint[])
       and u.invoiced is not null and not u.is_free and u.invoiced is distinct from c.units
     order by u.subscription_id, u.component_id, u.cycle_from`)

/** The records of every counted list by block. */
const countedAnew = (account: AccountId): Fragment =>
  Object.entries(COUNTED_LISTS)
    .map(([list, id]) => [namesOf(list), namesOf(id)] as const)
    .map(
      ([list, id]) => fragment`
        select '${list}' as list, ${id} / 4096 as block, count(*) as n from ${list} where account_id = ${account} group by 2`,
    )
    .reduce((some, next) => fragment`${some} union all ${next}`)

/** Lists the blocks of long lists whose count is not what is there. */
export const listCountDifferences = (db: Queryable, account: AccountId) =>
  db.rows<{ list: string; block: bigint; records: number; counted: bigint }>(sql`
    with counted as (${countedAnew(account)})
    select b.list, b.block, b.records, coalesce(c.n, 0) as "counted"
      from list_blocks b left join counted c on c.list = b.list and c.block = b.block
     where b.account_id = ${account} and b.records <> coalesce(c.n, 0) order by b.list, b.block limit 1000`)

/** Lists the figures of the nightly verification for /metrics, whichever process ran it; none before its first night. */
export const listVerificationFigures = (db: Queryable) =>
  db.rows<Figure>(sql`
    with state as (select differences, oldest from verification_state())
    select 'verify_differences' as "name", '' as "label", differences::double precision as "value" from state where oldest is not null
    union all select 'verify_finished_at', '', extract(epoch from oldest)::double precision from state where oldest is not null`)
