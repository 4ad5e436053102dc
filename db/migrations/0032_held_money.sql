-- Part of a payment that is held for refunds whose outcome is not known: nothing else can take it meanwhile.
alter table payments add held_minor bigint not null default 0;
alter table payments add constraint payments_held check (held_minor >= 0 and applied_minor + held_minor <= amount_minor);
create index payments_with_held on payments (account_id, customer_id) where held_minor > 0;
