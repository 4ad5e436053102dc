-- Accounts on real time with something to collect on their day, with tries whose outcome is to be asked for, or with batches that the service made
-- and that were not submitted: lines may have to leave one that failed, too.
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
              where b.account_id = a.account_id and b.is_service_made and b.state in ('open', 'failed')))
     limit 1000;
end $$;

drop index payment_batches_of_service;
create index payment_batches_of_service on payment_batches (account_id, batch_id) where is_service_made and state in ('open', 'failed');

-- Accounts with customers whom a rule has suspended: they come back where the clock stands, too.
create function list_accounts_to_bring_back() returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select distinct c.account_id from customers c where c.is_suspended_by_rule and c.archived_at is null limit 1000;
end $$;
revoke all on function list_accounts_to_bring_back() from public;
grant execute on function list_accounts_to_bring_back() to perennial_app;
