-- What became of deliveries and endpoints of all accounts, for /metrics.
create index webhook_deliveries_failed on webhook_deliveries (account_id, webhook_id) where state = 'failed';

/*
 * Deliveries that wait and that were given up, each counted up to a bound; how long the one that waits longest has been due; and endpoints by
 * state. The oldest is found by jumping from endpoint to endpoint in the index of what is due. Of one endpoint it is either the first of those
 * that have never been tried or put off, which are due since they were written, or the first of the others.
 */
create function list_webhook_figures(at_instant timestamptz, count_max bigint) returns table (name text, label text, value double precision)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
declare
  head record;
  last_account bigint := 0;
  last_webhook bigint := 0;
  oldest timestamptz;
begin
  loop
    select d.account_id, d.webhook_id, greatest(d.next_try_at, d.created_at) as due_at into head from webhook_deliveries d
     where d.state = 'waiting' and (d.account_id, d.webhook_id) > (last_account, last_webhook)
     order by d.account_id, d.webhook_id, d.next_try_at, d.delivery_id limit 1;
    exit when head.account_id is null;
    last_account := head.account_id;
    last_webhook := head.webhook_id;
    oldest := least(oldest, head.due_at, (select d.next_try_at from webhook_deliveries d
      where d.state = 'waiting' and d.account_id = last_account and d.webhook_id = last_webhook and d.next_try_at > '-infinity'
      order by d.next_try_at limit 1));
  end loop;
  return query
    select 'webhook_oldest_seconds', '', greatest(extract(epoch from at_instant - oldest), 0)::double precision where oldest is not null
    union all select 'webhook_deliveries', 'waiting', count(*)::double precision
      from (select from webhook_deliveries where state = 'waiting' limit count_max) as found
    union all select 'webhook_deliveries', 'failed', count(*)::double precision
      from (select from webhook_deliveries where state = 'failed' limit count_max) as found
    -- Whoever switches an endpoint off by hand clears its failing_since; the service, which disables it, does not.
    union all select 'webhooks', case when w.is_active then case when w.failing_since is null then 'active' else 'failing' end
      when w.failing_since is null then 'off' else 'disabled' end,
      count(*)::double precision from webhooks w group by 2;
end $$;
revoke all on function list_webhook_figures(timestamptz, bigint) from public;
grant execute on function list_webhook_figures(timestamptz, bigint) to perennial_app;
