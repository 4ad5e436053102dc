/*
 * The records due are counted for each table that the service names, so that a new kind of due records needs no new function. They are counted
 * account by account: an engine that spreads accounts over servers limits no row of one table by a row of another.
 */
create function count_due(due_table text, day_column text, zones text[], days date[], count_max integer) returns bigint
  language plpgsql stable security definer set search_path = perennial, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  one record;
  more bigint;
  due bigint := 0;
begin
  for one in select a.account_id, z.today from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
              where a.clock_at is null
  loop
    exit when due >= count_max;
    execute format(
      'select count(*) from (
         select 1 from %I d where d.account_id = $1 and d.%I <= $2
            and (select c.paused_on is null from customers c where c.account_id = $1 and c.customer_id = d.customer_id)
          limit $3) as found', due_table, day_column) into more using one.account_id, one.today, count_max - due;
    due := due + more;
  end loop;
  return due;
end $$;
revoke all on function count_due(text, text, text[], date[], integer) from public;
grant execute on function count_due(text, text, text[], date[], integer) to perennial_app;

create or replace function service_figures(zones text[], days date[], at_instant timestamptz, count_max integer)
  returns table (name text, label text, value double precision)
  language plpgsql stable security definer set search_path = perennial, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query
    with unfinished as (
      select cause, done, total, created_at, started_at, coalesce(leased_until >= at_instant, false) as is_held
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
