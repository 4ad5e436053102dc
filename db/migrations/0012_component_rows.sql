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
