-- Begins the day of up to so many accounts on real time of which nothing is due, and returns how many these were; null while somebody else does. Those
-- with something due are left: their run starts in the transaction that begins their day. Due is what the kinds of the order of a day call due
-- (src/duties.ts): a record on its day or in its cycle of a customer that is not paused, and an end of a subscription of one that is.
create function begin_days(zones text[], days date[], count_max integer)
  returns bigint language plpgsql security definer set search_path = perennial, pg_temp set enable_hashjoin = 'off' set enable_mergejoin = 'off' set enable_seqscan = 'off' as $$
declare
  begun bigint;
begin
  if not pg_try_advisory_xact_lock(7305861200414) then return null; end if;
  with idle as materialized (
    select a.account_id, z.zone, z.today
      from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
     where a.clock_at is null and (a.scheduled_on is null or a.scheduled_on < z.today)
       and not (
         exists (select 1 from subscription_billing d join customers c on c.account_id = d.account_id and c.customer_id = d.customer_id
                  where d.account_id = a.account_id and d.due_on <= z.today and c.paused_on is null)
         or exists (select 1 from subscription_billing d join customers c on c.account_id = d.account_id and c.customer_id = d.customer_id
                  where d.account_id = a.account_id and d.due_in_cycle_on <= z.today and c.paused_on is null
                    and d.cycle_day = any(array(
                      select extract(day from z.today - n)::smallint from generate_series(0, 61) as n
                       where z.today - n > coalesce((select y.swept_on from billing_cycles y where y.account_id = a.account_id), '-infinity'))))
         or exists (select 1 from recurring_invoices d join customers c on c.account_id = d.account_id and c.customer_id = d.customer_id
                  where d.account_id = a.account_id and d.due_on <= z.today and c.paused_on is null)
         or exists (select 1 from customers c
                  where c.account_id = a.account_id and c.statement_due_on <= z.today and c.paused_on is null)
         or exists (select 1 from subscriptions s join customers c on c.account_id = s.account_id and c.customer_id = s.customer_id
                  where s.account_id = a.account_id and not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')
                    and least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end) <= z.today
                    and c.paused_on is not null))
     limit count_max)
  update accounts a set scheduled_on = i.today from idle i
   where a.account_id = i.account_id and a.time_zone = i.zone and a.clock_at is null and (a.scheduled_on is null or a.scheduled_on < i.today);
  get diagnostics begun = row_count;
  return begun;
end $$;
revoke all on function begin_days from public;
grant execute on function begin_days to perennial_app;
