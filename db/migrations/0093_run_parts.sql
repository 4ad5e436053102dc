/*
 * Parts of a day of a large run (decision 31): customers from after `after_customer_id` to `last_customer_id`, which one worker at a time bills under a
 * lease. A part that is through is deleted; the worker that leads the run goes on when none is left.
 */
create table billing_run_parts (
  account_id bigint not null,
  billing_run_id bigint not null,
  last_customer_id bigint not null,
  after_customer_id bigint not null,
  day date not null,
  phase smallint not null,
  holder uuid,
  leased_until timestamptz,
  primary key (account_id, billing_run_id, last_customer_id)
);
select own_by_account('billing_run_parts', 'select, insert, update, delete');

create function list_runs_with_parts() returns table (account_id bigint, billing_run_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select distinct p.account_id, p.billing_run_id from billing_run_parts p
     where not coalesce(p.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false) limit 100;
end $$;
revoke all on function list_runs_with_parts from public;
grant execute on function list_runs_with_parts to perennial_app;
