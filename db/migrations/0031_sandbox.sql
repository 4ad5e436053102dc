/*
 * The book of the sandbox, a simulated gateway of test accounts: what it stored, charged and gave back, as a gateway outside would know it. It is
 * written by statements that are committed for themselves, never in a transaction of the service. Card numbers are not in it.
 */
create table sandbox_cards (
  account_id bigint not null references accounts,
  gateway_id bigint not null,
  token text not null,
  -- Of the request that stored it; the same request again stores nothing twice.
  reference text not null,
  -- The word for how the sandbox treats this card, by its number.
  conduct text not null,
  fingerprint text not null,
  brand text not null,
  last_four text not null,
  expiry_year integer not null,
  expiry_month integer not null,
  stored_at timestamptz not null,
  removed_at timestamptz,
  primary key (account_id, gateway_id, token),
  constraint sandbox_cards_by_reference unique (account_id, gateway_id, reference)
);
select own_by_account('sandbox_cards', 'select, insert, update');

create table sandbox_charges (
  account_id bigint not null references accounts,
  gateway_id bigint not null,
  reference text not null,
  token text not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency_code text not null,
  state text not null check (state in ('succeeded', 'declined', 'requires_action', 'lost', 'cancelled')),
  is_customer_present boolean not null,
  code text,
  charged_on date not null,
  -- Until then nobody learns what became of it.
  known_from timestamptz,
  returned_on date,
  returned_minor bigint,
  won_on date,
  primary key (account_id, gateway_id, reference)
);
create index sandbox_charges_of_card on sandbox_charges (account_id, gateway_id, token);
select own_by_account('sandbox_charges', 'select, insert, update');

create table sandbox_refunds (
  account_id bigint not null references accounts,
  gateway_id bigint not null,
  reference text not null,
  charge_reference text not null,
  amount_minor bigint not null check (amount_minor > 0),
  state text not null check (state in ('succeeded', 'declined')),
  refunded_on date not null,
  code text,
  settles_on date,
  fails_on date,
  primary key (account_id, gateway_id, reference)
);
create index sandbox_refunds_of_charge on sandbox_refunds (account_id, gateway_id, charge_reference);
select own_by_account('sandbox_refunds', 'select, insert, update');

-- Reports that the sandbox owes the service: that something about a charge, a refund or a card is other than it was.
create table sandbox_reports (
  account_id bigint not null references accounts,
  gateway_id bigint not null,
  sandbox_report_id bigint generated always as identity,
  report_type text not null,
  reference text not null,
  due_on date not null,
  sent_at timestamptz,
  primary key (account_id, sandbox_report_id)
);
create index sandbox_reports_due on sandbox_reports (account_id, due_on, sandbox_report_id) where sent_at is null;
select own_by_account('sandbox_reports', 'select, insert, update');
