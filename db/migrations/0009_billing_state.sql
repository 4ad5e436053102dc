-- Where billing of a subscription stands, in a narrow row of its own: docs/decisions/0008-billing-state-in-a-narrow-table.md.
--
-- A renewal changes these days and nothing else. In the wide row each of them wrote everything that a subscription is once more, and an
-- entry in each of its indexes.
create table subscription_billing (
  account_id bigint not null,
  subscription_id bigint not null,
  -- Its subscription's, which never changes: the run walks what is due in the order of customers.
  customer_id bigint not null,
  -- The start of the next and of the newest invoiced period, and the day of fees not yet charged.
  next_from date not null,
  last_from date,
  fees_on date,
  last_invoice_date date,
  -- The next day on which the run has something to do; null when nothing will follow.
  due_on date,
  -- Half of every index page free too: a renewal writes an entry beside the one that it takes the place of.
  primary key (account_id, subscription_id) with (fillfactor = 60),
  foreign key (account_id, subscription_id) references subscriptions on delete cascade
) with (fillfactor = 60);

insert into subscription_billing (account_id, subscription_id, customer_id, next_from, last_from, fees_on, last_invoice_date, due_on)
  select account_id, subscription_id, customer_id, next_from, last_from, fees_on, last_invoice_date, due_on
    from subscriptions order by account_id, subscription_id;

create index subscription_billing_due on subscription_billing (account_id, due_on, customer_id, subscription_id) where due_on is not null;

-- With it goes subscriptions_due, the index.
alter table subscriptions
  drop column next_from,
  drop column last_from,
  drop column fees_on,
  drop column last_invoice_date,
  drop column due_on;
alter table subscriptions reset (fillfactor);

alter table subscription_billing enable row level security;
create policy account on subscription_billing to perennial_app
  using (account_id = current_setting('app.account_id')::bigint)
  with check (account_id = current_setting('app.account_id')::bigint);
grant select, insert, update, delete on subscription_billing to perennial_app;

/* As in 0007, but for where due days now are. */
create or replace function service_figures(zones text[], days date[], at_instant timestamptz, count_max integer)
  returns table (name text, label text, value double precision)
  language sql stable security definer set search_path = perennial
  -- Mostly nothing is due: each account is to be looked up in its index, and what is due there in its customer. Any other plan reads
  -- every subscription or every customer there is; joins, which could be turned round, are avoided for the same reason.
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
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
    where next_try_at is not null having count(*) > 0
$$;
