-- Reads of a part of a long table find it, instead of going through all that an account has.

create index events_by_type on events (account_id, type, event_id);

-- Few invoices are cancelled, and every tax report looks for them.
create index invoices_cancelled on invoices (account_id, cancelled_on) where cancelled_on is not null;
