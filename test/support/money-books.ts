import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Connection } from '../../src/platform/database/database.ts'

/**
 * Conditions that must hold for an account's money whatever happened to it, queried from the database independently: it knows nothing of the
 * engine's posting rules, and works as superuser, so that it sees what row security would hide.
 */

/** Sums that documents and running totals keep, against the allocations and entries that they are sums of. */
const SUMS = `
with a as (select * from allocations where account_id = $1 and ended_on is null),
given as (
  select 'payment' as kind, p.payment_id as id, p.customer_id, p.currency, p.amount_minor, p.applied_minor, p.failed_on is not null as is_failed,
         p.dated
    from payments p where p.account_id = $1
  union all
  select 'negative_adjustment', n.negative_adjustment_id, n.customer_id, n.currency, n.amount_minor, n.applied_minor, false,
         n.dated
    from negative_adjustments n where n.account_id = $1),
owed as (
  select 'invoice' as kind, i.invoice_id as id, i.customer_id, i.currency, i.total_minor as amount_minor, i.paid_minor, i.pending_minor,
         i.negative_minor, i.written_off_minor, i.credited_minor, i.issued_at is not null and i.cancelled_at is null as is_open, i.invoice_date as dated
    from invoices i where i.account_id = $1
  union all
  select 'positive_adjustment', p.positive_adjustment_id, p.customer_id, p.currency, p.amount_minor, p.paid_minor, p.pending_minor,
         p.negative_minor, null, null, true, p.dated
    from positive_adjustments p where p.account_id = $1),
joined as (
  select a.*, g.customer_id as given_customer, g.currency as given_currency, g.is_failed, o.customer_id as owed_customer,
         o.currency as owed_currency, o.is_open,
         case when a.given_kind = 'negative_adjustment' then 'negative' when p.origin <> 'recorded' and p.settled_on is null then 'pending'
              else 'paid' end as counts
    from a
    left join given g on g.kind = a.given_kind and g.id = a.given_id
    left join owed o on o.kind = a.owed_kind and o.id = a.owed_id
    left join payments p on a.given_kind = 'payment' and p.account_id = $1 and p.payment_id = a.given_id),
held as (
  select customer_id, currency, sum(receivable) as receivable, sum(unapplied) as unapplied, sum(clearing) as clearing
    from (select customer_id, currency, amount_minor - paid_minor - pending_minor - negative_minor as receivable, 0 as unapplied, 0 as clearing
            from owed where is_open
          union all
          select customer_id, currency, 0, amount_minor - applied_minor, 0 from given where not is_failed
          union all
          select customer_id, currency, 0, 0, amount_minor from payments
           where account_id = $1 and origin <> 'recorded' and settled_on is null and failed_on is null) parts
   group by customer_id, currency),
posted as (
  select customer_id, currency,
         sum(case when debit = 'receivable' then amount_minor when credit = 'receivable' then -amount_minor else 0 end) as receivable,
         sum(case when credit = 'unapplied' then amount_minor when debit = 'unapplied' then -amount_minor else 0 end) as unapplied,
         sum(case when debit = 'clearing' then amount_minor when credit = 'clearing' then -amount_minor else 0 end) as clearing
    from ledger where account_id = $1 group by customer_id, currency)
select format('%s %s: %s applied, its allocations come to %s', g.kind, g.id, g.applied_minor, coalesce(s.sum, 0)) as said
  from given g left join (select given_kind, given_id, sum(amount_minor) from a group by 1, 2) s on s.given_kind = g.kind and s.given_id = g.id
 where g.applied_minor <> coalesce(s.sum, 0)
union all
select format('%s %s: %s', g.kind, g.id, 'more allocated than it has') from given g where g.applied_minor > g.amount_minor
union all
select format('%s %s: paid, pending, negative are %s, should be %s', o.kind, o.id, row(o.paid_minor, o.pending_minor, o.negative_minor)::text,
              row(coalesce(s.paid, 0), coalesce(s.pending, 0), coalesce(s.negative, 0))::text)
  from owed o
  left join (select owed_kind, owed_id, sum(amount_minor) filter (where counts = 'paid') as paid,
                    sum(amount_minor) filter (where counts = 'pending') as pending, sum(amount_minor) filter (where counts = 'negative') as negative
               from joined group by 1, 2) s on s.owed_kind = o.kind and s.owed_id = o.id
 where (o.paid_minor, o.pending_minor, o.negative_minor) <> (coalesce(s.paid, 0), coalesce(s.pending, 0), coalesce(s.negative, 0))
union all
select format('invoice %s: credited and written off are %s, should be %s', o.id, row(o.credited_minor, o.written_off_minor)::text,
              row(coalesce(s.credited, 0), coalesce(d.bad, 0))::text)
  from owed o
  left join (select invoice_id, sum(gross_minor) as credited from settlements
              where account_id = $1 and ended_on is null and basis <> 'relief' group by 1) s on s.invoice_id = o.id
  left join (select a.owed_id, sum(a.amount_minor) as bad from a
               join negative_adjustments n on n.account_id = $1 and n.negative_adjustment_id = a.given_id and n.kind = 'bad_debt'
              where a.given_kind = 'negative_adjustment' and a.owed_kind = 'invoice' group by 1) d on d.owed_id = o.id
 where o.kind = 'invoice' and (o.credited_minor, o.written_off_minor) <> (coalesce(s.credited, 0), coalesce(d.bad, 0))
union all
select format('%s %s: its open amount is below nothing', kind, id) from owed
 where amount_minor - paid_minor - pending_minor - negative_minor < 0
union all
select format('allocation %s joins what does not belong together', allocation_id) from joined
 where given_customer is distinct from customer_id or owed_customer is distinct from customer_id
    or given_currency is distinct from owed_currency or is_failed is distinct from false or is_open is distinct from true
union all
select format('allocation %s ended, and what it joined is gone', l.allocation_id) from allocations l
 where l.account_id = $1 and l.ended_on is not null
   and (not exists (select 1 from given g where g.kind = l.given_kind and g.id = l.given_id)
     or not exists (select 1 from owed o where o.kind = l.owed_kind and o.id = l.owed_id))
union all
select format('allocation %s is of %s, before its documents', l.allocation_id, l.dated)
  from allocations l
  join given g on g.kind = l.given_kind and g.id = l.given_id
  join owed o on o.kind = l.owed_kind and o.id = l.owed_id
 where l.account_id = $1 and (l.dated < greatest(g.dated, o.dated) or l.ended_on < l.dated)
union all
select format('customer %s %s: totals %s, documents %s, entries %s', customer_id, currency,
              row(t.receivable_minor, t.unapplied_minor, t.clearing_minor)::text, row(h.receivable, h.unapplied, h.clearing)::text,
              row(p.receivable, p.unapplied, p.clearing)::text)
  from (select * from customer_totals where account_id = $1) t
  full join held h using (customer_id, currency)
  full join posted p using (customer_id, currency)
 where (coalesce(t.receivable_minor, 0), coalesce(t.unapplied_minor, 0), coalesce(t.clearing_minor, 0))
       is distinct from (coalesce(h.receivable, 0), coalesce(h.unapplied, 0), coalesce(h.clearing, 0))
    or (coalesce(t.receivable_minor, 0), coalesce(t.unapplied_minor, 0), coalesce(t.clearing_minor, 0))
       is distinct from (coalesce(p.receivable, 0), coalesce(p.unapplied, 0), coalesce(p.clearing, 0))
union all
select format('invoice numbers: %s of %s', max(number), count(*)) from invoices where account_id = $1 and number is not null
having max(number) is distinct from count(*) and count(*) > 0`

