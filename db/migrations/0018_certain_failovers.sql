-- least: 14
-- answers as before: moved_here, settle_failover, declare_loss
-- A failover is met, declared and looked at by what is known for certain: no clock of another server is compared, and no question is asked that the server
-- answers with an error.

alter table failovers add column settled_on text;
comment on column failovers.settled_on is 'The run of the server on which it was settled: a copy that was put back since then has another.';
alter table failover_notes add column closed_at timestamp with time zone;
comment on column failover_notes.closed_at is 'When its gateway was released, after somebody had looked, or its mail became Unknown. Null: neither.';
alter table failover_calls add column noted_at timestamp with time zone;
comment on column failover_calls.noted_at is 'When the process had done its part and went on to write: where something was lost, it has written down what it remembers.';

-- Tells this run of the server, with these tables, from any other: a copy that is put back starts its server anew, or makes its tables anew.
create function server_run()
  returns text language plpgsql stable set search_path = perennial, pg_temp as $$
begin
  return extract(epoch from pg_postmaster_start_time())::text || '/' || 'failovers'::regclass::oid::text;
end $$;

-- As before; a commit whose number nobody has here is lost, it tells how late a process calls, and it waits for no standby: it is called by each command and
-- under a lock, and what it writes is written again by whoever meets the next server.
create or replace function moved_here(process uuid, came_from integer, seen text, last_sent double precision, known_numbers jsonb, commits jsonb, patience_ms integer)
  returns jsonb language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
declare
  here_system text;
  here_timeline integer;
  met failovers;
  -- The end of the timeline that the process came from: a position or an instant of that one says nothing about the end of a later one.
  ended failovers;
  is_same boolean;
  own_loss boolean;
  lost jsonb;
  is_new boolean := false;
  waited_from timestamp with time zone;
  wait_ms double precision := 0;
  late_ms double precision;
