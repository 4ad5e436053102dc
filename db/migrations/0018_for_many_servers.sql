/*
 * What an engine that spreads accounts over servers asks of the schema: functions of the owner in plpgsql, whose statements it plans one by
 * one, and names of constraints that leave room for what it appends to them.
 */

create or replace function account_exists() returns boolean
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return exists (select 1 from accounts);
end $$;

create or replace function anonymise_events(customer bigint, neutral text) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  account bigint := current_setting('app.account_id');
  changed bigint;
begin
  update events e set record = anonymised_record(e.record, customer, neutral)
   where e.account_id = account and e.customer_id = customer
     and jsonb_path_exists(e.record, '$.**.customerID ? (@ == $id)', jsonb_build_object('id', customer));
  get diagnostics changed = row_count;
  return changed;
end $$;

create or replace function delete_old_billing_runs(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from billing_runs where finished_at < before_instant;
  get diagnostics gone = row_count;
  return gone;
end $$;

create or replace function delete_old_idempotency_keys(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from idempotency_keys where created_at < before_instant;
  get diagnostics gone = row_count;
  return gone;
end $$;

create or replace function list_accounts_to_schedule(zones text[], days date[]) returns table (account_id bigint, today date)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id, z.today from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
     where a.clock_at is null and (a.scheduled_on is null or a.scheduled_on < z.today)
     order by a.account_id;
end $$;

create or replace function list_accounts_to_verify(since timestamptz, at_instant timestamptz) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id from accounts a left join verifications v on v.account_id = a.account_id
     where (v.finished_at is null or v.finished_at < since) and (v.leased_until is null or v.leased_until < at_instant)
     order by v.finished_at nulls first, a.account_id limit 100;
end $$;

create or replace function list_all_accounts()
  returns table (account_id bigint, name text, mode text, currency text, time_zone text, clock_at timestamptz, created_at timestamptz)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id, a.name, a.mode, a.currency, a.time_zone, a.clock_at, a.created_at from accounts a order by a.account_id;
end $$;

create or replace function list_schedule_zones() returns table (time_zone text)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query select distinct a.time_zone from accounts a where a.clock_at is null;
end $$;

create or replace function list_unfinished_runs(at_instant timestamptz) returns table (account_id bigint, billing_run_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select r.account_id, r.billing_run_id from billing_runs r
     where r.finished_at is null and (r.leased_until is null or r.leased_until < at_instant)
     order by r.created_at limit 100;
end $$;

create or replace function verification_state() returns table (differences bigint, oldest timestamptz)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query select coalesce(sum(v.differences), 0)::bigint, min(v.finished_at) from verifications v;
end $$;

create or replace function service_figures(zones text[], days date[], at_instant timestamptz, count_max integer)
  returns table (name text, label text, value double precision)
  language plpgsql stable security definer set search_path = perennial, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
  return query
    with unfinished as (
      select cause, done, total, created_at, started_at, coalesce(leased_until >= at_instant, false) as is_held
        from billing_runs where finished_at is null),
    current_accounts as (
      select a.account_id, a.scheduled_on, z.today from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
       where a.clock_at is null)
    select 'runs', case when is_held then 'working' else 'waiting' end, count(*)::double precision from unfinished group by 2
    union all select 'run_records_done', cause, sum(done) from unfinished group by cause
    union all select 'run_records_total', cause, sum(total) from unfinished group by cause
    union all select 'run_records_per_second', cause, sum(done / greatest(extract(epoch from at_instant - started_at), 1))
      from unfinished where is_held and started_at is not null group by cause
    union all select 'run_oldest_seconds', '', greatest(extract(epoch from at_instant - min(created_at)), 0) from unfinished
      having count(*) > 0
    union all (select 'run_finished_at', 'any', extract(epoch from finished_at) from billing_runs
      where finished_at is not null order by finished_at desc limit 1)
    union all (select 'run_finished_at', 'without_failures', extract(epoch from finished_at) from billing_runs
      where finished_at is not null and failed = 0 order by finished_at desc limit 1)
    union all select 'due', 'subscription', count(*) from (
      select 1 from current_accounts a cross join lateral (
        select 1 from subscription_billing b where b.account_id = a.account_id and b.due_on <= a.today
           and (select c.paused_on is null from customers c where c.account_id = b.account_id and c.customer_id = b.customer_id)
         limit count_max) as due
       limit count_max) as found
    union all select 'due', 'recurring_invoice', count(*) from (
      select 1 from current_accounts a cross join lateral (
        select 1 from recurring_invoices r where r.account_id = a.account_id and r.due_on <= a.today
           and (select c.paused_on is null from customers c where c.account_id = r.account_id and c.customer_id = r.customer_id)
         limit count_max) as due
       limit count_max) as found
    union all select 'accounts_to_schedule', '', count(*) from current_accounts where scheduled_on is null or scheduled_on < today
    union all select 'mails', status, count(*) from (select status from outbox where status <> 'sent' limit count_max) as found group by status
    union all select 'mail_oldest_seconds', '', greatest(extract(epoch from at_instant - min(next_try_at)), 0) from outbox
      where next_try_at is not null having count(*) > 0;
end $$;

-- Fifty characters at most.
alter table billing_run_failures rename constraint billing_run_failures_account_id_billing_run_id_fkey to billing_run_failures_run_fkey;
alter table component_brackets rename constraint component_brackets_account_id_component_version_currency_i_fkey to component_brackets_currency_fkey;
alter table component_version_currencies rename constraint component_version_currencies_account_id_component_version__fkey to component_version_currencies_version_fkey;
alter table component_version_currencies rename constraint component_version_currencies_account_id_currency_fkey to component_version_currencies_currency_fkey;
alter table recurring_invoice_charges rename constraint recurring_invoice_charges_account_id_recurring_invoice_id_fkey to recurring_invoice_charges_record_fkey;
alter table recurring_invoice_taxes rename constraint recurring_invoice_taxes_account_id_recurring_invoice_id_fkey to recurring_invoice_taxes_record_fkey;
alter table subscription_billing rename constraint subscription_billing_account_id_subscription_id_fkey to subscription_billing_subscription_fkey;
alter table subscription_components rename constraint subscription_components_account_id_component_id_fkey to subscription_components_component_fkey;
alter table subscription_components rename constraint subscription_components_account_id_component_version_id_fkey to subscription_components_version_fkey;
alter table subscription_components rename constraint subscription_components_account_id_pending_component_versi_fkey to subscription_components_pending_version_fkey;
alter table subscription_components rename constraint subscription_components_account_id_subscription_id_fkey to subscription_components_subscription_fkey;
alter table subscriptions rename constraint subscriptions_account_id_pending_package_rate_term_id_fkey to subscriptions_pending_rate_term_fkey;
alter table subscriptions rename constraint subscriptions_account_id_pending_package_version_id_fkey to subscriptions_pending_version_fkey;
alter table tax_rules rename constraint tax_rules_account_id_tax_setting_id_country_id_country_stat_key to tax_rules_place_key;
alter table usage_cycles rename constraint usage_cycles_account_id_subscription_id_component_id_fkey to usage_cycles_component_fkey;

-- From PostgreSQL 18 on "not null" is a constraint with a name, made of table and column.
do $$
declare
  long record;
begin
  for long in select n.conname, n.conrelid::regclass as of_table, c.relname, n.conkey[1] as place from pg_constraint n join pg_class c on c.oid = n.conrelid
               where n.connamespace = 'perennial'::regnamespace and n.contype::text = 'n' and length(n.conname) > 50
  loop
    execute format('alter table %s rename constraint %I to %I', long.of_table, long.conname,
      left(long.relname, 36) || '_' || long.place || '_not_null');
  end loop;
end $$;
