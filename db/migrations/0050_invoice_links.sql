-- How often the link of an invoice's page was revoked: it is a part of the link.
alter table invoices add column link_counter integer not null default 0;
