-- The wall of a new table in one line: row security by its account for the service's role, and the rights that this role has. Migrations call it.
create function own_by_account(table_name name, rights text) returns void
  language plpgsql set search_path = perennial, pg_temp as $$
begin
  execute format('alter table perennial.%I enable row level security', table_name);
  -- Never set, or set to nothing, is an error and not an empty answer: a forgotten account fails at once.
  execute format('create policy account on perennial.%I to perennial_app
    using (account_id = current_setting(''app.account_id'')::bigint)
    with check (account_id = current_setting(''app.account_id'')::bigint)', table_name);
  execute format('grant %s on perennial.%I to perennial_app', rights, table_name);
end $$;
revoke all on function own_by_account(name, text) from public;
