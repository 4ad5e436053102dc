-- Requests that have begun to call a gateway under an Idempotency-Key: the same request under the same key goes on with the same intent.
create table outward_requests (
  account_id bigint not null references accounts,
  -- The keyed hash of the key.
  key text not null,
  request_hash bytea not null,
  intent_id bigint not null,
  created_at timestamptz not null,
  primary key (account_id, key)
);
create index outward_requests_by_age on outward_requests (created_at);
select own_by_account('outward_requests', 'select, insert, update, delete');

create or replace function delete_old_idempotency_keys(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from idempotency_keys where created_at < before_instant;
  get diagnostics gone = row_count;
  delete from outward_requests where created_at < before_instant;
  return gone;
end $$;
