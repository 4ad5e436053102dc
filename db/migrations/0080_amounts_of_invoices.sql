/*
 * What credit notes settle for an invoice, and the bad debt on it: sums that its row keeps beside those of its allocations. Only the rows of
 * invoices that have some are written.
 */
alter table invoices
  add column credited_minor bigint not null default 0,
  add column written_off_minor bigint not null default 0;

update invoices i set credited_minor = s.credited
  from (select account_id, invoice_id, sum(gross_minor) as credited from settlements
         where ended_on is null and basis <> 'relief' group by account_id, invoice_id) s
 where i.account_id = s.account_id and i.invoice_id = s.invoice_id;

update invoices i set written_off_minor = l.written_off
  from (select a.account_id, a.owed_id, sum(a.amount_minor) as written_off
          from negative_adjustments n
          join allocations a on a.account_id = n.account_id and a.given_kind = 'negative_adjustment' and a.given_id = n.negative_adjustment_id
         where n.kind = 'bad_debt' and a.owed_kind = 'invoice' and a.ended_on is null
         group by a.account_id, a.owed_id) l
 where i.account_id = l.account_id and i.invoice_id = l.owed_id;
