-- step by step
/*
 * Packs of issued invoices keep records in one form: `record_index` has the position of each event's record among `records`, counted from 0; null where there is one for
 * all. Packs that had a record for each event get positions. Events of issues that are rows of their own, from before there were packs, become packs of one: of a whole
 * record stays what an issue keeps, because the rest stands in the frozen rows of its invoice. No seal changes: it hashes identifier, type, invoice, customer,
 * instant and actor, whatever rows these are in.
 */
update event_packs p set record_index = array(select generate_series(0, p.last_event_id - p.first_event_id))::smallint[]
 where p.record_index is null and jsonb_array_length(p.records) > 1;
-- then
with moved as (
  delete from event_rows where type = 'invoice.issued' and reason is null
  returning account_id, event_id, record_id, happened_at, recorded_at, actor, record)
insert into event_packs (account_id, first_event_id, last_event_id, first_invoice_id, happened_at, recorded_at, actor, records)
select m.account_id, m.event_id, m.event_id, m.record_id, m.happened_at, coalesce(m.recorded_at, '1970-01-01 00:00:00+00'), m.actor, jsonb_build_array(
         coalesce((select jsonb_object_agg(f.key, f.value) from jsonb_each(m.record) as f
                    where f.key in ('Notes', 'poNumber', 'CollectionMethod', 'gatewayID', 'customerPaymentMethodID', 'NextTryDate', 'isCollectionHold')), '{}'))
  from moved m;
-- then
set local lock_timeout = '500ms';
alter table event_packs
  drop constraint if exists event_packs_kept,
  add constraint event_packs_kept check (
    case when record_index is null then jsonb_array_length(records) = 1
         else cardinality(record_index) = last_event_id - first_event_id + 1 and 0 <= all (record_index) and jsonb_array_length(records) > all (record_index)
           and array_position(record_index, null) is null end
    and (method_ids is null or cardinality(method_ids) = last_event_id - first_event_id + 1)
    and (po_numbers is null or cardinality(po_numbers) = last_event_id - first_event_id + 1)) not valid;
-- then
alter table event_packs validate constraint event_packs_kept;
