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

-- What is written by the million is checked against the account's setting once a statement, not once a row: a subselect without a reference
-- to the row is computed once. Reading stays as it was.
do $$
declare
  name text;
begin
  foreach name in array array['invoices', 'charges', 'invoice_taxes', 'events', 'customer_totals', 'subscription_billing', 'subscription_components',
    'usage_cycles', 'usage_entries']
  loop
    execute format('alter policy account on perennial.%I with check (account_id = (select current_setting(''app.account_id'')::bigint))', name);
  end loop;
end $$;
