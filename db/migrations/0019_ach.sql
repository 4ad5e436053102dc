-- step by step
-- least: 14
-- What NACHA files need to be written again byte for byte and to be found by their returns: the place of a file among those of its gateway and day, and
-- the trace of each debit, and the company of each file, which the Settings may change. Lines of result files that correct an account, lines that were filled up, and the return rates that were told.

alter table payment_batches add column if not exists file_day date, add column if not exists file_of_day smallint,
  add column if not exists sent_company text;
-- then
alter table batch_lines add column if not exists sent_trace text;
-- then
create index concurrently if not exists batch_lines_of_trace on batch_lines (account_id, sent_trace, payment_id) where sent_trace is not null;
-- then
alter table result_files add column if not exists lines_padded integer;
-- then
alter table result_lines add column if not exists is_change boolean not null default false;
-- then
alter table gateways add column if not exists return_rates_told jsonb;
