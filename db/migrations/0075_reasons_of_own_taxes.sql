-- Taxes of recurring invoices keep the code of their reason as those of invoices do.
alter table recurring_invoice_taxes add column reason_code text;
