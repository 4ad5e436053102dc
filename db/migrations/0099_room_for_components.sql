-- Components that a billing run moves stay on their pages, as states of billing do: no index is written then. It holds for pages that are filled from now on.
alter table subscription_components set (fillfactor = 60);
-- Null: what is invoiced is the one cycle that the row's own days and quantity say, or none for what is metered. A run then moves two days, and writes no document.
alter table subscription_components alter column invoiced drop not null;
