-- Batches and reports of gateways that wait, of all accounts that follow real time, for /metrics.
create index payment_batches_failed on payment_batches (account_id, batch_id) where state = 'failed';

/*
 * Batches that are to be built, that wait for a release and that could not be built; how long ago the one that has been built longest was submitted
 * or released; and reports of gateways that nobody has applied yet, counted up to a bound.
 */
create function list_batch_figures(at_instant timestamptz, count_max bigint) returns table (name text, label text, value double precision)
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
    union all select 'gateway_reports_waiting', '', count(*)::double precision
      from (select from gateway_reports r join accounts a on a.account_id = r.account_id
             where r.finished_at is null and a.clock_at is null limit count_max) as waiting;
end $$;
revoke all on function list_batch_figures(timestamptz, bigint) from public;
grant execute on function list_batch_figures(timestamptz, bigint) to perennial_app;
