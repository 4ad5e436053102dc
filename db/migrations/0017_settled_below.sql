/*
 * Functions of the owner look into pg_temp last: else a temporary table of their caller stands before ours, and is read with the owner's rights.
 */
do $$
declare
  name text;
begin
  for name in select p.oid::regprocedure from pg_proc p
               where p.pronamespace = 'perennial'::regnamespace and 'search_path=perennial' = any (p.proconfig)
  loop
    execute format('alter function %s set search_path = perennial, pg_temp', name);
  end loop;
end $$;

/*
 * Identifiers below settled_until have all their records committed. A candidate follows once everybody has ended who may have drawn an
 * identifier below it.
 */
alter table list_watermarks drop column candidate_xid, add column settled_until bigint not null default 0, add column candidate_drawers text[];
update list_watermarks set settled_until = sealed_until, candidate_until = null;

/*
 * True where this server alone sees every transaction that writes. False for engines that spread accounts over servers, known by their
 * version or their extension, and where an operator says so:  alter database … set perennial.writing_servers = 'several'.
 */
create function is_only_writing_server() returns boolean
  language plpgsql stable set search_path = perennial, pg_temp as $$
begin
  return coalesce(current_setting('perennial.writing_servers', true), '') <> 'several'
    and current_setting('server_version') ~ '^[0-9.]+(devel|(beta|rc)[0-9]+)?( |$)'
    and not exists (select 1 from pg_extension where extname in ('citus', 'bdr', 'spock', 'pgactive'));
end $$;
revoke all on function is_only_writing_server from public;

create function id_column_of(list_name text) returns text
  language plpgsql immutable set search_path = perennial, pg_temp as $$
begin
  return case list_name when 'customers' then 'customer_id' when 'subscriptions' then 'subscription_id' when 'invoices' then 'invoice_id'
    when 'events' then 'event_id' when 'payments' then 'payment_id' when 'ledger_entries' then 'entry_id' end;
end $$;
revoke all on function id_column_of from public;

/*
 * The identifier below which no transaction that runs can still add a record to a list. It moves in two steps, in two transactions: the first
 * notes the last identifier drawn and who may have drawn one, the second finds that all of those have ended.
 *
 * Who draws from a sequence holds a lock on it until the end of the transaction, with or without a transaction number; and it is released
 * after the commit can be seen. Where other servers write too, their locks do not show: there a candidate is settled by its age, which is
 * three times as long as a transaction of the service may last (TRANSACTION_MS).
 */
create function settled_below(list_name text) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  mark list_watermarks;
  drawn_from regclass := pg_get_serial_sequence('perennial.' || list_name, id_column_of(list_name));
  below bigint;
  drawers text[];
begin
  insert into list_watermarks (list) values (list_name) on conflict do nothing;
  select * into mark from list_watermarks where list = list_name for update skip locked;
  -- Somebody else moves it just now.
  if not found then return (select settled_until from list_watermarks where list = list_name); end if;
  -- Before the locks are looked at: whoever has drawn up to here is among their holders, or has ended.
  below := coalesce(pg_sequence_last_value(drawn_from), 0) + 1;
  select coalesce(array_agg(virtualtransaction), '{}') into drawers from pg_locks
   where locktype = 'relation' and relation = drawn_from and mode = 'RowExclusiveLock' and pid <> pg_backend_pid()
     and database = (select oid from pg_database where datname = current_database());
  if mark.candidate_until is not null
     and (case when is_only_writing_server() then not mark.candidate_drawers && drawers
               else mark.candidate_at < clock_timestamp() - interval '30 minutes' end) then
    mark.settled_until := mark.candidate_until;
    mark.candidate_until := null;
  end if;
  if mark.candidate_until is null and below > mark.settled_until then
    update list_watermarks
       set settled_until = mark.settled_until, candidate_until = below, candidate_drawers = drawers, candidate_at = clock_timestamp()
     where list = list_name;
  else
    update list_watermarks set settled_until = mark.settled_until, candidate_until = mark.candidate_until
     where list = list_name and (settled_until, candidate_until) is distinct from (mark.settled_until, mark.candidate_until);
  end if;
  return mark.settled_until;
end $$;
revoke all on function settled_below from public;

/* Counts the blocks of one list that can get no new records; returns how many counts were written. */
create or replace function seal_list(list_name text) returns integer
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  id_column text := id_column_of(list_name);
  until_id bigint := settled_below(list_name) / 4096 * 4096;
  from_id bigint;
  written integer;
begin
  -- Somebody else seals it, or a deletion holds it off.
  select sealed_until into from_id from list_watermarks where list = list_name for update skip locked;
  if not found or until_id <= from_id then return 0; end if;
  execute format(
    'insert into list_blocks (account_id, list, block, records)
     select a.account_id, %L, r.block, r.records from accounts a cross join lateral (
       select %I / 4096 as block, count(*) as records from %I where account_id = a.account_id and %I >= $1 and %I < $2 group by 1) r',
    list_name, id_column, list_name, id_column, id_column) using from_id, until_id;
  get diagnostics written = row_count;
  update list_watermarks set sealed_until = until_id where list = list_name;
  return written;
end $$;

/* Whether a key of any account has this hash, in force or not: so a start can say that BOOTSTRAP_API_KEY names none. */
create function key_exists(hash bytea) returns boolean
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return exists (select 1 from api_keys where key_hash = hash);
end $$;
revoke all on function key_exists from public;
grant execute on function key_exists to perennial_app;
