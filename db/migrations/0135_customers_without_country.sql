-- step by step
-- Customers with a Country in words that has no number: no tax rule with a place is theirs, and somebody has to find them.
do $$
begin
  set local lock_timeout = '500ms';
  -- Left over by a step that was broken off: it finds nothing.
  if exists (select 1 from pg_index where indexrelid = to_regclass('perennial.customers_without_country') and not indisvalid) then
    drop index customers_without_country;
  end if;
end $$;
-- then
create index concurrently if not exists customers_without_country on customers (account_id, customer_id) where country_id is null and country is not null;
-- then
-- The texts of all accounts that have no number, with how many customers have each; the most frequent ones where there are very many.
create or replace function list_countries_in_words() returns table (country text, customers bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return query select c.country, count(*) from customers c where c.country_id is null and c.country is not null
    group by c.country order by count(*) desc limit 10000;
end $$;
revoke all on function list_countries_in_words() from public;
grant execute on function list_countries_in_words() to perennial_app;
