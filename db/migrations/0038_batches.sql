/*
 * Batches: debits of bank accounts that go to a gateway together, on one day. A line is a payment that waits for its result; its amount and what
 * it pays are the payment's and are not written here. A batch keeps the token of its gateway, which may be deleted when the batch is completed.
 */
create table payment_batches (
  account_id bigint not null references accounts,
  batch_id bigint generated always as identity,
  token uuid not null default gen_random_uuid(),
  gateway_id bigint not null,
  gateway_token uuid not null,
  currency text not null,
  action_date date not null,
  state text not null default 'open' check (state in ('open', 'build', 'failed', 'submitted', 'completed', 'cancelled')),
  build_error text,
  notes text,
  -- Made by the service, which fills and moves only such.
  is_service_made boolean not null default false,
  moves smallint not null default 0,
  created_at timestamptz not null,
  submitted_at timestamptz,
  -- The key that submitted it; 0 where the service did.
  submitted_by bigint,
  -- Waits in state build until another key releases it.
  needs_release boolean not null default false,
  released_at timestamptz,
  -- What went to the gateway: it never changes afterwards.
  sent_count integer,
  sent_minor bigint,
  sealed_file bytea,
  file_name text,
  file_type text,
  file_sha256 bytea,
  downloaded_on date,
  leased_until timestamptz,
  attempts integer not null default 0,
  next_try_at timestamptz,
  finished_at timestamptz,
  primary key (account_id, batch_id),
  constraint payment_batches_by_token unique (account_id, token),
  check ((state in ('submitted', 'completed')) = (sent_count is not null)),
  check ((build_error is not null) = (state = 'failed'))
);
create index payment_batches_to_build on payment_batches (account_id, batch_id) where state = 'build';
create index payment_batches_open on payment_batches (account_id, gateway_id, currency, action_date) where state = 'open';
create index payment_batches_with_file on payment_batches (action_date) where sealed_file is not null;
select own_by_account('payment_batches', 'select, insert, update');
select sealed_column('payment_batches', 'sealed_file');

create table batch_lines (
  account_id bigint not null references accounts,
  payment_id bigint not null,
  batch_id bigint not null,
  customer_id bigint not null,
  payment_method_id bigint not null,
  -- The service's until a caller changes its amount, method or allocations.
  is_service_made boolean not null default false,
  -- The day of the debit that the newest notice to the payer names; null: there was none.
  announced_on date,
  -- The account and mandate that the batch was built with.
  sent_number_hash bytea,
  sent_mandate text,
  result text check (result in ('success', 'failed')),
  result_on date,
  result_class text,
  result_code text,
  result_reason text,
  result_source text check (result_source in ('gateway', 'file', 'hand')),
  -- Money lost again after it was received.
  returned_on date,
  returned_class text,
  returned_code text,
  returned_reason text,
  returned_source text check (returned_source in ('gateway', 'file', 'hand')),
  primary key (account_id, payment_id),
  check ((result is null) = (result_on is null) and (result is null) = (result_source is null)),
  check ((returned_on is null) = (returned_source is null) and (returned_on is null or result = 'success'))
);
create index batch_lines_of_batch on batch_lines (account_id, batch_id, payment_id);
create index batch_lines_of_customer on batch_lines (account_id, customer_id);
create index batch_lines_of_method on batch_lines (account_id, payment_method_id);
create index batch_lines_of_mandate on batch_lines (account_id, sent_mandate, payment_id) where sent_mandate is not null;
select own_by_account('batch_lines', 'select, insert, update, delete');

-- Invoices that a line was to pay when its batch was submitted: each counts it as a try.
create table batch_line_invoices (
  account_id bigint not null references accounts,
  invoice_id bigint not null,
  payment_id bigint not null,
  amount_minor bigint not null check (amount_minor > 0),
  primary key (account_id, invoice_id, payment_id)
);
create index batch_line_invoices_of_line on batch_line_invoices (account_id, payment_id);
select own_by_account('batch_line_invoices', 'select, insert');
grant usage on all sequences in schema perennial to perennial_app;
