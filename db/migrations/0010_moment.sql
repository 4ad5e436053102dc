-- least: 6
-- The moment at which a statement is executed, or so much before or after it. It stands for clock_timestamp(), which an engine that spreads accounts over
-- servers does not let writes ask: a stable function is asked once where the statement arrives, and the server of the account is sent what it returned.
create function moment(after interval default '0')
  returns timestamp with time zone language plpgsql stable as $$
begin
  return clock_timestamp() + after;
end $$;
revoke all on function moment from public;
grant execute on function moment to perennial_app;

-- Functions of the owner call a lease held and a wait not over as the service does: up to ten minutes beyond the longest that it can be when it is written
-- (src/platform/database/lease.ts).
do $$
declare
  changed record;
  body text;
  done integer := 0;
begin
  for changed in select p.oid, pg_get_functiondef(p.oid) as definition from pg_proc p
                  where p.pronamespace = 'perennial'::regnamespace and p.prosrc ~ '(leased_until|next_try_at) between clock_timestamp' loop
    body := regexp_replace(changed.definition, $re$not coalesce\((\w+\.\w+) between clock_timestamp\(\) and clock_timestamp\(\) \+ interval '([^']+)', false\)$re$,
      $re$(\1 is null or \1 <= moment() or \1 > moment(interval '\2' + '10 minutes'))$re$, 'g');
    body := regexp_replace(body, $re$coalesce\(([\w.]+) between clock_timestamp\(\) and clock_timestamp\(\) \+ interval '([^']+)', false\)$re$,
      $re$(\1 is not null and \1 > moment() and \1 <= moment(interval '\2' + '10 minutes'))$re$, 'g');
    body := regexp_replace(body, $re$(\w+\.\w+) between clock_timestamp\(\) and clock_timestamp\(\) \+ interval '([^']+)'$re$,
      $re$\1 > moment() and \1 <= moment(interval '\2' + '10 minutes')$re$, 'g');
    execute body;
    done := done + 1;
  end loop;
  if done <> 11 then raise exception '% functions know leases, and not 11', done; end if;
end $$;

-- Intents are held as leases are.
create or replace function list_abandoned_card_intents()
  returns table(account_id bigint, card_intent_id bigint) language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select i.account_id, i.card_intent_id from card_intents i
     where i.closed_at is null and (i.held_until <= moment() or i.held_until > moment(interval '5 minutes' + '10 minutes'))
       and (not i.is_keyed or i.created_at < moment('-24 hours'))
     order by i.created_at limit 100;
end $$;
