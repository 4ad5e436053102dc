-- Refunds through gateways: the intent is committed before the call, and its identifier is the gateway's key. Its amount is held of the payment
-- until the outcome is known. `next_ask_at` is of the account's clock.
create table payment_refunds (
  account_id bigint not null references accounts,
  refund_id bigint generated always as identity,
  payment_id bigint not null,
  customer_id bigint not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  state text not null check (state in ('open', 'succeeded', 'failed')),
  adjustment_id bigint,
  message text,
  -- The day of the outcome; of an open one the day it was begun.
  dated date not null,
  begun_at timestamptz not null,
  -- The last that the gateway answered: null while no answer of it is recorded.
  last_answer text check (last_answer in ('not_sent', 'unknown', 'pending')),
  asks integer not null default 0,
  next_ask_at timestamptz,
  primary key (account_id, refund_id),
  constraint payment_refunds_asked check ((state = 'open') = (next_ask_at is not null))
);
create index payment_refunds_of_payment on payment_refunds (account_id, payment_id, refund_id);
create index payment_refunds_to_ask on payment_refunds (account_id, next_ask_at) where next_ask_at is not null;
select own_by_account('payment_refunds', 'select, insert, update');
