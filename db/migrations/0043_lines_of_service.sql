/*
 * Tries by lines of batches: nobody asks a gateway about them, their batches bring the results. A try by card that has taken the place of a
 * line keeps that line, so that it can be made again.
 */
alter table collection_tries add column is_line boolean not null default false;
alter table collection_tries add column replaced jsonb;
-- A line that leaves its batch before that is submitted has never been a try.
grant delete on collection_tries to perennial_app;

-- A payment that goes, because other money took its place, takes its try along.
alter table collection_tries add foreign key (account_id, payment_id) references payments on delete cascade;

-- The day of the debit whose event was written because nobody had submitted the batch.
alter table payment_batches add column warned_for date;
create index payment_batches_of_service on payment_batches (account_id, batch_id) where is_service_made and state = 'open';

/*
 * Bank accounts are debited from now on. What fell due on them before is left to people: it is not tried, and no step of it comes. What falls due
 * later is looked at now, because it enters its batch some days ahead.
 */
alter table accounts add column debits_since date not null default '0001-01-01';
update accounts set debits_since = (coalesce(clock_at, now()) at time zone time_zone)::date;

delete from dunning d using invoices i, accounts a
 where i.account_id = d.account_id and i.invoice_id = d.invoice_id and a.account_id = d.account_id
   and i.collection_method = 'debit_order' and i.due_date < a.debits_since
   and not exists (select 1 from collection_tries t where t.account_id = d.account_id and t.invoice_id = d.invoice_id and t.state = 'open');

update dunning d set due_on = a.debits_since
  from invoices i, accounts a
 where i.account_id = d.account_id and i.invoice_id = d.invoice_id and a.account_id = d.account_id
   and i.collection_method = 'debit_order' and i.cancelled_at is null and d.due_on > a.debits_since;

-- Accounts on real time with something to collect on their day, with tries whose outcome is to be asked for, or with batches that the service made.
create or replace function list_accounts_to_collect(zones text[], days date[]) returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select a.account_id from accounts a join unnest(zones, days) as z(zone, today) on z.zone = a.time_zone
     where a.clock_at is null
       and (exists (select 1 from dunning d where d.account_id = a.account_id and d.due_on <= z.today)
         or exists (select 1 from collection_tries t where t.account_id = a.account_id and t.state = 'open' and not t.is_line
              and not coalesce(t.leased_until between clock_timestamp() and clock_timestamp() + interval '30 seconds', false)
              and not coalesce(t.next_try_at between clock_timestamp() and clock_timestamp() + interval '1 hour', false))
         or exists (select 1 from payment_batches b where b.account_id = a.account_id and b.is_service_made and b.state = 'open'))
    -- Customers come back where the clock stands, too: it follows from a commit.
    union select c.account_id from customers c where c.is_suspended_by_rule and c.archived_at is null
     limit 1000;
end $$;

-- The next try of an invoice is a line that waits in a batch: its day stands though the line covers the invoice.
alter table invoices add column has_line boolean not null default false;
