-- Rows that every billing run updates stay on their pages where these have room for a second version: no index is written then, and half of the log.
-- It holds for pages that are filled from now on; those of before get it as their rows move.
alter table customer_totals set (fillfactor = 60);
alter table subscription_billing set (fillfactor = 50);
