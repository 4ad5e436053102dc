-- least: 14
-- answers as before: hold_live_gateways, list_long_operations
-- Functions that work across accounts, as an engine that spreads these over servers runs them: no write asks a volatile function for its time, and no statement
-- about tables of accounts reads the views of the server beside them, which such an engine would read with the rights of the caller.

create or replace function hold_live_gateways(reason text)
  returns bigint language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  held bigint;
begin
  update gateways g set held_for = reason, held_at = moment() from accounts a
   where a.account_id = g.account_id and a.mode = 'live' and g.held_for is null;
  get diagnostics held = row_count;
  return held;
end $$;

create or replace function list_long_operations()
  returns table(account_id bigint, kind text, about text, state text, begun_at timestamp with time zone, seconds double precision, done bigint,
    total bigint, process text) language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
declare
  backups jsonb;
begin
  select jsonb_agg(jsonb_build_object('begun_at', a.backend_start, 'done', p.backup_streamed, 'total', p.backup_total,
           'process', substr(a.application_name, length('perennial backup ') + 1))) into backups
    from pg_stat_activity a left join pg_stat_progress_basebackup p on p.pid = a.pid
   where a.application_name like 'perennial backup %';
  return query
    with held as (
      select l.* from leases l
       where l.kind is not null and l.leased_until > moment() and l.leased_until <= moment(interval '30 seconds' + '10 minutes')),
    unfinished as (
      select r.*, (r.leased_until is not null and r.leased_until > moment() and r.leased_until <= moment(interval '30 seconds' + '10 minutes')) as is_held
        from billing_runs r where r.finished_at is null),
    found as (
      select h.account_id, h.kind,
             case when h.kind = 'clock' then (select max(u.billing_run_id)::text from unfinished u where u.account_id = h.account_id and u.cause = 'clock')
                  else h.about end as about,
             h.state, h.begun_at, h.done, h.total, h.process
        from held h where h.kind <> 'billing_run'
      union all
      select u.account_id, 'billing_run', u.billing_run_id::text, case when u.is_held then 'running' else 'waiting' end,
             case when u.is_held then coalesce(u.started_at, u.created_at) else u.created_at end, u.done::bigint, u.total::bigint,
             (select string_agg(distinct h.process, ', ') from held h
               where h.account_id = u.account_id and h.kind = 'billing_run' and h.about = u.billing_run_id::text)
        from unfinished u
       where not (u.cause = 'clock' and exists (select 1 from held h where h.account_id = u.account_id and h.kind = 'clock'))
      union all
      select null, 'backup', null, 'running', b.begun_at, b.done, b.total, b.process
        from jsonb_to_recordset(backups) as b(begun_at timestamp with time zone, done bigint, total bigint, process text))
    select f.account_id, f.kind, f.about, f.state, f.begun_at, greatest(extract(epoch from clock_timestamp() - f.begun_at), 0)::double precision,
           f.done, f.total, f.process
      from found f order by f.state, f.begun_at, f.account_id;
end $$;
