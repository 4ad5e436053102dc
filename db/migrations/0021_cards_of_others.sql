-- least: 14
-- Cards that others stored at the gateway and whose token was brought: forgetting one leaves the card there. And when and why a gateway last took nothing of
-- what was sent: its owner learns of that once a day.

alter table payment_methods add column is_brought boolean not null default false;
alter table gateways add column refused_at timestamptz, add column refused_for text;
