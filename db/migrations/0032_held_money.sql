-- Part of a payment that is held for refunds whose outcome is not known: nothing else can take it meanwhile.
alter table payments add held_minor bigint not null default 0;
alter table payments add constraint payments_held check (held_minor >= 0 and applied_minor + held_minor <= amount_minor);
create index payments_with_held on payments (account_id, customer_id) where held_minor > 0;
-- Of a payment that a gateway processed: the gateway, and the payment whose charge it is; of what came back to us later that is the first one.
alter table payments add gateway_id bigint, add charge_id bigint;
alter table payments add constraint payments_of_charge check ((gateway_id is null) = (charge_id is null));
create index payments_by_charge on payments (account_id, gateway_id, charge_id) where charge_id is not null;
