-- A bank's reference is of the account that it booked on, whichever gateway the file was sent to. Those read before are of their gateway alone.
alter table bank_references add column of_account bytea;
alter table bank_references drop constraint bank_references_pkey, add primary key (account_id, reference, gateway_id);

-- Of two lines that are alike one may be without a reference of the bank; two with different ones are two entries.
alter table result_lines add column has_bank_reference boolean not null default true;
alter table result_lines alter column has_bank_reference drop default;
