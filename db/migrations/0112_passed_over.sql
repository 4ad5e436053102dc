-- step by step
/* How often a run passed over a customer whom somebody held: only then it comes back to those of a day, and waits for them. */
set local lock_timeout = '500ms';
alter table billing_runs add column if not exists passed_over bigint not null default 0;
