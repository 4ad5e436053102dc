-- step by step
/*
 * Mails with invoices keep the facts of which they are made, as JSON, and are composed where they are read or sent (decision 41). A mail that was offered to a server has its texts
 * from then on, as mails of before and those of other templates have from the first.
 */
set local lock_timeout = '500ms';
alter table outbox
  add column if not exists facts text,
  alter column subject drop not null,
  alter column text_body drop not null,
  alter column html_body drop not null,
  drop constraint if exists outbox_texts,
  add constraint outbox_texts check (num_nulls(subject, text_body, html_body) = case when facts is null then 0 else 3 end) not valid;
-- then
alter table outbox validate constraint outbox_texts;
-- then
-- Counts by status walk the index of an account's mail that is not sent, which has the same rows.
drop index concurrently if exists outbox_unsent;
