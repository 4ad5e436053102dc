-- Billing moves where components stand every cycle, and reads them with every invoice.
--
-- Half of every page free: a row that only moves finds room beside itself, and no index hears of it.
alter table subscription_components set (fillfactor = 50);

-- Kept as they are sent: nothing looks into them here, and text need not be taken apart and put together again.
alter table subscription_components
  alter column invoiced drop default,
  alter column owed drop default,
  alter column versions type json using versions::json,
  alter column invoiced type json using invoiced::json,
  alter column owed type json using owed::json,
  alter column invoiced set default '[]',
  alter column owed set default '[]';

-- A foreign key looks at, and locks, its row once for every report: docs/decisions/0005-bulk-tables-without-foreign-keys.md. Reports are
-- written by one function for a component that it has just read under the customer's lock; they still go with their component.
alter table usage_entries drop constraint usage_entries_account_id_subscription_id_component_id_fkey;

create function delete_usage_of_components() returns trigger
  language plpgsql set search_path = perennial as $$
begin
  delete from usage_entries u using deleted d
   where u.account_id = d.account_id and u.subscription_id = d.subscription_id and u.component_id = d.component_id;
  return null;
end $$;

create trigger subscription_components_deleted after delete on subscription_components referencing old table as deleted
  for each statement execute function delete_usage_of_components();
