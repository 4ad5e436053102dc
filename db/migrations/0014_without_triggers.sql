/*
 * What a deletion takes with it, and what it changes in counts, is done by the statements of whoever deletes: a trigger runs under the
 * rights of whoever is at work when it fires, which differ between versions of PostgreSQL, and an engine that spreads accounts over
 * servers has no triggers at all.
 */
drop trigger customers_deleted on customers;
drop trigger subscriptions_deleted on subscriptions;
drop trigger invoices_deleted on invoices;
drop trigger payments_deleted on payments;
drop trigger subscription_components_deleted on subscription_components;
drop function count_deleted_records();
drop function delete_usage_of_components();

/* Takes deleted records of the account out of the counts of their blocks. */
create function uncount_deleted(list_name text, ids bigint[]) returns void
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  account bigint := current_setting('app.account_id');
begin
  -- Waits for a sealing that has begun, and holds off the next until this deletion is committed: else one of them would not see the other.
  perform 1 from list_watermarks where list = list_name for share;
  update list_blocks b set records = b.records - d.gone
    from (select id / 4096 as block, count(*)::int as gone from unnest(ids) as id group by 1) d
   where b.account_id = account and b.list = list_name and b.block = d.block;
end $$;
revoke all on function uncount_deleted from public;
grant execute on function uncount_deleted to perennial_app;

-- Reports of usage go with their subscription, and never otherwise.
grant delete on usage_entries to perennial_app;
