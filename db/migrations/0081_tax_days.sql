/*
 * What invoices were taxed on, by day: the report of taxes reads the sums of days instead of their invoices. An invoice is summed with the entry of its
 * revenue; one without has a net amount of 0, and so no tax.
 */
create table tax_days (
  account_id bigint not null,
  dated date not null,
  currency text not null,
  name text,
  rate numeric,
  tax_number text,
  category text,
  country_id bigint,
  state_id bigint,
  base_minor bigint not null,
  output_minor bigint not null
);
create unique index tax_days_key on tax_days (account_id, dated, currency, name, rate, tax_number, category, country_id, state_id)
  nulls not distinct;
select own_by_account('tax_days', 'select');

-- Both sums have one mark, so all is summed again.
truncate ledger_days;
update ledger_days_mark set summed_until = 0;

create or replace function sum_ledger_days() returns integer language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  until_id bigint := (select settled_until from list_watermarks where list = 'ledger_entries') / 4096 * 4096;
  from_id bigint;
  written integer;
begin
  if not exists (select 1 from ledger_days_mark) then insert into ledger_days_mark values (0) on conflict do nothing; end if;
  select summed_until into from_id from ledger_days_mark for update skip locked;
  if not found or until_id is null or until_id <= from_id then return 0; end if;
  -- Old invoices are still to be given the countries of their customers.
  if exists (select 1 from invoice_places_to_find) then return 0; end if;
  until_id := least(until_id, from_id + 256 * 4096);
  insert into ledger_days as d (account_id, dated, currency, debit, credit, tax_name, amount_minor)
    select a.account_id, e.dated, e.currency, e.debit, e.credit, e.tax_name, e.amount
      from accounts a cross join lateral (
        select dated, currency, debit, credit, tax_name, sum(amount_minor) as amount from ledger_entries
         where account_id = a.account_id and entry_id >= from_id and entry_id < until_id
         group by dated, currency, debit, credit, tax_name) e
  on conflict (account_id, dated, currency, debit, credit, tax_name) do update set amount_minor = d.amount_minor + excluded.amount_minor;
  get diagnostics written = row_count;
  insert into tax_days as d (account_id, dated, currency, name, rate, tax_number, category, country_id, state_id, base_minor, output_minor)
    select a.account_id, c.*
      from accounts a cross join lateral (
        select i.invoice_date, i.currency, t.name, t.rate, t.tax_number, coalesce(t.category, case when t.rate > 0 then 'S' end) as category,
               i.customer_country_id, i.customer_state_id, sum(coalesce(t.base_minor, i.total_minor)), sum(coalesce(t.amount_minor, 0))
          from ledger_entries e
          join invoices i on i.account_id = a.account_id and i.invoice_id = e.record_id
          left join invoice_taxes t on t.account_id = a.account_id and t.invoice_id = e.record_id
         where e.account_id = a.account_id and e.entry_id >= from_id and e.entry_id < until_id and e.event = 'invoice_issued' and e.tax_name is null
         group by 1, 2, 3, 4, 5, 6, 7, 8) c
  on conflict (account_id, dated, currency, name, rate, tax_number, category, country_id, state_id)
    do update set base_minor = d.base_minor + excluded.base_minor, output_minor = d.output_minor + excluded.output_minor;
  update ledger_days_mark set summed_until = until_id;
  return greatest(written, 1);
end $$;
