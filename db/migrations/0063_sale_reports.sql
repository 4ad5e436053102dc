-- A charge whose refund came back is a session's again, though its method was removed at the gateway: such a session is captured without one.
alter table capture_sessions drop constraint capture_sessions_method;
alter table capture_sessions add constraint capture_sessions_method
  check (payment_method_id is null or (captured_at is not null and sale_type <> 'SaleOnly'));

-- Reports of refunds find them by the gateway's key.
create index capture_sales_by_refund on capture_sales (account_id, refund_id) where refund_id is not null;
