/*
 * The one credit and the one return of a payment that its bank has booked, with the bank's day, so that the same booking in another file is
 * recognised. Of results that were read before, returns of received money are known; credits are not.
 */
create table payment_bookings (
  account_id bigint not null references accounts,
  payment_id bigint not null,
  is_credit boolean not null,
  booked_on date not null,
  -- The file that it was read in first; null of those that were read before this table was there.
  result_file_id bigint,
  -- It settled the payment, failed it or took its money back; else the ledger had that already.
  has_changed boolean not null,
  primary key (account_id, payment_id, is_credit),
  constraint payment_bookings_payment_fkey foreign key (account_id, payment_id) references payments
);
select own_by_account('payment_bookings', 'select, insert');
insert into payment_bookings (account_id, payment_id, is_credit, booked_on, has_changed)
select account_id, payment_id, false, returned_on, true from batch_lines where returned_source = 'file' and returned_on is not null;

-- How far the file has come within an entry and within a batch, for the case that it is read on after a crash.
alter table result_files
  -- The line after lines_done is about a whole batch and has begun, whether or not it has changed anything.
  add column is_line_started boolean not null default false,
  -- Batches of which a payment got the status of its block or file, before that status itself has been worked on.
  add column begun_batches bigint[] not null default '{}',
  -- Of the entry that the next line is in: what its parts of unknown amount were applied with, whether one was not, and whether all are known.
  add column entry_counted_minor bigint not null default 0,
  add column has_unknown_part boolean not null default false,
  add column is_entry_known boolean not null default true;

alter table result_lines
  -- Null of statuses, of entries whose direction cannot be read, and of lines that were read before.
  add column is_credit boolean,
  -- The amount of the entry that the line is a part of.
  add column entry_minor bigint,
  -- Keyed hash of all that two readings of one entry have in common but the day, its bank reference included.
  add column reference_likeness bytea,
  -- Hash of the entry with its bank reference, which a sum and its parts have in common; the line is the sum.
  add column entry_key bytea,
  add column is_sum boolean not null default false,
  -- A status, which keeps its payment, or all payments of this batch, from being settled by days.
  add column is_status boolean not null default false,
  add column batch_id bigint;
create index result_lines_of_batch on result_lines (account_id, batch_id) where batch_id is not null;
create index result_lines_same_as on result_lines (account_id, same_as) where same_as is not null;
