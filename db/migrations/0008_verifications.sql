-- The nightly verification of each account: its lease while a worker is at it, and what it found when it was done last.
create table verifications (
  account_id bigint not null primary key references accounts,
  leased_until timestamptz,
  finished_at timestamptz,
  differences integer check (differences >= 0),
  constraint verifications_finished_check check ((finished_at is null) = (differences is null))
);

alter table verifications enable row level security;
create policy account on verifications to perennial_app
  using (account_id = current_setting('app.account_id')::bigint)
  with check (account_id = current_setting('app.account_id')::bigint);
grant select, insert, update, delete on verifications to perennial_app;

-- Accounts whose last verification ended before a moment and that no worker is verifying now, the longest waiting first.
create function list_accounts_to_verify(since timestamptz, at_instant timestamptz) returns table (account_id bigint)
language sql stable security definer set search_path = perennial as $$
  select a.account_id from accounts a left join verifications v on v.account_id = a.account_id
   where (v.finished_at is null or v.finished_at < since) and (v.leased_until is null or v.leased_until < at_instant)
   order by v.finished_at nulls first, a.account_id limit 100
$$;

-- What is told to a monitor: about the service, and nothing about an account.
create function verification_state() returns table (differences bigint, oldest timestamptz)
language sql stable security definer set search_path = perennial as $$
  select coalesce(sum(v.differences), 0)::bigint, min(v.finished_at) from verifications v
$$;

revoke execute on function list_accounts_to_verify(timestamptz, timestamptz), verification_state() from public;
grant execute on function list_accounts_to_verify(timestamptz, timestamptz), verification_state() to perennial_app;
