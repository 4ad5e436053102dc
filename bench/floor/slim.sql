-- Frozen reference tables for the slim floor of the billing run: the least that anybody could leave behind of a renewal, one row an invoice
-- with three indexes, and state and total of whom it is for, changed in place. They do not follow the service's schema.
create schema floor;

create table floor.invoices (
  account_id bigint not null,
  invoice_id bigint not null,
  customer_id bigint not null,
  number bigint not null,
  shape_id bigint not null,
  invoice_date date not null,
  due_date date not null,
  total_minor bigint not null,
  primary key (account_id, invoice_id)
);
create unique index on floor.invoices (account_id, number);
create index on floor.invoices (account_id, customer_id, invoice_id);

-- Room in each page for its rows once more, and no index on what moves.
create table floor.states (
  account_id bigint not null,
  subscription_id bigint not null,
  customer_id bigint not null,
  next_from date not null,
  last_from date not null,
  primary key (account_id, subscription_id)
) with (fillfactor = 45);

create table floor.totals (
  account_id bigint not null,
  customer_id bigint not null,
  receivable_minor bigint not null,
  primary key (account_id, customer_id)
) with (fillfactor = 45);
