-- Frozen reference tables for the floor of the billing run: the least that a renewal must leave behind, one row per invoice, charge, tax
-- and event. They do not follow the service's schema: a heavier schema must not make its own goal easier.
create schema floor;

create table floor.subscriptions (
  account_id bigint not null,
  subscription_id bigint not null,
  customer_id bigint not null,
  price_minor bigint not null,
  next_from date not null,
  due_on date not null,
  primary key (account_id, subscription_id)
) with (fillfactor = 70);
create index on floor.subscriptions (account_id, due_on, subscription_id);

create table floor.invoices (
  account_id bigint not null,
  invoice_id bigint not null,
  customer_id bigint not null,
  number bigint not null,
  currency text not null,
  invoice_date date not null,
  due_date date not null,
  total_minor bigint not null,
  primary key (account_id, invoice_id)
);
create unique index on floor.invoices (account_id, number);
create index on floor.invoices (account_id, customer_id, invoice_id);

create table floor.charges (
  account_id bigint not null,
  invoice_id bigint not null,
  line smallint not null,
  subscription_id bigint not null,
  kind text not null,
  name text not null,
  period_from date not null,
  period_until date not null,
  net_minor bigint not null,
  gross_minor bigint not null,
  primary key (account_id, invoice_id, line)
);

create table floor.taxes (
  account_id bigint not null,
  invoice_id bigint not null,
  line smallint not null,
  name text not null,
  rate numeric not null,
  base_minor bigint not null,
  amount_minor bigint not null,
  primary key (account_id, invoice_id, line)
);

create table floor.events (
  account_id bigint not null,
  event_id bigint not null,
  type text not null,
  record_id bigint not null,
  customer_id bigint not null,
  happened_at timestamptz not null,
  actor text not null,
  primary key (account_id, event_id)
);

-- Since the ledger: what is posted for an invoice, its revenue and its tax, found again by customer.
create table floor.entries (
  account_id bigint not null,
  entry_id bigint not null,
  customer_id bigint not null,
  record_id bigint not null,
  debit text not null,
  credit text not null,
  currency text not null,
  amount_minor bigint not null,
  dated date not null,
  primary key (account_id, entry_id)
);
create index on floor.entries (account_id, customer_id, entry_id);
