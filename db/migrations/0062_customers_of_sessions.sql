-- The customer who has what a session captured: methods come and go, and a sale alone has none.
alter table capture_sessions add column customer_id bigint;
update capture_sessions s
   set customer_id = coalesce(
     (select m.customer_id from payment_methods m where m.account_id = s.account_id and m.payment_method_id = s.payment_method_id),
     (select min(p.customer_id) from payments p
       where p.account_id = s.account_id and p.gateway_id = s.gateway_id and p.charge_id = s.charge_id))
 where s.completed_at is not null;
create index capture_sessions_by_customer on capture_sessions (account_id, customer_id) where customer_id is not null;
