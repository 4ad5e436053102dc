-- Keys that seal documents, each with its certificate; the newest seals. They belong to no account: functions of the owner alone reach them.
create table seal_keys (
  seal_key_id bigint generated always as identity primary key,
  sealed_key bytea not null,
  certificate bytea not null,
  made_at timestamptz not null default now()
);
alter table seal_keys enable row level security;
select sealed_column('seal_keys', 'sealed_key');

create function find_seal_key() returns table (sealed_key bytea, certificate bytea)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query select sealed_key, certificate from seal_keys order by seal_key_id desc limit 1;
end $$;
revoke all on function find_seal_key() from public;
grant execute on function find_seal_key() to perennial_app;

-- Several processes may make the first key at once: that of the first one stays. A renewal names the certificate that it takes the place of.
create function keep_seal_key(new_key bytea, new_certificate bytea, in_place_of bytea) returns void
  language plpgsql security definer set search_path = perennial, pg_temp as $$
begin
  lock table seal_keys in exclusive mode;
  insert into seal_keys (sealed_key, certificate)
    select new_key, new_certificate
     where in_place_of is not distinct from (select k.certificate from seal_keys k order by k.seal_key_id desc limit 1);
end $$;
revoke all on function keep_seal_key(bytea, bytea, bytea) from public;
grant execute on function keep_seal_key(bytea, bytea, bytea) to perennial_app;
