-- Records of which what is due cannot be billed, from their first failure until they are billed. Instants are of the account's clock.
create table failing_records (
  account_id bigint not null references accounts,
  failing_record_id bigint generated always as identity,
  record_type text not null check (record_type in ('subscription', 'recurring_invoice')),
  record_id bigint not null,
  customer_id bigint not null,
  since timestamptz not null,
  last_tried timestamptz not null,
  reason text not null,
  -- Times in which the customer was not billed, oldest first, that billing has not got past: [{"from": first day, "until": day of the return}].
  gaps jsonb not null default '[]',
  primary key (account_id, record_type, record_id),
  constraint failing_records_customer_fkey foreign key (account_id, customer_id) references customers on delete cascade
);
create index failing_records_listed on failing_records (account_id, failing_record_id);
create index failing_records_of_customer on failing_records (account_id, customer_id);
select own_by_account('failing_records', 'select, insert, update, delete');

-- Records of all accounts that cannot be billed, by the account's mode, for /metrics.
create function list_failing_figures(count_max bigint) returns table (name text, label text, value double precision)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select 'records_failing', a.mode, count(*)::double precision
      from (select f.account_id from failing_records f limit count_max) f join accounts a on a.account_id = f.account_id
     group by a.mode;
end $$;
revoke all on function list_failing_figures(bigint) from public;
grant execute on function list_failing_figures(bigint) to perennial_app;
