-- The colour that pages and mails show of an account.
alter table accounts add column colour text check (colour ~ '^#[0-9a-f]{6}$');
