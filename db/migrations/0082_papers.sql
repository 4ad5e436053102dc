/*
 * What papers show: the day of the supply where a caller gave one (null: that of the invoice, or the days that its lines cover), and the texts
 * of an account by language.
 */
alter table invoices add column supply_date date;
alter table accounts add column texts jsonb;
