-- Hash of the account number that a mandate was given for: while no debit has named another to the bank, it is the one that the bank knows.
alter table payment_methods add column mandate_number_hash bytea;
update payment_methods set mandate_number_hash = number_hash where mandate_reference is not null;
