/*
 * Why there is no tax: rules for groups of countries and for businesses or consumers, with the reason of what they leave untaxed; customers
 * that are exempt for a reason; and what each document froze of it. Every new column begins as null, so no row is written.
 */
alter table tax_rules
  -- The categories of EN 16931. Null: S above 0, Z at 0.
  add column category text check (category in ('S', 'Z', 'E', 'AE', 'K', 'G', 'O')),
  add column area text check (area in ('EU', 'nonEU')),
  add column applies_to text not null default 'all' check (applies_to in ('all', 'business', 'consumer')),
  -- A text for every language, or an object of texts by language.
  add column reason jsonb,
  -- VATEX. Null: that of the category.
  add column reason_code text,
  add column gl_code text,
  add column revenue_gl_code text,
  add column datev_key text,
  add constraint tax_rules_area check (area is null or country_id is null),
  drop constraint tax_rules_place_key,
  add constraint tax_rules_place_key unique nulls not distinct (account_id, tax_setting_id, country_id, country_state_id, area, applies_to)
    deferrable initially deferred;

alter table customers
  add column tax_category text check (tax_category in ('Z', 'E', 'AE', 'K', 'G', 'O')),
  add column tax_reason jsonb,
  add constraint customers_tax_category check (tax_category is null or is_waive_taxes),
  add constraint customers_tax_reason check (tax_reason is null or tax_category is not null);

alter table invoice_taxes
  -- Null: written by a caller, or of before it was kept.
  add column tax_rule_id bigint,
  -- Null: S above 0; at 0 not known. Without a check, which would read the whole table.
  add column category text,
  add column reason_code text,
  add column reason jsonb;

alter table recurring_invoice_taxes
  add column category text check (category in ('S', 'Z', 'E', 'AE', 'K', 'G', 'O')),
  add column reason jsonb;

-- Where the customer was, and his number, when the invoice was issued or the note made: they stay when he is made anonymous.
alter table invoices
  add column customer_country_id bigint,
  add column customer_state_id bigint,
  add column customer_vat_number text;
alter table negative_adjustments
  add column customer_country_id bigint,
  add column customer_state_id bigint,
  add column customer_vat_number text;

-- Invoices of before take the country that their frozen text names, a stretch at a time in the background.
create table invoice_places_to_find (
  account_id bigint not null references accounts,
  next_id bigint not null,
  last_id bigint not null,
  primary key (account_id)
);
select own_by_account('invoice_places_to_find', 'select, update, delete');
insert into invoice_places_to_find (account_id, next_id, last_id)
  select a.account_id, 0, i.invoice_id
    from accounts a
    cross join lateral (select invoice_id from invoices where account_id = a.account_id order by invoice_id desc limit 1) i;

create function list_accounts_with_places_to_find() returns table (account_id bigint)
  language plpgsql stable security definer set search_path = perennial, pg_temp as $$
#variable_conflict use_column
begin
  return query select p.account_id from invoice_places_to_find p order by p.account_id limit 1000;
end $$;
revoke all on function list_accounts_with_places_to_find() from public;
grant execute on function list_accounts_with_places_to_find() to perennial_app;
