-- Rows of these are written by many transactions of an account at a time, or by the run: each locked the account's row for its foreign key, which
-- together they shared (decision 5). What they belong to is written with them: an invoice, a payment, a mail's customer, a card of the book.
alter table dunning drop constraint dunning_account_id_fkey;
alter table outbox drop constraint outbox_account_id_fkey;
alter table collection_tries drop constraint collection_tries_account_id_fkey;
alter table batch_lines drop constraint batch_lines_account_id_fkey;
alter table sandbox_charges drop constraint sandbox_charges_account_id_fkey;
