/* The ledger by day: reports read the sums of days instead of their entries. */
create table ledger_days (
  account_id bigint not null,
  dated date not null,
  currency text not null,
  debit text not null,
  credit text not null,
  tax_name text,
  amount_minor bigint not null
);
create unique index ledger_days_key on ledger_days (account_id, dated, currency, debit, credit, tax_name) nulls not distinct;
select own_by_account('ledger_days', 'select');

-- One row at most: entries below it are summed. A table of its own, so that the marks of lists move while days are summed.
create table ledger_days_mark (
  summed_until bigint not null
);
create unique index ledger_days_mark_once on ledger_days_mark ((true));
alter table ledger_days_mark enable row level security;

create function ledger_summed_below() returns bigint language plpgsql stable security definer set search_path = perennial, pg_temp as $$
begin
  return coalesce((select summed_until from ledger_days_mark), 0);
end $$;

-- Sums whole blocks of identifiers, as lists count theirs, some hundred of them at a time. No writer waits: below the mark of the list nothing can be
-- posted any more, and nobody else writes the sums.
create function sum_ledger_days() returns integer language plpgsql security definer set search_path = perennial, pg_temp as $$
declare
  until_id bigint := (select settled_until from list_watermarks where list = 'ledger_entries') / 4096 * 4096;
  from_id bigint;
  written integer;
begin
  if not exists (select 1 from ledger_days_mark) then insert into ledger_days_mark values (0) on conflict do nothing; end if;
  select summed_until into from_id from ledger_days_mark for update skip locked;
  if not found or until_id is null or until_id <= from_id then return 0; end if;
  until_id := least(until_id, from_id + 256 * 4096);
  insert into ledger_days as d (account_id, dated, currency, debit, credit, tax_name, amount_minor)
    select a.account_id, e.dated, e.currency, e.debit, e.credit, e.tax_name, e.amount
      from accounts a cross join lateral (
        select dated, currency, debit, credit, tax_name, sum(amount_minor) as amount from ledger_entries
         where account_id = a.account_id and entry_id >= from_id and entry_id < until_id
         group by dated, currency, debit, credit, tax_name) e
  on conflict (account_id, dated, currency, debit, credit, tax_name) do update set amount_minor = d.amount_minor + excluded.amount_minor;
  get diagnostics written = row_count;
  update ledger_days_mark set summed_until = until_id;
  return greatest(written, 1);
end $$;
revoke all on function ledger_summed_below(), sum_ledger_days() from public;
grant execute on function ledger_summed_below(), sum_ledger_days() to perennial_app;
