/* How often a run passed over a customer whom somebody held: only then it comes back to those of a day, and waits for them. */
alter table billing_runs add column passed_over bigint not null default 0;
