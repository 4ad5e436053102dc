-- step by step
/*
 * Rows of events of issued invoices keep what many of their events have in common once. `places` has the place of each event's record among `records`, counted
 * from 0; null where there is one for all, or one for each, as in rows of before. What is each invoice's own stands beside it: the payment method, and the
 * purchase order number, which take the place of what the record says; null where none of the row has one.
 */
set local lock_timeout = '500ms';
alter table issued_events
  add column if not exists places smallint[],
  add column if not exists method_ids bigint[],
  add column if not exists po_numbers text[],
  drop constraint if exists issued_events_check1,
  drop constraint if exists issued_events_kept,
  add constraint issued_events_kept check (
    case when places is null then jsonb_array_length(records) in (1, last_event_id - first_event_id + 1)
         else cardinality(places) = last_event_id - first_event_id + 1 and 0 <= all (places) and jsonb_array_length(records) > all (places)
           and array_position(places, null) is null end
    and (method_ids is null or cardinality(method_ids) = last_event_id - first_event_id + 1)
    and (po_numbers is null or cardinality(po_numbers) = last_event_id - first_event_id + 1)) not valid;
-- then
alter table issued_events validate constraint issued_events_kept;
