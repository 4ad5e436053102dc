-- What /metrics tells of the whole database: how much waits and how far running work is. Sums over all accounts, and nothing of any one.

-- Which runs have ended lately, and which are old enough to be forgotten.
create index billing_runs_finished on billing_runs (finished_at) where finished_at is not null;

/*
 * Each row is a figure, what it is about, and its value. What is due is counted for accounts on real time, whose days are given by zone,
 * and only up to count_max: a long queue is long enough. Customers whose billing is paused wait for nobody.
 */
create function service_figures(zones text[], days date[], at_instant timestamptz, count_max integer)
  returns table (name text, label text, value double precision)
  language sql stable security definer set search_path = perennial
  -- Mostly nothing is due: each account is to be looked up in its index, and what is due there in its customer. Any other plan reads
  -- every subscription or every customer there is; joins, which could be turned round, are avoided for the same reason.
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
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
  union all select 'due', 'subscription', count(*) from (
    select 1 from current_accounts a cross join lateral (
      select 1 from subscriptions s where s.account_id = a.account_id and s.due_on <= a.today
         and (select c.paused_on is null from customers c where c.account_id = s.account_id and c.customer_id = s.customer_id)
       limit count_max) as due
     limit count_max) as found
  union all select 'due', 'recurring_invoice', count(*) from (
    select 1 from current_accounts a cross join lateral (
      select 1 from recurring_invoices r where r.account_id = a.account_id and r.due_on <= a.today
         and (select c.paused_on is null from customers c where c.account_id = r.account_id and c.customer_id = r.customer_id)
       limit count_max) as due
     limit count_max) as found
  union all select 'accounts_to_schedule', '', count(*) from current_accounts where scheduled_on is null or scheduled_on < today
  union all select 'mails', status, count(*) from (select status from outbox where status <> 'sent' limit count_max) as found group by status
  union all select 'mail_oldest_seconds', '', greatest(extract(epoch from at_instant - min(next_try_at)), 0) from outbox
    where next_try_at is not null having count(*) > 0
$$;

create index outbox_unsent on outbox (status) where status <> 'sent';

revoke all on function service_figures(text[], date[], timestamptz, integer) from public;
grant execute on function service_figures(text[], date[], timestamptz, integer) to perennial_app;
