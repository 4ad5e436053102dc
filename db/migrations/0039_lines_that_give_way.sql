/*
 * A line of the service gives way while its batch is open or failed: where money is allocated, what it is allocated to an invoice counts as open,
 * and other money lowers or deletes it. Only what waits for its outcome can.
 */
alter table payments add column gives_way boolean not null default false,
  add constraint payments_giving_way check (not gives_way or (origin <> 'recorded' and settled_on is null and failed_on is null));
create index payments_giving_way on payments (account_id, customer_id) where gives_way;
