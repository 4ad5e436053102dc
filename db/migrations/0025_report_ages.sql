-- least: 14
-- How long ago the reports of gateways were read to their end, for metrics; and from when on, by real time, a new gateway has any.

alter table gateways add column reports_since timestamp with time zone, add column reports_read_at timestamp with time zone;
comment on column gateways.reports_since is 'When the gateway was made, by real time. Null: a row from before, which has that in created_at, by the clock of its account.';
comment on column gateways.reports_read_at is 'When its reports were last read to their end, or first asked for. Null: it is not enabled.';

-- Lists by type how long ago the reports of the gateway that waits longest were read, in seconds, of accounts that follow real time.
create function list_gateway_report_ages(types text[])
  returns table(type text, seconds double precision)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select g.type, max(extract(epoch from clock_timestamp() - g.reports_read_at))::double precision
      from gateways g join accounts a on a.account_id = g.account_id
     where g.is_active and a.clock_at is null and g.reports_read_at is not null and g.type = any(types)
     group by g.type;
end $$;
revoke all on function list_gateway_report_ages from public;
grant execute on function list_gateway_report_ages to perennial_app;
