/*
 * What is kept in rows and packs is read as one (decision 52): `events` shows every event as `ledger` shows every entry. The type of a pack's events is a constant,
 * so that a reader of other types never looks at packs.
 */
create view events with (security_invoker = true) as
  select account_id, event_id, type, record_id, customer_id, happened_at, recorded_at, actor, reason, record, event_id as pack_id from event_rows
  union all
  select p.account_id, p.first_event_id + k, 'invoice.issued', p.first_invoice_id + k,
         (select i.customer_id from invoices i where i.account_id = p.account_id and i.invoice_id = p.first_invoice_id + k),
         p.happened_at, p.recorded_at, p.actor, null,
         (p.records -> coalesce(p.record_index[k + 1], 0))
           || case when p.method_ids[k + 1] is null then '{}' else jsonb_build_object('customerPaymentMethodID', p.method_ids[k + 1]) end
           || case when p.po_numbers[k + 1] is null then '{}' else jsonb_build_object('poNumber', p.po_numbers[k + 1]) end,
         p.first_event_id
    from event_packs p cross join lateral generate_series(0, (p.last_event_id - p.first_event_id)::integer) as k
   where p.mailed is null
  union all
  select p.account_id, p.first_event_id + k, 'invoice.mail_queued', p.first_invoice_id + p.mailed[k + 1],
         (select i.customer_id from invoices i where i.account_id = p.account_id and i.invoice_id = p.first_invoice_id + p.mailed[k + 1]),
         p.happened_at, p.recorded_at, p.actor, null, jsonb_build_object('invoiceID', p.first_invoice_id + p.mailed[k + 1]), p.first_event_id
    from event_packs p cross join lateral generate_series(0, (p.last_event_id - p.first_event_id)::integer) as k
   where p.mailed is not null;
grant select on events to perennial_app;

/*
 * Counted lists are named by what everybody reads. `drawn_from` is the table whose column fills itself, and `pack_ids` how far apart the first and the last identifier
 * of a pack can be, where a list has packs.
 */
alter table counted_lists add column drawn_from text, add column pack_ids integer;
update counted_lists set drawn_from = list, pack_ids = case list when 'ledger_rows' then 1024 when 'event_rows' then 256 end;
alter table counted_lists alter column drawn_from set not null;
update counted_lists set list = case list when 'ledger_rows' then 'ledger' else 'events' end where pack_ids is not null;
update list_watermarks set list = case list when 'ledger_rows' then 'ledger' else 'events' end where list in ('ledger_rows', 'event_rows');
update list_blocks set list = case list when 'ledger_rows' then 'ledger' else 'events' end where list in ('ledger_rows', 'event_rows');

drop function id_column_of(text);
create function counted_list(list_name text) returns counted_lists language plpgsql stable set search_path = perennial, pg_temp as $$
declare
  found_list counted_lists;
begin
  select * into strict found_list from counted_lists where list = list_name;
  return found_list;
exception when no_data_found then
  raise exception '% is no counted list', list_name;
end $$;
revoke all on function counted_list(text) from public;

-- The sequence that the identifiers of a counted list are drawn from.
create function sequence_of_list(list_name text) returns regclass language plpgsql stable set search_path = perennial, pg_temp as $$
declare
  of_list counted_lists := counted_list(list_name);
begin
  return pg_get_serial_sequence('perennial.' || of_list.drawn_from, of_list.id_column);
end $$;
revoke all on function sequence_of_list(text) from public;

-- Counts the blocks that are settled.
create or replace function seal_list(list_name text) returns integer language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  of_list counted_lists := counted_list(list_name);
  until_id bigint := settled_below(list_name) / 4096 * 4096;
  from_id bigint;
  written integer;
begin
  -- Somebody else seals it, or a deletion holds it off.
  select sealed_until into from_id from list_watermarks where list = list_name for update skip locked;
  if not found or until_id <= from_id then return 0; end if;
  execute format(
    'insert into list_blocks (account_id, list, block, records)
     select a.account_id, %1$L, r.block, r.records from accounts a cross join lateral (
       select %2$I / 4096 as block, count(*) as records from %1$I where account_id = a.account_id and %2$I >= $1 and %2$I < $2'
         || case when of_list.pack_ids is null then '' else ' and pack_id > $1 - $3 and pack_id < $2' end || ' group by 1) r',
    list_name, of_list.id_column) using from_id, until_id, of_list.pack_ids;
  get diagnostics written = row_count;
  update list_watermarks set sealed_until = until_id where list = list_name;
  return written;
end $$;

do $$
declare
  text_of text;
begin
  for text_of in select pg_get_functiondef(p.oid) from pg_proc p
                  where p.pronamespace = 'perennial'::regnamespace and p.proname in ('settled_below', 'take_mark', 'take_ledger_mark', 'sum_ledger_days') loop
    text_of := replace(text_of, 'pg_get_serial_sequence(''perennial.'' || list_name, id_column_of(list_name))', 'sequence_of_list(list_name)');
    text_of := replace(text_of, '''ledger_rows''', '''ledger''');
    text_of := replace(text_of, E'  -- Old invoices are still to be given the countries of their customers.\n  if exists (select 1 from invoice_places_to_find) then return 0; end if;\n', '');
    execute text_of;
  end loop;
end $$;

-- Invoices whose country was still to be found: the program that has migration 0119 finds them within its first hours.
do $$
begin
  if exists (select 1 from invoice_places_to_find) then
    raise exception 'Countries of old invoices are still being found: start the version before this one once more, and wait for its duties.';
  end if;
end $$;
drop function list_accounts_with_places_to_find();
drop table invoice_places_to_find;
