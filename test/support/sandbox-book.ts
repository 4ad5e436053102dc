/**
 * Compares the sandbox's book with the payments of an account, queried from the database independently. It works as superuser on a
 * `search_path` that names the service's schema, and knows nothing of how either side came about.
 */

/** Charges, money and refunds of both sides on a day; `$1` is the account, `$2` its today. */
const BOOK = `
with refunded as (
  select gateway_id, charge_reference,
         sum(amount_minor) filter (where coalesce(settles_on, refunded_on) <= $2 and not coalesce(fails_on <= $2, false)) as given
    from sandbox_refunds where account_id = $1 and state = 'succeeded' group by 1, 2),
returned as (
  select gateway_id, reference,
         least(c.returned_minor, c.amount_minor - coalesce((
           select sum(r.amount_minor) from sandbox_refunds r
            where r.account_id = $1 and r.gateway_id = c.gateway_id and r.charge_reference = c.reference and r.state = 'succeeded'
              and r.refunded_on < c.returned_on and not coalesce(r.fails_on <= c.returned_on, false)), 0)) as minor
    from sandbox_charges c where account_id = $1 and returned_on <= $2),
book as (
  select c.gateway_id, c.reference, c.amount_minor, c.state, c.charged_on,
         case when c.state <> 'succeeded' then 0
              else c.amount_minor - case when c.won_on <= $2 then 0 else coalesce(b.minor, 0) end - coalesce(r.given, 0) end as net
    from sandbox_charges c
    left join returned b on b.gateway_id = c.gateway_id and b.reference = c.reference
    left join refunded r on r.gateway_id = c.gateway_id and r.charge_reference = c.reference
   where c.account_id = $1),
received as (
  select gateway_id, charge_id, sum(amount_minor) filter (where settled_on is not null and failed_on is null) as kept
    from payments where account_id = $1 and charge_id is not null group by 1, 2),
given_back as (
  select p.gateway_id, p.charge_id, sum(r.amount_minor) as given
    from payment_refunds r join payments p on p.account_id = $1 and p.payment_id = r.payment_id
   where r.account_id = $1 and r.adjustment_id is not null group by 1, 2),
charges as (
  select p.*, coalesce(r.kept, 0) - coalesce(g.given, 0) as net,
         exists (select 1 from charge_changes h where h.account_id = $1 and h.charge_id = p.payment_id and h.kind = 'late_success') as came_late
    from payments p
    left join received r on r.gateway_id = p.gateway_id and r.charge_id = p.payment_id
    left join given_back g on g.gateway_id = p.gateway_id and g.charge_id = p.payment_id
   where p.account_id = $1 and p.charge_id = p.payment_id),
both_sides as (
  select b.reference, b.state, b.amount_minor as booked, b.net as book_net, c.payment_id, c.amount_minor, c.net, c.came_late,
         case when c.settled_on is not null then 'received' when c.failed_on is not null then 'failed' else 'pending' end as known
    from book b full join charges c on c.gateway_id = b.gateway_id and c.payment_id::text = split_part(b.reference, '.', 1))
select format('charge %s of the sandbox is no payment', reference) as difference from both_sides where payment_id is null
union all select format('payment %s was received and stands in no book', payment_id) from both_sides where reference is null and known = 'received'
union all select format('payment %s is of %s, its charge of %s', payment_id, amount_minor, booked) from both_sides where booked <> amount_minor
union all select format('payment %s is %s, its charge %s', payment_id, known, state) from both_sides
           where (known = 'received' and state <> 'succeeded') or (known = 'failed' and state = 'succeeded' and not came_late)
union all select format('of payment %s %s is left, of its charge %s', payment_id, net, book_net) from both_sides
           where payment_id is not null and reference is not null and known <> 'pending' and net <> book_net`

/** Tries against their payments and invoices; a line that gave way pays less than was to be tried. */
const TRIES = `
with t as (
  select t.*, p.settled_on, p.failed_on, p.amount_minor as paid
    from collection_tries t left join payments p on p.account_id = $1 and p.payment_id = t.payment_id
   where t.account_id = $1)
select format('try %s is %s, its payment another', payment_id, state) as difference from t
 where paid is null or (state = 'open') <> (settled_on is null and failed_on is null)
    or (state in ('succeeded', 'returned')) <> (settled_on is not null) or (paid <> amount_minor and not (is_line and paid < amount_minor))
union all
select format('invoice %s has %s open tries', invoice_id, count(*)) from t where state = 'open' group by invoice_id having count(*) > 1`

type Rows = (text: string, values: readonly unknown[]) => Promise<{ difference: string }[]>

/** Returns a sentence for each way in which book and payments differ on a day of the account; none where both tell of the same money. */
export async function differencesOfBook(rows: Rows, account: bigint | number, today: string): Promise<string[]> {
  const found = [...(await rows(BOOK, [account, today])), ...(await rows(TRIES, [account]))]
  return found.map(({ difference }) => difference)
}
