-- What one process at a time does for an account: a long operation under its Idempotency-Key, a move of the clock. A holder renews its
-- lease; that of a holder that died lapses.
create table leases (
  account_id bigint not null references accounts,
  name text not null,
  holder uuid not null,
  leased_until timestamptz not null,
  primary key (account_id, name)
);
create index leases_by_end on leases (leased_until);
alter table leases enable row level security;
create policy account on leases to perennial_app
  using (account_id = current_setting('app.account_id')::bigint)
  with check (account_id = current_setting('app.account_id')::bigint);
grant select, insert, update, delete on leases to perennial_app;

create function delete_old_leases(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from leases where leased_until < before_instant;
  get diagnostics gone = row_count;
  return gone;
end $$;
revoke all on function delete_old_leases(timestamptz) from public;
grant execute on function delete_old_leases(timestamptz) to perennial_app;
