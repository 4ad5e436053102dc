/*
 * What lists are filtered by. Columns that most records leave empty, and what billing writes by the million, are indexed where they say something only.
 */
create index customers_by_vat_number on customers (account_id, vat_number, customer_id) where vat_number is not null;
create index customers_by_country on customers (account_id, country_id, customer_id) where country_id is not null;
create index customers_by_currency on customers (account_id, currency, customer_id);

/* A reference of the caller's own; there is none that the service would make. */
alter table subscriptions add column reference text;
create unique index subscriptions_reference_key on subscriptions (account_id, reference) where reference is not null;
create index subscriptions_by_package on subscriptions (account_id, package_id, subscription_id);

create index invoices_by_currency on invoices (account_id, currency, invoice_id);
create index invoices_by_po_number on invoices (account_id, po_number, invoice_id) where po_number is not null;
create index invoices_written_off on invoices (account_id, invoice_id) where written_off_minor > 0;

create index payments_by_ref on payments (account_id, ref, payment_id) where ref is not null;
create index payments_by_method on payments (account_id, method, payment_id);
create index payments_by_currency on payments (account_id, currency, payment_id);

create index negative_adjustments_by_kind on negative_adjustments (account_id, kind, negative_adjustment_id);
create index negative_adjustments_by_currency on negative_adjustments (account_id, currency, negative_adjustment_id);
create index negative_adjustments_by_ref on negative_adjustments (account_id, ref, negative_adjustment_id) where ref is not null;
create index positive_adjustments_by_kind on positive_adjustments (account_id, kind, positive_adjustment_id);
create index positive_adjustments_by_ref on positive_adjustments (account_id, ref, positive_adjustment_id) where ref is not null;

create index outbox_by_status on outbox (account_id, status, outbox_id) where status <> 'sent';

/* Entries of what does not happen with every invoice and payment; those are found soon wherever a list begins. */
create index ledger_entries_of_rare_events on ledger_entries (account_id, event, entry_id)
  where event not in ('invoice_issued', 'payment_recorded', 'allocation_made');

/* Events by their record. Those of issued invoices, of which a billing run writes millions, are found by the invoice's customer. */
create index events_by_record on events (account_id, record_id, event_id) where type <> 'invoice.issued';
