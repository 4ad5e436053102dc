/*
 * A long operation is a lease that also holds what it is: what kind, whether it waits for its place or runs, since when, how far it is, and in which
 * process. Everybody who asks sees the operations of all processes, and those of a process that died are gone when their lease has lapsed.
 */
alter table leases
  add kind text,
  add state text,
  add about text,
  add begun_at timestamptz,
  add done bigint,
  add total bigint,
  add process text,
  add constraint leases_kind check (kind in ('clock', 'export', 'bank_file', 'billing_run', 'verification')),
  add constraint leases_state check (state in ('waiting', 'running')),
  add constraint leases_facts check ((kind is null) = (state is null) and (kind is null) = (begun_at is null) and (kind is null) = (process is null));

/*
 * All long operations of all accounts. A billing run is known by its own row; its leases say which processes work on it, and a run that nobody works
 * on waits. A run of a clock that is being moved is part of that move. A backup is known by its connection, which names itself, and has no account.
 */
create function list_long_operations()
  returns table (account_id bigint, kind text, about text, state text, begun_at timestamptz, seconds double precision, done bigint, total bigint, process text)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    with held as (
      select l.* from leases l
       where l.kind is not null and l.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds'),
    unfinished as (
      select r.*, coalesce(r.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false) as is_held
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
      select null, 'backup', null, 'running', a.backend_start, p.backup_streamed, p.backup_total, substr(a.application_name, length('perennial backup ') + 1)
        from pg_stat_activity a left join pg_stat_progress_basebackup p on p.pid = a.pid
       where a.application_name like 'perennial backup %')
    select f.account_id, f.kind, f.about, f.state, f.begun_at, greatest(extract(epoch from clock_timestamp() - f.begun_at), 0)::double precision,
           f.done, f.total, f.process
      from found f order by f.state, f.begun_at, f.account_id;
end $$;
revoke all on function list_long_operations() from public;
grant execute on function list_long_operations() to perennial_app;
