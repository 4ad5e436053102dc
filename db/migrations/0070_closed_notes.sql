/*
 * Credit notes as documents: why one was made, since when what it corrects is fixed (closed), and when it was handed to the customer (sent).
 * A note that the service or a caller made for an invoice is closed from the beginning, any other when it is sent.
 */
alter table negative_adjustments
  add column reason text,
  add column closed_at timestamptz,
  add column sent_at timestamptz;

-- Notes whose mail was put into the outbox are sent: what callers allocated of them is settled already, the rest corrects nothing.
update negative_adjustments n set sent_at = e.sent_at
  from (select account_id, record_id, min(happened_at) as sent_at from events where type = 'credit_note.mail_queued'
         group by account_id, record_id) e
 where e.account_id = n.account_id and e.record_id = n.negative_adjustment_id and n.kind = 'credit_note';
update negative_adjustments set closed_at = case when invoice_id is not null then created_at else sent_at end
 where invoice_id is not null or sent_at is not null;

alter table negative_adjustments
  add check (kind = 'credit_note' or (reason is null and closed_at is null and sent_at is null)),
  add check (closed_at is not null or (sent_at is null and invoice_id is null));
