-- least: 14
-- Gateways are asked for their reports, so that nothing is missed where no request of theirs arrives.

alter table gateways add column report_cursor text, add column reports_asked_at timestamp with time zone;
comment on column gateways.report_cursor is 'How far the reports of the gateway were read, in its own words. Null: not at all yet.';

-- Lists active gateways of some types whose reports were not asked for in the last five minutes, of accounts that follow real time.
create function list_gateways_to_poll(types text[])
  returns table(account_id bigint, gateway_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select g.account_id, g.gateway_id from gateways g join accounts a on a.account_id = g.account_id
     where g.is_active and a.clock_at is null and g.type = any(types)
       and (g.reports_asked_at is null or g.reports_asked_at <= moment('-5 minutes') or g.reports_asked_at > moment('10 minutes'))
     order by g.reports_asked_at nulls first limit 100;
end $$;
revoke all on function list_gateways_to_poll from public;
grant execute on function list_gateways_to_poll to perennial_app;