begin
  perform set_config('synchronous_commit', 'local', true);
  begin
    select system_identifier::text into here_system from pg_control_system();
    here_timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer;
  exception when insufficient_privilege then return jsonb_build_object('isMove', false);
  end;
  perform pg_advisory_xact_lock(7305861200415);
  select * into met from failovers f where f.system = here_system order by f.timeline desc, f.failover_id desc limit 1;
  if met.failover_id is null or met.timeline < here_timeline then
    insert into failovers (system, timeline, from_timeline, met_at, replayed_to, replayed_at)
      values (here_system, here_timeline, greatest(met.timeline, came_from), clock_timestamp(), pg_last_wal_replay_lsn()::text,
        pg_last_xact_replay_timestamp())
      returning * into met;
    is_new := met.from_timeline is not null;
    delete from failover_calls c where c.failover_id in (select f.failover_id from failovers f where f.met_at < clock_timestamp() - interval '90 days');
  elsif met.timeline = here_timeline and met.from_timeline is null and came_from < here_timeline then
    -- Who met it first knew of none before: the rows of that one are lost with the rest.
    update failovers f set from_timeline = came_from, met_at = clock_timestamp() where f.failover_id = met.failover_id returning * into met;
    is_new := true;
  end if;
  if met.from_timeline is null or met.timeline <> here_timeline then
    return jsonb_build_object('isMove', false, 'system', here_system, 'timeline', here_timeline);
  end if;
  if is_new then perform skip_sequences(met.failover_id, 10000, 10); end if;
  insert into failover_calls (failover_id, process_id, called_at, is_moving, numbers)
    values (met.failover_id, process, clock_timestamp(), came_from is not null, coalesce(known_numbers, '[]')) on conflict do nothing;

  select * into ended from failovers f where f.system = here_system and f.timeline > came_from order by f.timeline, f.failover_id limit 1;
  -- A timeline in between that nobody met: where the one of this process ended, nobody knows.
  if ended.timeline > came_from + 1 then ended := null; end if;
  is_same := coalesce(ended.timeline = here_timeline, false);
  -- What a transaction wrote stands before its position. Where the log is here up to there, its number was given to no other, and its state is known.
  select coalesce(jsonb_agg(c.known ->> 0), '[]') into lost from jsonb_array_elements(commits) as c(known)
   where case when ended.replayed_to is null then false
              when (c.known ->> 1)::numeric >= ended.replayed_to::pg_lsn - '0/0' then true
              -- None with such a number has ended here yet, and of one that was never begun the server would not tell, but fail.
              when (c.known ->> 0)::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) then true
              else coalesce(pg_xact_status((c.known ->> 0)::xid8), 'committed') <> 'committed' end;
  own_loss := lost <> '[]'
    -- A number that callers have, and that the account here would give to the next document.
    or exists (select 1 from jsonb_array_elements(known_numbers) as n(known) join account_counters a on a.account_id = (n.known ->> 0)::bigint
                where a.next_invoice_number <= (n.known ->> 1)::bigint or a.next_credit_number <= (n.known ->> 2)::bigint)
    or (seen is not null or last_sent is not null)
    and (ended.failover_id is null or coalesce(seen::pg_lsn > ended.replayed_to::pg_lsn, false)
      or coalesce(last_sent > extract(epoch from ended.replayed_at) * 1000, false));
  update failovers f set is_lossy = f.is_lossy or own_loss,
         is_known = f.is_known or own_loss or (ended.replayed_to is not null and (seen is not null or last_sent is not null)),
         seen_to = case when is_same then greatest(f.seen_to::pg_lsn, seen::pg_lsn)::text else f.seen_to end
   where f.failover_id = met.failover_id returning * into met;

  -- Processes that worked on the server before know something; one that did not, as a command, must not use up their time.
  select min(c.called_at) into waited_from from failover_calls c where c.failover_id = met.failover_id and c.is_moving;
  if waited_from is null and met.met_at > clock_timestamp() - interval '60 seconds' then
    select c.called_at into waited_from from failover_calls c where c.failover_id = met.failover_id and c.process_id = process;
  end if;
  -- Who was live is judged by what this server has. Where that lacks something it may lack processes, too.
  if met.is_lossy or exists (
      select 1 from processes p where p.seen_at > coalesce(met.replayed_at - interval '60 seconds', clock_timestamp() - interval '1 day')
         and not exists (select 1 from failover_calls c where c.failover_id = met.failover_id and c.process_id = p.process_id)) then
    wait_ms := greatest(0, patience_ms - coalesce(extract(epoch from clock_timestamp() - waited_from) * 1000, patience_ms));
  end if;
  select greatest(0, extract(epoch from c.called_at - waited_from) * 1000) into late_ms from failover_calls c
   where c.failover_id = met.failover_id and c.process_id = process;
  return jsonb_build_object('isMove', true, 'isNew', is_new, 'id', met.failover_id::text, 'system', here_system, 'timeline', here_timeline, 'isLossy', met.is_lossy,
    'isOwnLoss', own_loss, 'isKnown', met.is_known, 'isSettled', met.settled_at is not null, 'replayedAtMs', extract(epoch from ended.replayed_at) * 1000,
    'replayedTo', ended.replayed_to::pg_lsn - '0/0', 'lost', lost,
    'bytesLost', case when met.is_lossy then greatest(0, met.seen_to::pg_lsn - met.replayed_to::pg_lsn) end, 'waitMs', wait_ms,
    'lateMs', coalesce(late_ms, 0));
end $$;

create or replace function settle_failover(failover bigint)
  returns void language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  update failovers set settled_at = coalesce(settled_at, clock_timestamp()), settled_on = coalesce(settled_on, server_run()) where failover_id = failover;
end $$;

-- Takes that a process has done its part. It waits for no standby, as the call before.
create function failover_noted(failover bigint, process uuid)
  returns void language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  perform set_config('synchronous_commit', 'local', true);
  update failover_calls c set noted_at = coalesce(c.noted_at, clock_timestamp()) where c.failover_id = failover and c.process_id = process;
