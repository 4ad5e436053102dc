/*
 * The lists whose blocks of identifiers are counted, each with the column of its identifiers, which a sequence of its own fills. A list that is
 * to be read to any depth gets its row here by its own migration. The service's role has no right here: the functions of the owner read it.
 */
create table counted_lists (
  list text primary key,
  id_column text not null
);
alter table counted_lists enable row level security;
insert into counted_lists (list, id_column) values
  ('customers', 'customer_id'), ('subscriptions', 'subscription_id'), ('invoices', 'invoice_id'), ('events', 'event_id'),
  ('payments', 'payment_id'), ('ledger_entries', 'entry_id');

/* The column of the identifiers of a counted list; an error for any other name. */
create or replace function id_column_of(list_name text) returns text
  language plpgsql stable set search_path = perennial, pg_temp as $$
declare
  found_column text;
begin
  select id_column into strict found_column from counted_lists where list = list_name;
  return found_column;
exception when no_data_found then
  raise exception '% is no counted list', list_name;
end $$;

/*
 * The nightly verification takes an account by a row of leases, as every work of an account that only one process may do at a time: by the
 * database's clock, renewed while it lasts.
 */
alter table verifications drop column leased_until;
drop function list_accounts_to_verify(timestamptz, timestamptz);
create function list_accounts_to_verify(since timestamptz) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id from accounts a left join verifications v on v.account_id = a.account_id
     where (v.finished_at is null or v.finished_at < since)
       and not exists (select 1 from leases l
                        where l.account_id = a.account_id and l.name = 'verification'
                          and l.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds')
     order by v.finished_at nulls first, a.account_id limit 100;
end $$;
revoke all on function list_accounts_to_verify(timestamptz) from public;
grant execute on function list_accounts_to_verify(timestamptz) to perennial_app;
