/*
 * Sessions of the capture widget end by the clock of their account or by real time, whichever comes first: in a test account whose clock stands still
 * a form was open for ever. The end of capturing; once captured, that of the time in which a customer can have it. Null for sessions from before.
 */
alter table capture_sessions add column really_ends_at timestamptz;

create or replace function list_capture_sessions_to_give_back(real_now timestamptz) returns table (account_id bigint, capture_session_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select s.account_id, s.capture_session_id from capture_sessions s join accounts a on a.account_id = s.account_id
     where s.captured_at is not null and s.completed_at is null and s.given_back_at is null and s.give_back_refused_at is null
       and (s.give_back_at <= coalesce(a.clock_at, real_now) or s.really_ends_at <= now())
       and not exists (select 1 from capture_sales c
                        where c.account_id = s.account_id and c.charge_id = s.charge_id and c.refund_state = 'open')
     order by s.give_back_at limit 100;
end $$;
