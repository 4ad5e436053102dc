/* Codes of an accountant's chart: of packages, components and customers, as of tax rules, and of the ledger accounts of an account. */
alter table packages add column gl_code text;
alter table components add column gl_code text;
alter table customers add column gl_code text;

create table gl_codes (
  account_id bigint primary key references accounts,
  accounts jsonb not null,
  debtor text,
  methods jsonb not null,
  datev jsonb not null
);
select own_by_account('gl_codes', 'select, insert, update');