/**
 * Each document against its entries, day by day: what a document stands for, less the entries about it, is nothing. The days of allocations
 * are compared only where the books were never closed, since a lock moves what is taken back.
 */
const DOCUMENTS = `
with taxes as (
  select i.*, coalesce((select sum(x.amount_minor) from invoice_taxes x where x.account_id = $1 and x.invoice_id = i.invoice_id), 0) as tax_minor
    from invoices i where i.account_id = $1 and i.issued_at is not null),
notes as (
  select n.*, coalesce((select sum(x.amount_minor) from credit_note_taxes x
                         where x.account_id = $1 and x.credit_note_id = n.negative_adjustment_id), 0) as tax_minor,
         coalesce((select sum(r.amount_minor) from bad_debt_recoveries r
                    where r.account_id = $1 and r.negative_adjustment_id = n.negative_adjustment_id), 0) as recovered_minor
    from negative_adjustments n where n.account_id = $1),
moves as (
  select 'invoice' as record_type, invoice_id as id, 'receivable' as debit, 'revenue' as credit, '' as tax, invoice_date as dated,
         total_minor - tax_minor as amount from taxes
  union all
  select 'invoice', i.invoice_id, 'receivable', 'tax', x.name || ' ' || x.rate, i.invoice_date, x.amount_minor
    from taxes i join invoice_taxes x on x.account_id = $1 and x.invoice_id = i.invoice_id
  union all
  select 'invoice', invoice_id, 'revenue', 'receivable', '', greatest(cancelled_on, invoice_date), total_minor - tax_minor
    from taxes where cancelled_on is not null
  union all
  select 'invoice', i.invoice_id, 'tax', 'receivable', x.name || ' ' || x.rate, greatest(cancelled_on, invoice_date), x.amount_minor
    from taxes i join invoice_taxes x on x.account_id = $1 and x.invoice_id = i.invoice_id where i.cancelled_on is not null
  union all
  select 'payment', payment_id, case when origin = 'recorded' then 'cash' else 'clearing' end, 'unapplied', '', dated, amount_minor
    from payments where account_id = $1
  union all
  select 'payment', payment_id, 'cash', 'clearing', '', greatest(settled_on, dated), amount_minor
    from payments where account_id = $1 and settled_on is not null
  union all
  select 'payment', payment_id, 'unapplied', case when origin <> 'recorded' and settled_on is null then 'clearing' else 'cash' end, '',
         greatest(failed_on, settled_on, dated), amount_minor
    from payments where account_id = $1 and failed_on is not null
  union all
  select 'negative_adjustment', negative_adjustment_id, case kind when 'bad_debt' then 'bad_debt' else 'revenue' end, 'unapplied', '', dated,
         amount_minor + recovered_minor - tax_minor from notes
  union all
  select 'negative_adjustment', negative_adjustment_id, 'unapplied', 'bad_debt', '', dated, amount_minor
    from bad_debt_recoveries where account_id = $1
  union all
  select 'negative_adjustment', n.negative_adjustment_id, 'tax', 'unapplied', x.name || ' ' || x.rate, n.dated, x.amount_minor
    from notes n join credit_note_taxes x on x.account_id = $1 and x.credit_note_id = n.negative_adjustment_id
  union all
  select 'positive_adjustment', positive_adjustment_id, 'receivable', case kind when 'refund' then 'cash' else kind end, '', dated, amount_minor
    from positive_adjustments where account_id = $1
  union all
  select 'allocation', allocation_id, 'unapplied', 'receivable', '', dated, amount_minor from allocations where account_id = $1
  union all
  select 'allocation', allocation_id, 'receivable', 'unapplied', '', greatest(ended_on, dated), amount_minor
    from allocations where account_id = $1 and ended_on is not null
  union all
  select record_type, record_id, credit, debit, case when tax_name is null then '' else tax_name || ' ' || tax_rate end, dated, amount_minor
    from ledger where account_id = $1 and event <> 'tax_taken_back'),
sides as (
  select record_type, id, debit as account, tax, dated, amount from moves
  union all
  select record_type, id, credit, tax, dated, -amount from moves)
select format('%s %s: %s of %s on %s more in its document than in the ledger', record_type, id, sum(amount),
              trim(account || ' ' || case when account = 'tax' then tax else '' end), day) as said
  from (select *, case when $2 and record_type = 'allocation' then null else dated end as day from sides) s
 group by record_type, id, account, case when account = 'tax' then tax else '' end, day
having sum(amount) <> 0`

