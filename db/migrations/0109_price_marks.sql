-- step by step
/*
 * How often an account's packages were changed: names, prices and fees. A run that has read a price asks for nothing but this number, and reads the price again where
 * it is another one (decision 41).
 */
do $$
begin
  set local lock_timeout = '500ms';
  if to_regclass('perennial.price_marks') is null then
    create table price_marks (
      account_id bigint primary key references accounts,
      changes bigint not null
    );
    perform own_by_account('price_marks', 'select, insert, update');
  end if;
end $$;
