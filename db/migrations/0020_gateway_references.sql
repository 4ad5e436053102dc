-- step by step
-- least: 14
-- answers as before: do
-- What is asked of a gateway bears the identifier of its row and a nonce, so that neither another installation nor a copy of this one asks under the same
-- name; the gateway's own name of it is kept beside. Rows of programs before have no nonce: their reference is the identifier alone.

alter table collection_tries add column if not exists nonce text, add column if not exists gateway_reference text,
  add column if not exists sent_at timestamp with time zone;
alter table batch_lines add column if not exists nonce text, add column if not exists gateway_reference text;
alter table payment_refunds add column if not exists nonce text, add column if not exists gateway_reference text,
  add column if not exists sent_at timestamp with time zone;
alter table capture_sales add column if not exists nonce text, add column if not exists sent_at timestamp with time zone,
  add column if not exists refund_nonce text, add column if not exists refund_gateway_reference text,
  add column if not exists refund_sent_at timestamp with time zone;
alter table gateway_reports add column if not exists gateway_reference text;
alter table payments add column if not exists transaction_id text;
comment on column payments.transaction_id is 'The gateway''s name of the charge that the payment is, or came back of. Null: none is known.';
-- An index whose making was broken off keeps nobody from anything.
do $$
declare
  broken text;
begin
  for broken in
    select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
     where not i.indisvalid and c.relnamespace = 'perennial'::regnamespace and c.relname in ('collection_tries_by_name', 'batch_lines_by_name',
             'payment_refunds_by_name', 'capture_sales_by_name')
  loop
    execute format('drop index perennial.%I', broken);
  end loop;
end $$;
-- then
create unique index concurrently if not exists collection_tries_by_name on collection_tries (account_id, gateway_id, gateway_reference)
  where gateway_reference is not null;
-- then
create unique index concurrently if not exists batch_lines_by_name on batch_lines (account_id, gateway_reference) where gateway_reference is not null;
-- then
create unique index concurrently if not exists payment_refunds_by_name on payment_refunds (account_id, gateway_reference)
  where gateway_reference is not null;
-- then
-- Results by hand were written with these words in place of a name.
create unique index concurrently if not exists capture_sales_by_name on capture_sales (account_id, gateway_id, gateway_reference)
  where gateway_reference <> 'by hand';
