-- least: 14
-- answers as before: list_accounts_to_remind
-- Secret keys that a gateway does not accept, or has not answered about yet: no money moves meanwhile, and it is asked again. And when a gateway reported last,
-- and by which way.

alter table gateways add column key_state text, add column key_asks integer not null default 0, add column key_ask_at timestamp with time zone,
  add column key_ending text, add column reported_at timestamp with time zone, add column reported_by text;
comment on column gateways.key_state is 'refused: its secret key is not accepted, unanswered: nobody has said yet whether it is. Null: it is accepted, or there is none.';
comment on column gateways.key_asks is 'How often it was asked again about its key since then.';
comment on column gateways.reported_by is 'webhook: a request of the gateway, polling: it was asked.';

-- Lists the gateways that are to be asked about their keys, of all accounts.
create function list_gateway_keys_to_ask()
  returns table(account_id bigint, gateway_id bigint, key_state text, key_asks integer)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select g.account_id, g.gateway_id, g.key_state, g.key_asks from gateways g
     where g.key_state is not null and g.key_ask_at <= moment() order by g.key_ask_at limit 100;
end $$;

-- Lists the gateways with a secret key, of all accounts: for whoever looks after the service.
create function list_gateways_with_keys()
  returns table(account_id bigint, gateway_id bigint, type text, mode text, gateway_account text, key_state text,
    reported_at timestamp with time zone, reported_by text)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select g.account_id, g.gateway_id, g.type, a.mode, g.gateway_account, g.key_state, g.reported_at, g.reported_by
      from gateways g join accounts a on a.account_id = g.account_id
     where g.is_active and (g.key_ending is not null or g.gateway_account is not null)
     order by g.account_id, g.gateway_id limit 1000;
end $$;

revoke all on function list_gateway_keys_to_ask, list_gateways_with_keys from public;
grant execute on function list_gateway_keys_to_ask, list_gateways_with_keys to perennial_app;

-- As before, and where the key of a gateway is not accepted, whose tries wait, reminders do not wait for these.
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
       and (exists (select 1 from gateways g where g.account_id = a.account_id and (g.held_for is not null or g.key_state is not null))
         or not exists (select 1 from dunning d where d.account_id = a.account_id and d.due_on <= z.today
             and not exists (select 1 from collection_tries t
                   where t.account_id = a.account_id and t.invoice_id = d.invoice_id and t.state = 'open')))
     order by a.account_id limit 1000;
end $$;