end $$;

-- Tells whether a process that worked on the server before has called within so many milliseconds, and has not done its part yet.
create function failover_awaits_notes(failover bigint, patience_ms integer)
  returns boolean language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
begin
  return exists (select 1 from failover_calls c where c.failover_id = failover and c.is_moving and c.noted_at is null
                    and c.called_at > clock_timestamp() - make_interval(secs => patience_ms / 1000.0));
end $$;

-- Returns the newest failover, where writes wait for it: nobody has met it, what it lost is not settled, or processes that live have not done their part in
-- fifteen seconds. No row: none of these.
create function undecided_failover()
  returns table(timeline integer, before integer, is_met boolean, is_settled boolean, waiting text[])
  language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
declare
  here_system text;
  here_timeline integer;
  newest failovers;
  undone text[];
begin
  begin
    select system_identifier::text into here_system from pg_control_system();
    here_timeline := ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer;
  exception when insufficient_privilege then return;
  end;
  select * into newest from failovers f where f.system = here_system order by f.timeline desc, f.failover_id desc limit 1;
  if newest.timeline < here_timeline then
    return query select here_timeline, newest.timeline, false, false, '{}'::text[];
  elsif newest.from_timeline is null or newest.met_at > clock_timestamp() - interval '15 seconds' then
    return;
  end if;
  -- A loss that somebody declared is met by nobody.
  if newest.from_timeline < newest.timeline then
    select array_agg(p.kind || ' ' || p.host || ':' || p.pid order by p.host, p.pid) into undone from processes p
     where p.started_at < newest.met_at and p.seen_at > greatest(newest.met_at + interval '15 seconds', clock_timestamp() - interval '60 seconds')
       and p.schema >= 18
       and not exists (select 1 from failover_calls c where c.failover_id = newest.failover_id and c.process_id = p.process_id and c.noted_at is not null);
  end if;
  if newest.is_lossy and newest.settled_at is null or undone is not null then
    return query select newest.timeline, newest.from_timeline, true, not newest.is_lossy or newest.settled_at is not null, coalesce(undone, '{}');
  end if;
end $$;

-- Declares a loss that no process could tell. Rule: the newest failover is meant while it is open or of the last hour; else, and where a copy was put back
-- since it was settled, this is a loss of its own, of the present timeline, and what that failover did for sequences is used up. Returns it.
create or replace function declare_loss()
  returns bigint language plpgsql volatile security definer set search_path = perennial, pg_temp as $$
declare
  newest failovers;
begin
  perform pg_advisory_xact_lock(7305861200415);
  select * into newest from failovers f order by f.met_at desc, f.failover_id desc limit 1;
  -- A server that keeps its identity to itself is met by nobody.
  if newest.failover_id is null then
    insert into failovers (system, timeline, from_timeline, met_at, is_lossy)
      values ('unknown', 0, 0, clock_timestamp(), true) returning * into newest;
  elsif (newest.settled_at is not null or not newest.is_lossy) and greatest(newest.met_at, newest.settled_at) < clock_timestamp() - interval '1 hour'
      or newest.settled_on <> server_run() then
    insert into failovers (system, timeline, from_timeline, met_at, is_lossy)
      values (newest.system, newest.timeline, newest.timeline, clock_timestamp(), true) returning * into newest;
  else
    update failovers f set is_lossy = true, from_timeline = coalesce(f.from_timeline, f.timeline),
           met_at = case when f.from_timeline is null then clock_timestamp() else f.met_at end
     where f.failover_id = newest.failover_id;
  end if;
  return newest.failover_id;
end $$;

revoke all on function server_run, failover_noted, failover_awaits_notes, undecided_failover from public;
grant execute on function failover_noted, failover_awaits_notes, undecided_failover to perennial_app;
-- Whoever releases a gateway, or makes a mail Unknown, closes what is noted of it.
grant update on failover_notes to perennial_app;
