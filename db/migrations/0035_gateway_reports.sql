/*
 * Reports of gateways: that something of a charge, a refund or a stored card is other than it was. Each is kept once under the identifier that its
 * gateway gave it, and is only a reason to ask that gateway. Instants are real time, by the database's clock.
 */
create table gateway_reports (
  account_id bigint not null references accounts,
  gateway_report_id bigint generated always as identity,
  gateway_id bigint not null,
  -- The gateway's own name of the report.
  external_id text not null,
  about text not null check (about in ('charge', 'refund', 'stored')),
  reference text not null,
  received_at timestamptz not null,
  leased_until timestamptz,
  attempts integer not null default 0,
  next_try_at timestamptz,
  finished_at timestamptz,
  -- Why it could not be applied; null: it was, or it waits.
  reason text,
  primary key (account_id, gateway_report_id),
  constraint gateway_reports_gateway_fkey foreign key (account_id, gateway_id) references gateways on delete cascade,
  constraint gateway_reports_once unique (account_id, gateway_id, external_id),
  check (reason is null or finished_at is not null)
);
create index gateway_reports_waiting on gateway_reports (account_id, gateway_report_id) where finished_at is null;
create index gateway_reports_by_age on gateway_reports (received_at);
select own_by_account('gateway_reports', 'select, insert, update');

-- What befell a charge after its outcome was known, each applied once: it stays as long as the payments do.
create table charge_changes (
  account_id bigint not null references accounts,
  charge_change_id bigint generated always as identity,
  gateway_id bigint not null,
  kind text not null check (kind in ('late_success', 'returned', 'disputed', 'dispute_won')),
  -- The gateway's own name of the change; of a late success that of the charge.
  reference text not null,
  charge_id bigint not null,
  -- The payment that was failed, or whose money came back; null where nothing was left to be failed.
  payment_id bigint,
  primary key (account_id, gateway_id, kind, reference)
);
create index charge_changes_of_charge on charge_changes (account_id, gateway_id, charge_id, charge_change_id);
select own_by_account('charge_changes', 'select, insert');
grant usage on all sequences in schema perennial to perennial_app;

create index sandbox_reports_unsent on sandbox_reports (due_on) where sent_at is null;

create function find_gateway_by_token(gateway_token uuid) returns table (account_id bigint, gateway_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query select g.account_id, g.gateway_id from gateways g where g.token = gateway_token;
end $$;
revoke all on function find_gateway_by_token(uuid) from public;
grant execute on function find_gateway_by_token(uuid) to perennial_app;

-- 20 of an account and 100 in all at a look; of accounts whose clock stands none: what moves the clock applies theirs.
create function list_waiting_gateway_reports() returns table (account_id bigint, gateway_report_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select w.account_id, w.gateway_report_id from (
      select r.account_id, r.gateway_report_id, row_number() over (partition by r.account_id order by r.gateway_report_id) as turn
        from gateway_reports r join accounts a on a.account_id = r.account_id
       where r.finished_at is null and a.clock_at is null
         and not coalesce(r.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
         and not coalesce(r.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)) as w
     where w.turn <= 20 order by w.turn, w.account_id limit 100;
end $$;
revoke all on function list_waiting_gateway_reports() from public;
grant execute on function list_waiting_gateway_reports() to perennial_app;

create function delete_old_gateway_reports(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from gateway_reports where received_at < before_instant;
  get diagnostics gone = row_count;
  return gone;
end $$;
revoke all on function delete_old_gateway_reports(timestamptz) from public;
grant execute on function delete_old_gateway_reports(timestamptz) to perennial_app;

-- Accounts on real time whose sandbox has something to report on their own day.
create function list_accounts_with_sandbox_reports(at_instant timestamptz) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select distinct r.account_id from sandbox_reports r join accounts a on a.account_id = r.account_id
     where r.sent_at is null and a.clock_at is null and r.due_on <= (at_instant at time zone a.time_zone)::date
     limit 100;
end $$;
revoke all on function list_accounts_with_sandbox_reports(timestamptz) from public;
grant execute on function list_accounts_with_sandbox_reports(timestamptz) to perennial_app;

-- Accounts on real time with an open refund whose gateway is to be asked by an instant.
create function list_accounts_with_refunds_to_ask(at_instant timestamptz) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select distinct r.account_id from payment_refunds r join accounts a on a.account_id = r.account_id
     where r.next_ask_at <= at_instant and a.clock_at is null
     limit 100;
end $$;
revoke all on function list_accounts_with_refunds_to_ask(timestamptz) from public;
grant execute on function list_accounts_with_refunds_to_ask(timestamptz) to perennial_app;
