/*
 * The tables that PostgreSQL plans for as if they were nearly empty: with 500 rows and never analyzed, or with ten times as many as when they were. It looks
 * at a table itself a minute later at the earliest, and plans badly until then. Rows of a table that was never analyzed are counted, because what
 * the server notes of its writers comes seconds late and is forgotten where it dies.
 */
create function list_young_tables() returns table (name text)
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  known record;
  has_many boolean;
begin
  for known in
    select c.relname::text as of_name, c.reltuples, greatest(c.relpages, 1) as pages_known, coalesce(pg_stat_get_live_tuples(c.oid), 0) as noted,
           pg_relation_size(c.oid) / current_setting('block_size')::bigint as pages
      from pg_class c where c.relnamespace = 'perennial'::regnamespace and c.relkind = 'r' order by c.relname
  loop
    -- A page takes 291 rows at most.
    if known.reltuples <= 0 and known.pages < 2 then
      has_many := false;
    elsif known.reltuples <= 0 and known.pages < 1000 then
      execute format('select count(*) >= 500 from (select from %I limit 500) counted', known.of_name) into has_many;
    elsif known.reltuples <= 0 then
      has_many := known.reltuples < 0 or known.noted >= 500;
    else
      has_many := known.noted >= 10 * known.reltuples or known.pages >= 10 * known.pages_known;
    end if;
    if has_many then
      return query select known.of_name;
    end if;
  end loop;
end $$;
revoke all on function list_young_tables() from public;
grant execute on function list_young_tables() to perennial_app;
