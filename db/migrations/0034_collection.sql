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
