/*
 * Billing runs are leased by the database's clock, as the rows of leases are: a lease that ends later than any can was taken before the clock
 * stepped back, and has lapsed. A run that failed as a whole waits before it is tried again.
 */
alter table billing_runs add attempts integer not null default 0, add next_try_at timestamptz;

drop function list_unfinished_runs(timestamptz);
create function list_unfinished_runs() returns table (account_id bigint, billing_run_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select r.account_id, r.billing_run_id from billing_runs r
     where r.finished_at is null
       and not coalesce(r.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
       and not coalesce(r.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)
     order by r.created_at limit 100;
end $$;
revoke all on function list_unfinished_runs() from public;
grant execute on function list_unfinished_runs() to perennial_app;

create or replace function service_figures(zones text[], days date[], at_instant timestamptz, count_max integer)
  returns table (name text, label text, value double precision)
  language plpgsql stable security definer set search_path = perennial, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query
    with unfinished as (
      select cause, done, total, created_at, started_at, coalesce(leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false) as is_held
        from billing_runs where finished_at is null),
    current_accounts as (
      select a.account_id, a.scheduled_on, z.today from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
       where a.clock_at is null)
    select 'runs', case when is_held then 'working' else 'waiting' end, count(*)::double precision from unfinished group by 2
    union all select 'run_records_done', cause, sum(done) from unfinished group by cause
    union all select 'run_records_total', cause, sum(total) from unfinished group by cause
    union all select 'run_records_per_second', cause, sum(done / greatest(extract(epoch from at_instant - started_at), 1))
      from unfinished where is_held and started_at is not null group by cause
    union all select 'run_oldest_seconds', '', greatest(extract(epoch from at_instant - min(created_at)), 0) from unfinished
      having count(*) > 0
    union all (select 'run_finished_at', 'any', extract(epoch from finished_at) from billing_runs
      where finished_at is not null order by finished_at desc limit 1)
    union all (select 'run_finished_at', 'without_failures', extract(epoch from finished_at) from billing_runs
      where finished_at is not null and failed = 0 order by finished_at desc limit 1)
    union all select 'accounts_to_schedule', '', count(*) from current_accounts where scheduled_on is null or scheduled_on < today
    union all select 'mails', status, count(*) from (select status from outbox where status <> 'sent' limit count_max) as found group by status
    union all select 'mail_oldest_seconds', '', greatest(extract(epoch from at_instant - min(next_try_at)), 0) from outbox
      where next_try_at is not null having count(*) > 0;
end $$;
