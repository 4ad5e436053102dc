-- step by step
-- least: 14
-- Money that was refunded at a gateway's console is booked: as a refund of its payment, as a change of its charge, and, where no money covers it, as a line
-- that waits for a person.

alter table payment_refunds add column if not exists is_from_gateway boolean not null default false;
comment on column payment_refunds.is_from_gateway is 'It was made at the console of the gateway, not by this service.';
-- then
create index concurrently if not exists payment_refunds_from_gateway on payment_refunds (account_id, customer_id, refund_id) where is_from_gateway;
-- then
alter table charge_changes add column if not exists is_refund boolean not null default false, add column if not exists amount_minor bigint,
  add column if not exists undoes text;
comment on column charge_changes.is_refund is 'Of what was returned: it was refunded at the console, and of what was won such a refund failed.';
comment on column charge_changes.amount_minor is 'What was booked of it. Null in rows of programs before.';
comment on column charge_changes.undoes is 'The reference of the change whose money came back. Null: none is known.';
-- then
alter table result_lines add column if not exists refund_id bigint;
comment on column result_lines.refund_id is 'The refund at the console of the gateway that no money covered. Null of any other line.';
-- then
alter table sandbox_charges add column if not exists refunded_on date, add column if not exists refunded_minor bigint;
alter table sandbox_cards add column if not exists removed_on date;
