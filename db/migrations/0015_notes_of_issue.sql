/*
 * The event of an issue now keeps Notes as well, because they can change afterwards. Events from before do not: the invoices of subscriptions
 * were all issued with the account's, which the account's version has, so only those of recurring invoices with a note of their own are
 * written down here. Invoices by hand kept their whole record.
 */
update events e set record = e.record || jsonb_build_object('Notes', i.notes)
  from invoices i
 where i.account_id = e.account_id and i.invoice_id = e.record_id and i.recurring_invoice_id is not null and i.notes is not null
   and e.type = 'invoice.issued' and not e.record ?| array['invoiceID', 'Notes'];