/** Settlements of notes: each settlement of a caller's note as posted, and all of an invoice within its bounds. */
const TAXES = `
with rows as (
  select s.*, n.invoice_id is null as is_callers, n.amount_minor as note_minor
    from settlements s join negative_adjustments n on n.account_id = $1 and n.negative_adjustment_id = s.negative_adjustment_id
   where s.account_id = $1),
ruled as (
  select r.settlement_id, x.name, x.rate, x.dated, sum(x.amount_minor) as amount
    from rows r join settlement_taxes x on x.account_id = $1 and x.settlement_id = r.settlement_id
   where r.is_callers and not r.is_old group by 1, 2, 3, 4 having sum(x.amount_minor) <> 0),
posted as (
  select record_id as settlement_id, tax_name as name, tax_rate as rate,
         sum(case when debit = 'tax' then amount_minor else -amount_minor end) as amount
    from ledger where account_id = $1 and event = 'tax_taken_back' and record_type = 'settlement'
   group by 1, 2, 3 having sum(case when debit = 'tax' then amount_minor else -amount_minor end) <> 0),
invoiced as (
  select i.invoice_id, i.total_minor as total,
         coalesce((select sum(x.amount_minor) from invoice_taxes x where x.account_id = $1 and x.invoice_id = i.invoice_id), 0) as tax,
         (select sum(r.gross_minor) from rows r where r.invoice_id = i.invoice_id) as settled,
         coalesce((select sum(x.amount_minor) from rows r join settlement_taxes x on x.account_id = $1 and x.settlement_id = r.settlement_id
                    where r.invoice_id = i.invoice_id), 0) as taken
    from invoices i where i.account_id = $1 and exists (select 1 from rows r where r.invoice_id = i.invoice_id))
select format('settlement %s: posted %s of %s, settled %s', coalesce(r.settlement_id, p.settlement_id), coalesce(p.amount, 0),
              coalesce(r.name, p.name), coalesce(r.amount, 0)) as said
  from ruled r full join posted p on p.settlement_id = r.settlement_id and p.name = r.name and p.rate = r.rate
 where coalesce(r.amount, 0) <> coalesce(p.amount, 0)
union all
select format('invoice %s of %s with %s of tax: %s with %s settled', invoice_id, total, tax, settled, taken) from invoiced
 where settled > total or taken > tax or tax - taken > total - settled
union all
select format('note %s of %s: more is settled', negative_adjustment_id, note_minor) from rows
 group by negative_adjustment_id, note_minor having sum(gross_minor) > note_minor`

