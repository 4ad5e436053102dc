-- least: 14
-- answers as before: begin_days
-- Begins the day of accounts zone by zone, as an engine that spreads accounts over servers runs it: no statement about tables of accounts reads from a function that
-- returns rows. The days of the month since the last sweep are the first so many of the last 62.

create or replace function begin_days(zones text[], days date[], count_max integer)
  returns bigint language plpgsql security definer set search_path = perennial, pg_temp set enable_hashjoin = 'off' set enable_mergejoin = 'off' set enable_seqscan = 'off' as $$
declare
  zone text;
  today date;
  days_of_month smallint[];
  idle bigint[];
  begun bigint := 0;
  changed bigint;
begin
  if not pg_try_advisory_xact_lock(7305861200414) then return null; end if;
  for zone, today in
    select distinct a.time_zone, z.today from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
     where a.clock_at is null and (a.scheduled_on is null or a.scheduled_on < z.today)
  loop
    days_of_month := array(select extract(day from today - n)::smallint from generate_series(0, 61) as n order by n);
    idle := array(
      select a.account_id from accounts a
       where a.time_zone = zone and a.clock_at is null and (a.scheduled_on is null or a.scheduled_on < today)
         and not (
           exists (select 1 from subscription_billing d join customers c on c.account_id = d.account_id and c.customer_id = d.customer_id
                    where d.account_id = a.account_id and d.due_on <= today and c.paused_on is null)
           or exists (select 1 from subscription_billing d join customers c on c.account_id = d.account_id and c.customer_id = d.customer_id
                    left join billing_cycles y on y.account_id = d.account_id
                    where d.account_id = a.account_id and d.due_in_cycle_on <= today and c.paused_on is null
                      and d.cycle_day = any(case when y.swept_on is null then days_of_month else days_of_month[1:today - y.swept_on] end))
           or exists (select 1 from recurring_invoices d join customers c on c.account_id = d.account_id and c.customer_id = d.customer_id
                    where d.account_id = a.account_id and d.due_on <= today and c.paused_on is null)
           or exists (select 1 from customers c
                    where c.account_id = a.account_id and c.statement_due_on <= today and c.paused_on is null)
           or exists (select 1 from subscriptions s join customers c on c.account_id = s.account_id and c.customer_id = s.customer_id
                    where s.account_id = a.account_id and not s.is_end_recorded and (s.end_date is not null or s.pending_kind = 'cancellation')
                      and least(s.end_date, case when s.pending_kind = 'cancellation' then s.pending_on end) <= today
                      and c.paused_on is not null))
       limit count_max - begun);
    update accounts a set scheduled_on = today
     where a.account_id = any(idle) and a.time_zone = zone and a.clock_at is null and (a.scheduled_on is null or a.scheduled_on < today);
    get diagnostics changed = row_count;
    begun := begun + changed;
    exit when begun >= count_max;
  end loop;
  return begun;
end $$;
