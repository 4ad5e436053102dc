-- least: 11
-- answers as before: seal_list, count_due_in_cycle, do
-- What transactions of an account did by functions of the owner they do by the rights of the service, under the policy of the account: an engine that spreads
-- accounts over servers runs such a function where the account is not. The functions stay for programs of before.
grant update (records) on list_blocks to perennial_app;
grant update (record) on event_rows to perennial_app;

-- Counts the blocks that are settled. A block that was counted already is counted anew and not added to: where the server of the accounts has committed and
-- this one has not, all of it is done again.
create or replace function seal_list(list_name text)
  returns integer language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  of_list counted_lists := counted_list(list_name);
  until_id bigint := settled_below(list_name) / 4096 * 4096;
  from_id bigint;
  written integer;
begin
  -- A deletion holds it off: whoever takes deleted records out of the counts has this lock, shared, until the commit.
  if not pg_try_advisory_xact_lock(hashtextextended('counted ' || list_name, 0)) then return 0; end if;
  -- Somebody else seals it, or a program of before holds it off.
  select sealed_until into from_id from list_watermarks where list = list_name for update skip locked;
  if not found or until_id <= from_id then return 0; end if;
  execute format(
    'insert into list_blocks (account_id, list, block, records)
     select a.account_id, %1$L, r.block, r.records from accounts a cross join lateral (
       select %2$I / 4096 as block, count(*) as records from %1$I where account_id = a.account_id and %2$I >= $1 and %2$I < $2'
         || case when of_list.pack_ids is null then '' else ' and pack_id > $1 - $3 and pack_id < $2' end || ' group by 1) r
     on conflict (account_id, list, block) do update set records = excluded.records',
    list_name, of_list.id_column) using from_id, until_id, of_list.pack_ids;
  get diagnostics written = row_count;
  update list_watermarks set sealed_until = until_id where list = list_name;
  return written;
end $$;

-- The cycles of an account are asked for by a statement of their own: one about tables calls no function that reads tables.
create or replace function count_due_in_cycle(zones text[], days date[], count_max integer)
  returns bigint language plpgsql stable security definer set search_path = perennial, pg_temp set enable_hashjoin = 'off' set enable_mergejoin = 'off' set enable_seqscan = 'off' as $$
declare
  one record;
  cycles smallint[];
  more bigint;
  due bigint := 0;
begin
  for one in select a.account_id, z.today
               from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone where a.clock_at is null
  loop
    exit when due >= count_max;
    cycles := cycle_days(one.account_id, one.today);
    select count(*) into more from (
      select 1 from subscription_billing d where d.account_id = one.account_id and d.cycle_day = any(cycles) and d.due_in_cycle_on <= one.today
         and (select c.paused_on is null from customers c where c.account_id = one.account_id and c.customer_id = d.customer_id)
       limit count_max - due) as found;
    due := due + more;
  end loop;
  return due;
end $$;

-- A select list that is empty is not read by such an engine.
do $$
declare
  changed record;
begin
  for changed in select p.oid, pg_get_functiondef(p.oid) as definition from pg_proc p
                  where p.pronamespace = 'perennial'::regnamespace and p.prosrc ~ '\mselect from\M' loop
    execute regexp_replace(changed.definition, '\mselect from\M', 'select 1 from', 'g');
  end loop;
end $$;