const CHAIN = `
select customer_id || ' ' || currency as chain, link, to_char(posted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as posted,
       concat_ws(chr(31), event || case when is_reversal then '_reversed' else '' end, record_type, record_id, debit, credit,
         coalesce(tax_name, ''), coalesce(tax_rate::text, ''), coalesce(tax_number, ''), amount_minor, dated) as said
  from ledger_rows where account_id = $1 order by entry_id`
const HEADS = `
select customer_id || ' ' || currency as chain, links, encode(head, 'hex') as head from customer_totals where account_id = $1`

interface Walked {
  link: number
  head: Buffer
  said: string
}

const fold = ({ head, said }: Walked): Buffer => createHash('sha256').update(head).update(said).digest()

/** Hashes every chain again, link by link; tells which do not come to the head that is kept. */
async function brokenChains(database: pg.Client, account: bigint): Promise<string[]> {
  const { rows: entries } = await database.query(CHAIN, [account])
  const chains = new Map<string, Walked>()
  const broken: string[] = []
  for (const { chain, link, posted, said } of entries) {
    const walked = chains.get(chain)
    if (walked && walked.link === link) walked.said += `\n${said}`
    else {
      if (link !== (walked?.link ?? 0) + 1) broken.push(`chain ${chain}: link ${link} follows ${walked?.link ?? 0}`)
      chains.set(chain, { link, head: walked ? fold(walked) : Buffer.alloc(0), said: `${posted}\n${said}` })
    }
  }
  const { rows: heads } = await database.query(HEADS, [account])
  for (const { chain, links, head } of heads) {
    const walked = chains.get(chain)
    if ((walked?.link ?? 0) !== links || (walked ? fold(walked).toString('hex') : '') !== head)
      broken.push(`chain ${chain}: ${links} links, walked ${walked?.link ?? 0}, or another head`)
  }
  return broken
}

export interface MoneyBooks {
  /** Returns a sentence for each condition that does not hold; none for healthy books. */
  differences(account: bigint, wasLocked: boolean): Promise<string[]>
  close(): Promise<void>
}

export async function openMoneyBooks(connection: Connection): Promise<MoneyBooks> {
  const database = new pg.Client({ ...connection, options: '-c search_path=perennial' })
  await database.connect()
  return {
    differences: async (account, wasLocked) => {
      const said: string[] = []
      // One snapshot: somebody may be writing.
      await database.query('begin isolation level repeatable read read only')
      for (const [text, values] of [
        [SUMS, [account]],
        [DOCUMENTS, [account, wasLocked]],
        [TAXES, [account]],
      ] as const)
        said.push(...(await database.query<{ said: string }>(text, [...values])).rows.map((row) => row.said))
      said.push(...(await brokenChains(database, account)))
      await database.query('commit')
      return said
    },
    close: () => database.end(),
  }
}
