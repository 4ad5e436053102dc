-- The kinds of reminders that a customer does not want.
alter table customers add column stopped_reminders text[] not null default '{}';

/*
 * Reminders that went out: one row a document, kind and the day it is about. A day that is over is never reminded of again, so its rows are
 * deleted, and the table holds no more than the reminders of days to come. The day stands first behind the account for that.
 */
create table reminders_sent (
  account_id bigint not null references accounts,
  about date not null,
  kind text not null,
  document text not null check (document in ('subscription', 'recurring_invoice', 'payment_method', 'invoice')),
  document_id bigint not null,
  customer_id bigint not null,
  sent_on date not null,
  primary key (account_id, about, kind, document, document_id)
);
select own_by_account('reminders_sent', 'select, insert, delete');

-- The last day whose reminders went out, and by which rules; where the rules have changed since, the day is passed again.
create table reminder_passes (
  account_id bigint primary key references accounts,
  passed_on date not null,
  reminders jsonb not null
);
select own_by_account('reminder_passes', 'select, insert, update');

-- The days that reminders are about. Those of renewals are found by subscription_billing_due, the ends of subscriptions by subscriptions_ending.
create index subscriptions_trial_ends on subscriptions (account_id, trial_end_date, customer_id)
  where trial_end_date is not null and cancelled_on is null;
create index recurring_invoices_ends on recurring_invoices (account_id, end_date, customer_id)
  where end_date is not null and cancelled_on is null;
-- A block range index: invoices are written by date, and it costs their writers nothing.
create index invoices_due on invoices using brin (account_id, due_date) with (autosummarize = on);

-- The last day of the month until which a card can be used.
alter table payment_methods add column expires_on date
  generated always as ((make_date(expiry_year, expiry_month, 1) + interval '1 month' - interval '1 day')::date) stored;
create index payment_methods_expiring on payment_methods (account_id, expires_on, customer_id) where is_primary and expires_on is not null;

/*
 * Accounts on real time whose reminders of the day are to go out: after the run of the day and the tries of what is due. Those that wait for
 * the answer of a gateway hold nothing up.
 */
create function list_accounts_to_remind(zones text[], days date[]) returns table (account_id bigint)
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
       and not exists (select 1 from dunning d where d.account_id = a.account_id and d.due_on <= z.today
             and not exists (select 1 from collection_tries t
                   where t.account_id = a.account_id and t.invoice_id = d.invoice_id and t.state = 'open'))
     order by a.account_id limit 1000;
end $$;
revoke all on function list_accounts_to_remind(text[], date[]) from public;
grant execute on function list_accounts_to_remind(text[], date[]) to perennial_app;
