/*
 * How often an account's packages were changed: names, prices and fees. A run that has read a price asks for nothing but this number, and reads the price again where
 * it is another one (decision 41).
 */
create table price_marks (
  account_id bigint primary key references accounts,
  changes bigint not null
);
select own_by_account('price_marks', 'select, insert, update');
