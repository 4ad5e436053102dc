-- step by step
-- Due mail is looked for account by account, in outbox_due_of_account.
set local lock_timeout = '500ms';
drop index if exists outbox_due;
