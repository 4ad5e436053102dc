-- least: 14
-- answers as before: hold_live_gateways
-- From when on a gateway that is held may have moved money that this database does not know of: its reports are read from then on before it is released.

alter table gateways add column held_from timestamp with time zone;
comment on column gateways.held_from is 'When it was last asked for its reports before it was held, by real time: in a restored copy no later than the copy. Null: it is not held.';

create or replace function hold_live_gateways(reason text)
  returns bigint language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  held bigint;
begin
  update gateways g set held_for = reason, held_at = moment(), held_from = coalesce(g.reports_asked_at, g.reports_since, g.created_at) from accounts a
   where a.account_id = g.account_id and a.mode = 'live' and g.held_for is null;
  get diagnostics held = row_count;
  return held;
end $$;
