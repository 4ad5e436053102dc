-- The hold of a gateway: no money moves through it until somebody has looked. It is set where records of money may be missing, or by hand.

alter table gateways add column held_for text;
alter table gateways add column held_at timestamp with time zone;
alter table gateways add column released_at timestamp with time zone;
alter table gateways add constraint gateways_held_for_check check (held_for in ('restore', 'import', 'failover', 'by_hand'));
comment on column gateways.held_for is 'Why no money moves through the gateway; null where it does.';
comment on column gateways.released_at is 'When the last hold ended: what waited for that has its time from then on.';

-- Holds every gateway of a live account; one that is held already keeps its reason. Returns how many it held.
create function hold_live_gateways(reason text)
  returns bigint language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  held bigint;
begin
  update gateways g set held_for = reason, held_at = clock_timestamp() from accounts a
   where a.account_id = g.account_id and a.mode = 'live' and g.held_for is null;
  get diagnostics held = row_count;
  return held;
end $$;

create function list_held_gateways()
  returns table(account_id bigint, gateway_id bigint, type text, held_for text, held_at timestamp with time zone)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return query select g.account_id, g.gateway_id, g.type, g.held_for, g.held_at from gateways g
   where g.held_for is not null order by g.account_id, g.gateway_id;
end $$;

revoke all on function hold_live_gateways, list_held_gateways from public;
grant execute on function hold_live_gateways, list_held_gateways to perennial_app;

-- As before, and where a gateway is held, whose tries wait, reminders do not wait for these.
create or replace function list_accounts_to_remind(zones text[], days date[])
  returns table(account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
      join collection_rules r on r.account_id = a.account_id and r.reminders @> '[{"isActive": true}]'
      left join reminder_passes p on p.account_id = a.account_id
     where a.clock_at is null and (p.account_id is null or p.passed_on < z.today or p.reminders <> r.reminders)
       and a.scheduled_on >= z.today
       and not exists (select 1 from billing_runs b where b.account_id = a.account_id and b.finished_at is null)
       and (exists (select 1 from gateways g where g.account_id = a.account_id and g.held_for is not null)
         or not exists (select 1 from dunning d where d.account_id = a.account_id and d.due_on <= z.today
             and not exists (select 1 from collection_tries t
                   where t.account_id = a.account_id and t.invoice_id = d.invoice_id and t.state = 'open')))
     order by a.account_id limit 1000;
end $$;
