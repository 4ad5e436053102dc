/*
 * Events of issued invoices, many to a row (decision 29): those of invoices that were issued together, as long as their identifiers and those of the invoices
 * follow each other without a gap. Event `first_event_id + k` is that of invoice `first_invoice_id + k`; its record is `records -> k`, or the only one
 * where all have the same. Rows of before stay where they are. A row has a bounded length, so that a reader of one event knows how far back its row can begin.
 */
create table issued_events (
  account_id bigint not null,
  first_event_id bigint not null,
  last_event_id bigint not null,
  first_invoice_id bigint not null,
  happened_at timestamptz not null,
  recorded_at timestamptz not null default clock_timestamp(),
  actor text not null,
  records jsonb not null,
  primary key (account_id, first_event_id),
  check (last_event_id - first_event_id between 0 and 255),
  check (jsonb_array_length(records) in (1, last_event_id - first_event_id + 1))
);
create unique index issued_events_by_invoice on issued_events (account_id, first_invoice_id);
create index issued_events_by_time on issued_events (account_id, recorded_at);
select own_by_account('issued_events', 'select, insert');

/* Counts the blocks that are settled; of events also those that share a row. */
create or replace function seal_list(list_name text) returns integer language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  id_column text := id_column_of(list_name);
  until_id bigint := settled_below(list_name) / 4096 * 4096;
  from_id bigint;
  written integer;
  shared integer;
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
  if list_name = 'events' then
    insert into list_blocks as b (account_id, list, block, records)
      select a.account_id, list_name, r.block, r.records from accounts a cross join lateral (
        select id / 4096 as block, count(*) as records
          from issued_events s cross join lateral generate_series(greatest(s.first_event_id, from_id), least(s.last_event_id, until_id - 1)) as id
         where s.account_id = a.account_id and s.first_event_id > from_id - 256 and s.first_event_id < until_id group by 1) r
    on conflict (account_id, list, block) do update set records = b.records + excluded.records;
    get diagnostics shared = row_count;
    written := written + shared;
  end if;
  update list_watermarks set sealed_until = until_id where list = list_name;
  return written;
end $$;

create or replace function settle_updates(is_restored boolean, out until timestamptz, out floor timestamptz, out taken_at timestamptz)
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  here text := place_of_database();
  longest interval := interval '30 minutes';
begin
  taken_at := clock_timestamp();
  select u.since into floor from updates_floor u where u.place = here and not is_restored;
  if floor is null then
    insert into updates_floor as u values (taken_at, here)
      on conflict ((true)) do update set since = excluded.since, place = excluded.place returning u.since into floor;
  end if;
  if is_only_writing_server() then
    select min(case when l.pid is null then taken_at - longest
                    when a.pid is null then taken_at
                    when a.state is null or a.state = 'disabled' then taken_at - longest
                    else coalesce(a.xact_start, taken_at) end) into until
      from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'relation'
       and l.relation in ('perennial.events'::regclass, 'perennial.issued_events'::regclass, 'perennial.record_changes'::regclass)
       and l.mode = 'RowExclusiveLock' and l.pid is distinct from pg_backend_pid()
       and l.database = (select oid from pg_database where datname = current_database());
  else
    until := taken_at - longest;
  end if;
  until := date_trunc('milliseconds', least(until, taken_at));
end $$;
