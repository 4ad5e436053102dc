/*
 * Data keys: random keys that seal what the database must not be able to read, wrapped by ENCRYPTION_KEY. Those of purposes serve the whole
 * database; those of records lie in front of what they seal, in columns that `sealed_column` names.
 */
create table data_keys (
  purpose text primary key,
  -- Null: a version before has sealed with a key derived from ENCRYPTION_KEY itself, which the next start wraps and stores here.
  wrapped bytea,
  created_at timestamptz not null default now()
);
alter table data_keys enable row level security;

insert into data_keys (purpose)
  select purpose from unnest(array['idempotency hash', 'idempotency body', 'outbox']) as before (purpose)
   where exists (select 1 from idempotency_keys) or exists (select 1 from outbox where sealed_bodies is not null);

-- Columns whose first 69 bytes are a wrapped data key: a byte of the form, 8 that name the key, 60 of the data key.
create table sealed_columns (
  table_name name,
  column_name name,
  primary key (table_name, column_name)
);
alter table sealed_columns enable row level security;

-- Makes a column known to the rotation of keys. Migrations call it for each column that holds sealed records.
create function sealed_column(of_table name, of_column name) returns void
  language plpgsql set search_path = perennial, pg_temp as $$
begin
  insert into sealed_columns values (of_table, of_column);
  execute format('create index on perennial.%1$I (substring(%2$I from 1 for 69)) where %2$I is not null', of_table, of_column);
end $$;
revoke all on function sealed_column(name, name) from public;

select sealed_column('data_keys', 'wrapped');

create function list_data_keys() returns table (purpose text, wrapped bytea)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query select purpose, wrapped from data_keys;
end $$;
revoke all on function list_data_keys() from public;
grant execute on function list_data_keys() to perennial_app;

-- Several processes may start at once: the keys of the first one stay, all of them, because the others wait at the first purpose.
create function keep_data_keys(new_purposes text[], new_keys bytea[]) returns void
  language plpgsql security definer set search_path = perennial, pg_temp as $$
begin
  insert into data_keys (purpose, wrapped)
    select purpose, wrapped from unnest(new_purposes, new_keys) as made (purpose, wrapped) order by purpose
    on conflict (purpose) do update set wrapped = excluded.wrapped where data_keys.wrapped is null;
end $$;
revoke all on function keep_data_keys(text[], bytea[]) from public;
grant execute on function keep_data_keys(text[], bytea[]) to perennial_app;

-- Every start asks this: it jumps from key to key in the index instead of reading all rows.
create function list_wrapping_keys() returns table (key_id bytea)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_variable
declare
  place record;
  found_head bytea;
begin
  for place in select table_name, column_name from sealed_columns loop
    found_head := '';
    loop
      execute format('select substring(%1$I from 1 for 69) from perennial.%2$I where %1$I is not null and substring(%1$I from 1 for 69) > $1
                       order by substring(%1$I from 1 for 69) limit 1', place.column_name, place.table_name)
        into found_head using found_head;
      exit when found_head is null;
      key_id := substring(found_head from 2 for 8);
      return next;
      found_head := substring(found_head from 1 for 9) || decode(repeat('ff', 60), 'hex');
    end loop;
  end loop;
end $$;
revoke all on function list_wrapping_keys() from public;
grant execute on function list_wrapping_keys() to perennial_app;

create function list_wrapped_by(wrapping_key bytea, count_max bigint) returns table (table_name name, column_name name, wrapped bytea)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_variable
declare
  first_head bytea := '\x01'::bytea || wrapping_key;
  place record;
begin
  for place in select c.table_name, c.column_name from sealed_columns c loop
    return query execute format('select %3$L::name, %4$L::name, substring(%1$I from 1 for 69) from perennial.%2$I
        where %1$I is not null and substring(%1$I from 1 for 69) between $1 and $1 || decode(repeat(''ff'', 60), ''hex'') limit $2',
      place.column_name, place.table_name, place.table_name, place.column_name) using first_head, count_max;
  end loop;
end $$;
revoke all on function list_wrapped_by(bytea, bigint) from public;
grant execute on function list_wrapped_by(bytea, bigint) to perennial_app;

create function count_wrapped_by(wrapping_key bytea) returns bigint
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
declare
  first_head bytea := '\x01'::bytea || wrapping_key;
  place record;
  in_column bigint;
  in_all bigint := 0;
begin
  for place in select table_name, column_name from sealed_columns loop
    execute format('select count(*) from perennial.%2$I
        where %1$I is not null and substring(%1$I from 1 for 69) between $1 and $1 || decode(repeat(''ff'', 60), ''hex'')',
      place.column_name, place.table_name) into in_column using first_head;
    in_all := in_all + in_column;
  end loop;
  return in_all;
end $$;
revoke all on function count_wrapped_by(bytea) from public;
grant execute on function count_wrapped_by(bytea) to perennial_app;

-- Puts data keys that were wrapped anew in the place of themselves; what they seal stays as it is. A row that changed meanwhile is left.
create function replace_wrapped(of_table name, of_column name, before bytea[], after bytea[]) returns void
  language plpgsql security definer set search_path = perennial, pg_temp as $$
begin
  if not exists (select 1 from sealed_columns c where c.table_name = of_table and c.column_name = of_column)
     or exists (select 1 from unnest(after) as one (head) where octet_length(head) is distinct from 69) then
    raise exception 'this is no wrapped data key of a sealed column';
  end if;
  execute format('update perennial.%2$I t set %1$I = overlay(t.%1$I placing k.after from 1 for 69)
      from unnest($1, $2) as k (before, after) where t.%1$I is not null and substring(t.%1$I from 1 for 69) = k.before', of_column, of_table)
    using before, after;
end $$;
revoke all on function replace_wrapped(name, name, bytea[], bytea[]) from public;
grant execute on function replace_wrapped(name, name, bytea[], bytea[]) to perennial_app;
