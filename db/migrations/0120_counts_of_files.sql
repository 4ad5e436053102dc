-- What else is counted of a file; null of those that were read before.
alter table result_files
  -- Different payments that it changed.
  add column payments integer,
  -- Statements of other accounts, which were passed over.
  add column other_accounts integer,
  -- Entries without a status, which were passed over.
  add column status_missing integer;
