/*
 * The rules by which unpaid invoices are collected. An account without a row has the rules that the program starts with, so that they can
 * still be bettered for those who never chose any.
 */
create table collection_rules (
  account_id bigint primary key references accounts,
  attempts jsonb not null,
  reminders jsonb not null,
  -- The day from which actions run for invoices that nobody tries; null while they do not.
  untried_since date
);
select own_by_account('collection_rules', 'select, insert, update');

-- Kept out of collection by itself, whatever its customer is.
alter table invoices add column is_collection_hold boolean not null default false;

/*
 * How far the dunning of each invoice has come that somebody may be asked for: one row from its issue on, narrow, because each step writes it.
 * Invoices issued before this version have one only where they fall due from now on, so that no older one is charged for having been open.
 */
create table dunning (
  account_id bigint not null references accounts,
  invoice_id bigint not null,
  customer_id bigint not null,
  -- The day on which something may come by itself; null while only an event can bring it.
  due_on date,
  newest_step smallint,
  counted_from date not null,
  not_before date,
  extra_on date,
  is_extra_for_method boolean not null default false,
  pending_actions text[],
  pending_on date,
  was_tried boolean not null default false,
  was_unknown boolean not null default false,
  is_stopped boolean not null default false,
  is_untried boolean not null default false,
  is_settled boolean not null default false,
  primary key (account_id, invoice_id)
);
create index dunning_due on dunning (account_id, due_on, customer_id) where due_on is not null;
create index dunning_by_customer on dunning (account_id, customer_id);
select own_by_account('dunning', 'select, insert, update, delete');

-- What fell due before is left to people.
alter table accounts add column collects_since date not null default '0001-01-01';
update accounts set collects_since = (coalesce(clock_at, now()) at time zone time_zone)::date;

-- Cards only: bank accounts cannot be debited yet, and what fell due on them before they can is old.
insert into dunning (account_id, invoice_id, customer_id, due_on, counted_from)
  select i.account_id, i.invoice_id, i.customer_id, i.due_date, i.due_date
    from invoices i join accounts a on a.account_id = i.account_id
   where i.issued_at is not null and i.cancelled_at is null and i.collection_method in ('credit_card', 'debit_order')
     and i.total_minor > i.paid_minor + i.negative_minor
     and i.due_date >= a.collects_since;

-- Suspended by a step of the rules, not by hand: such a customer comes back by paying.
alter table customers add column is_suspended_by_rule boolean not null default false;
create index customers_suspended_by_rule on customers (account_id) where is_suspended_by_rule;

/*
 * Tries: what is asked of a gateway, written before it is asked, with the payment that it will be. The payment's identifier is the key by which
 * the gateway knows the charge, so that a try that is made twice is one charge.
 */
create table collection_tries (
  account_id bigint not null references accounts,
  payment_id bigint not null,
  invoice_id bigint not null,
  customer_id bigint not null,
  gateway_id bigint not null,
  payment_method_id bigint not null,
  currency text not null,
  amount_minor bigint not null check (amount_minor > 0),
  -- The step it was made as, with its action; null for one that is none.
  step smallint,
  action text,
  is_extra boolean not null,
  is_by_hand boolean not null,
  begun_on date not null,
  begun_at timestamptz not null,
  state text not null default 'open' check (state in ('open', 'succeeded', 'declined', 'returned', 'not_sent')),
  class text,
  code text,
  message text,
  known_on date,
  -- A call was about to be made: the gateway may know of it.
  was_called boolean not null default false,
  -- The gateway gave no answer in time.
  was_unanswered boolean not null default false,
  leased_until timestamptz,
  attempts integer not null default 0,
  next_try_at timestamptz,
  finished_at timestamptz,
  primary key (account_id, payment_id),
  check ((state = 'open') = (finished_at is null))
);
create unique index collection_tries_open on collection_tries (account_id, invoice_id) where state = 'open';
create index collection_tries_by_invoice on collection_tries (account_id, invoice_id, payment_id);
select own_by_account('collection_tries', 'select, insert, update');

-- Accounts on real time with something to collect on their day, or with tries whose outcome is to be asked for.
create function list_accounts_to_collect(zones text[], days date[]) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
     where a.clock_at is null
       and (exists (select 1 from dunning d where d.account_id = a.account_id and d.due_on <= z.today)
         or exists (select 1 from collection_tries t where t.account_id = a.account_id and t.state = 'open'
              and not coalesce(t.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
              and not coalesce(t.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false)))
    -- Customers come back where the clock stands, too: it follows from a commit.
    union select c.account_id from customers c where c.is_suspended_by_rule and c.archived_at is null
     limit 1000;
end $$;
revoke all on function list_accounts_to_collect(text[], date[]) from public;
grant execute on function list_accounts_to_collect(text[], date[]) to perennial_app;
