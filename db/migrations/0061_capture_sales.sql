-- Sessions of the capture widget with a sale: the card that is entered is charged at once.
alter table capture_sessions
  add column sale_type text not null default 'VaultOnly' check (sale_type in ('VaultOnly', 'VaultSale', 'SaleOnly')),
  add column is_vault_only_on_success boolean not null default false,
  -- In minor units of the currency; 0 without a sale.
  add column amount_minor bigint not null default 0,
  -- The newest sale of the session.
  add column charge_id bigint,
  -- The gateway has refused for good to give the charge back: a person has to look.
  add column give_back_refused_at timestamptz,
  add constraint capture_sessions_amount check ((amount_minor > 0) = (sale_type <> 'VaultOnly'));

-- A sale alone keeps no method.
alter table capture_sessions drop constraint capture_sessions_check;
alter table capture_sessions add constraint capture_sessions_method
  check ((captured_at is not null and sale_type <> 'SaleOnly') = (payment_method_id is not null));

/*
 * Sales: what a gateway is asked to charge in a session, written before it is asked. The identifier is the gateway's key of the charge. It is
 * drawn from those of payments, so that no payment has the same; the payment that it becomes has its own, because lists of payments are counted
 * by blocks of identifiers that get no late ones.
 */
create table capture_sales (
  account_id bigint not null references accounts,
  charge_id bigint not null default nextval('payments_payment_id_seq'),
  capture_session_id bigint not null,
  gateway_id bigint not null,
  currency text not null,
  amount_minor bigint not null check (amount_minor > 0),
  -- The card, sealed, until it is kept in the session or removed.
  method bytea,
  -- By the account's clock.
  begun_at timestamptz not null,
  state text not null check (state in ('open', 'charged', 'declined', 'not_made')),
  charged_on date,
  gateway_reference text,
  -- The customer's bank wants a confirmation: until when of real time it is waited for, and where it is given.
  confirm_by timestamptz,
  confirm_url text,
  -- The gateway gave no answer to a call that may have arrived.
  was_unanswered boolean not null default false,
  -- The refund of a charge that nobody has taken over: the gateway's key of it, from those of refunds, and what became of it.
  refund_id bigint,
  refund_state text check (refund_state in ('open', 'made', 'refused')),
  -- Real time: who is at it, and when the gateway is asked next; null once nothing is to be asked.
  leased_until timestamptz,
  asks integer not null default 0,
  next_ask_at timestamptz,
  primary key (account_id, charge_id),
  foreign key (account_id, capture_session_id) references capture_sessions on delete cascade,
  check ((state = 'charged') = (charged_on is not null)),
  check ((refund_id is null) = (refund_state is null)),
  check ((next_ask_at is not null) = (state = 'open' or coalesce(refund_state = 'open', false)))
);
create index capture_sales_of_session on capture_sales (account_id, capture_session_id);
create unique index capture_sales_open on capture_sales (account_id, capture_session_id) where state = 'open';
create index capture_sales_to_ask on capture_sales (next_ask_at) where next_ask_at is not null;
select own_by_account('capture_sales', 'select, insert, update');
select sealed_column('capture_sales', 'method');

-- 100 at a look: those who look come again at once while there are more.
create or replace function list_capture_sessions_to_give_back(real_now timestamptz) returns table (account_id bigint, capture_session_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select s.account_id, s.capture_session_id from capture_sessions s join accounts a on a.account_id = s.account_id
     where s.captured_at is not null and s.completed_at is null and s.given_back_at is null and s.give_back_refused_at is null
       and s.give_back_at <= coalesce(a.clock_at, real_now)
       and not exists (select 1 from capture_sales c
                        where c.account_id = s.account_id and c.charge_id = s.charge_id and c.refund_state = 'open')
     order by s.give_back_at limit 100;
end $$;

create function list_capture_sales_to_ask() returns table (account_id bigint, charge_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select account_id, charge_id from capture_sales
     where next_ask_at <= clock_timestamp()
       and not coalesce(leased_until between clock_timestamp() and clock_timestamp() + interval '2 minutes', false)
     order by next_ask_at limit 100;
end $$;
revoke all on function list_capture_sales_to_ask() from public;
grant execute on function list_capture_sales_to_ask() to perennial_app;

create or replace function delete_old_capture_sessions(before_instant timestamptz) returns bigint
  language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  gone bigint;
begin
  delete from capture_sessions s where s.written_at < before_instant
    and (s.captured_at is null or s.completed_at is not null or s.given_back_at is not null)
    and not exists (select 1 from capture_sales c
                     where c.account_id = s.account_id and c.capture_session_id = s.capture_session_id and c.next_ask_at is not null);
  get diagnostics gone = row_count;
  return gone;
end $$;
