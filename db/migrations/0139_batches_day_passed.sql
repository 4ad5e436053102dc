-- Until when a batch can be submitted: kept up to date by the pass of collection and compared where many batches are asked about. And the day of the debit whose
-- passing an event has told.
alter table payment_batches add column last_moment_at timestamptz, add column passed_for date;

create index payment_batches_unsubmitted on payment_batches (account_id, batch_id) where state in ('open', 'failed');
drop index payment_batches_of_service;
drop index payment_batches_failed;

create or replace function list_accounts_to_collect(zones text[], days date[]) returns table (account_id bigint)
language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
     where a.clock_at is null
       and (exists (select 1 from dunning d where d.account_id = a.account_id and d.due_on <= z.today)
         or exists (select 1 from collection_tries t where t.account_id = a.account_id and t.state = 'open' and not t.is_line
              and not coalesce(t.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
              and not coalesce(t.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false))
         or exists (select 1 from payment_batches b
              where b.account_id = a.account_id and b.state in ('open', 'failed')
                and (b.is_service_made or b.passed_for is distinct from b.action_date)))
     limit 1000;
end $$;

-- Batches with lines whose last moment is past and which the service will not move, of accounts on real time.
create function list_batches_day_passed(at_instant timestamptz)
  returns table (currency text, batches bigint, lines bigint, total_minor numeric)
language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select b.currency, count(distinct (b.account_id, b.batch_id)), count(*), sum(p.amount_minor)
      from payment_batches b join accounts a on a.account_id = b.account_id
      join batch_lines l on l.account_id = b.account_id and l.batch_id = b.batch_id
      join payments p on p.account_id = l.account_id and p.payment_id = l.payment_id
     where b.state in ('open', 'failed') and a.clock_at is null and b.last_moment_at < at_instant
       and not (b.is_service_made and b.state = 'open' and b.moves < 3)
     group by b.currency order by b.currency;
end $$;

revoke all on function list_batches_day_passed from public;
grant execute on function list_batches_day_passed to perennial_app;

create or replace function list_batch_figures(at_instant timestamptz, count_max bigint) returns table (name text, label text, value double precision)
language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    with found as (
      select case when b.state = 'failed' then 'failed' when b.needs_release and b.released_at is null then 'awaiting_release' else 'building' end
               as state, coalesce(b.released_at, b.submitted_at) as since
        from payment_batches b join accounts a on a.account_id = b.account_id
       where b.state in ('build', 'failed') and a.clock_at is null)
    select 'batches', f.state, count(*)::double precision from found f group by f.state
    union all select 'batch_build_oldest_seconds', '', greatest(extract(epoch from at_instant - min(f.since)), 0)::double precision
      from found f where f.state = 'building' having count(*) > 0
    union all select 'batches_day_passed', '', coalesce(sum(d.batches), 0)::double precision from list_batches_day_passed(at_instant) d
    union all select 'gateway_reports_waiting', '', count(*)::double precision
      from (select from gateway_reports r join accounts a on a.account_id = r.account_id
             where r.finished_at is null and a.clock_at is null limit count_max) as waiting;
end $$;
