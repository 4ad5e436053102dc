-- A charge that the customer made himself, and that his bank wants him to confirm.
alter table collection_tries add column awaits_customer boolean not null default false;
