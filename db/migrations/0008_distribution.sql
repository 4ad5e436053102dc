-- What a database needs to be distributed by Citus: how far that has come, and settings of which its workers hear too, as they hear of what SET LOCAL sets and of
-- nothing that set_config does. A database that is on one server never calls these.
create table distribution (
  -- There is one row, from the first "perennial distribute" on.
  is_one boolean default true primary key,
  state text not null,
  begun_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  constraint distribution_is_one_check check (is_one),
  constraint distribution_state_check check (state in ('distributing', 'distributed'))
);
alter table distribution enable row level security;
comment on table distribution is 'How far the tables of accounts are distributed over servers; empty where they are on one.';

create function set_account(account bigint)
  returns void language plpgsql set search_path = perennial, pg_temp as $$
begin
  execute format('set local app.account_id = %L', account);
end $$;

create function set_lock_timeout(milliseconds integer)
  returns void language plpgsql set search_path = perennial, pg_temp as $$
begin
  execute format('set local lock_timeout = %L', milliseconds);
end $$;

-- Whether what others have committed can be told by the locks of this server: not where tables of accounts are distributed, as a worker may commit after the
-- coordinator has let go; an extension that merely is there changes nothing.
create or replace function is_only_writing_server()
  returns boolean language plpgsql stable set search_path = perennial, pg_temp as $$
declare
  is_distributed boolean := false;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is not null then
    execute 'select exists (select from pg_catalog.pg_dist_partition where logicalrelid = ''perennial.accounts''::regclass)' into is_distributed;
  end if;
  return not is_distributed
    and coalesce(current_setting('perennial.writing_servers', true), '') <> 'several'
    and current_setting('server_version') ~ '^[0-9.]+(devel|(beta|rc)[0-9]+)?( |$)'
    and not exists (select 1 from pg_extension where extname in ('bdr', 'spock', 'pgactive'));
end $$;

revoke all on function set_account, set_lock_timeout from public;
grant execute on function set_account, set_lock_timeout to perennial_app;
