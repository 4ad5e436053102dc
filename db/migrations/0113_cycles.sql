-- step by step
/*
 * Subscriptions in cycle. What a run bills in the middle of its life falls due again on the same day of a month, so that its row keeps its place in an index
 * of these days and is updated on its page, instead of moving through two indexes each time. A subscription is due on due_on or on cycle_on, never on both.
 * billing_cycles has the day up to which none that was in cycle is left: whom a run did not bill has a due_on from then on.
 */
set local lock_timeout = '500ms';
alter table subscription_billing add column if not exists cycle_on date, add column if not exists cycle_day smallint;
alter table subscription_billing drop constraint if exists subscription_billing_cycle;
alter table subscription_billing add constraint subscription_billing_cycle
  check ((cycle_on is null) = (cycle_day is null) and (cycle_on is null or due_on is null)) not valid;
-- then
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.subscription_billing_cycles') and not indisvalid) then
    drop index subscription_billing_cycles;
  end if;
end $$;
-- then
create index concurrently if not exists subscription_billing_cycles on subscription_billing (account_id, cycle_day, customer_id, subscription_id)
  where cycle_day is not null;
-- then
do $$
begin
  set local lock_timeout = '500ms';
  if to_regclass('perennial.billing_cycles') is null then
    create table billing_cycles (
      account_id bigint primary key references accounts,
      swept_on date not null
    );
    perform own_by_account('billing_cycles', 'select, insert, update');
  end if;
end $$;
-- then
/* Days of the month of the days behind the one up to which an account is swept, up to another. Two months have all of them. */
create or replace function cycle_days(account bigint, until_day date) returns smallint[]
  language plpgsql stable set search_path = perennial, pg_temp as $$
declare
  from_day date := coalesce((select c.swept_on from billing_cycles c where c.account_id = account), '-infinity');
begin
  return array(select distinct extract(day from until_day - n)::smallint from generate_series(0, 61) as n where until_day - n > from_day);
end $$;
-- then
create or replace function count_due_in_cycle(zones text[], days date[], count_max integer) returns bigint
  language plpgsql stable security definer
  set search_path = perennial, pg_temp set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  one record;
  more bigint;
  due bigint := 0;
begin
  for one in select a.account_id, z.today, cycle_days(a.account_id, z.today) as cycles
               from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone where a.clock_at is null
  loop
    exit when due >= count_max;
    select count(*) into more from (
      select 1 from subscription_billing d where d.account_id = one.account_id and d.cycle_day = any(one.cycles) and d.cycle_on <= one.today
         and (select c.paused_on is null from customers c where c.account_id = one.account_id and c.customer_id = d.customer_id)
       limit count_max - due) as found;
    due := due + more;
  end loop;
  return due;
end $$;
-- then
revoke all on function count_due_in_cycle(text[], date[], integer) from public;
grant execute on function count_due_in_cycle(text[], date[], integer) to perennial_app;
